//! A worker of a group as the trainer sees it.

use std::time::Instant;

use paceline_wire::{Connection, ReadHalf, WriteHalf};

use crate::clock::now;
use crate::cluster::protocol::{Activity, FromController, JoinRequest};
use crate::cluster::snapshot::{Assembler, Snapshot};

/// A worker's place. Its process may change, its number does not.
pub(super) struct WorkerSlot {
    reader: Option<ReadHalf>,
    writer: Option<WriteHalf>,
    /// Set while it asks to take part in the next group.
    pub(super) request: Option<JoinRequest>,
    /// Its snapshot that is on its way.
    pub(super) arriving: Assembler,
    /// When it last said something, or was started.
    pub(super) heard: Instant,
    pub(super) activity: Activity,
    /// Whether its silence was told.
    pub(super) is_silent: bool,
}

impl WorkerSlot {
    pub(super) fn new(arriving: Assembler) -> Self {
        Self {
            reader: None,
            writer: None,
            request: None,
            arriving,
            heard: now(),
            activity: Activity::Joining,
            is_silent: false,
        }
    }

    /// A process of this number was started.
    pub(super) fn begin_anew(&mut self) {
        self.part();
        self.hears();
        self.activity = Activity::Joining;
    }

    /// Its process has come. One that somebody else started anew takes the
    /// place of the former.
    pub(super) fn meet(&mut self, connection: Connection) {
        self.part();
        let (reader, writer) = connection.split();
        (self.reader, self.writer) = (Some(reader), Some(writer));
        self.hears();
    }

    /// It said something.
    pub(super) fn hears(&mut self) {
        self.heard = now();
        self.is_silent = false;
    }

    pub(super) fn is_connected(&self) -> bool {
        self.writer.is_some()
    }

    /// Its connection is of no further use.
    pub(super) fn part(&mut self) {
        (self.reader, self.writer) = (None, None);
        self.request = None;
        self.arriving.clear();
    }

    pub(super) fn link(&self) -> Option<(&ReadHalf, &WriteHalf)> {
        self.reader.as_ref().zip(self.writer.as_ref())
    }

    /// What it says is read here, to be put back.
    pub(super) fn lend(&mut self) -> Option<ReadHalf> {
        self.reader.take()
    }

    pub(super) fn put_back(&mut self, reader: ReadHalf) {
        if self.is_connected() {
            self.reader = Some(reader);
        }
    }

    /// Says something to the worker without waiting for it. One that is gone is
    /// seen where members are looked after.
    pub(super) fn say(&mut self, message: &FromController<'_>) {
        let mut room = Vec::new();
        let (header, payload) = message.encode(&mut room);
        if let Some(writer) = &mut self.writer
            && writer.post(&header, payload).is_err()
        {
            self.part();
        }
    }

    /// Sends what was said and did not fit.
    pub(super) fn drain(&mut self) {
        if let Some(writer) = &mut self.writer
            && writer.drain().is_err()
        {
            self.part();
        }
    }

    /// Gives the worker a state to go on from; it takes it while it waits.
    pub(super) fn give(&mut self, state: &Snapshot) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let mut room = Vec::new();
        let sent = state.view().send(|part| {
            let message = FromController::Snapshot(part);
            let (header, payload) = message.encode(&mut room);
            writer.send(&header, payload)
        });
        if sent.is_err() {
            self.part();
        }
    }
}
