//! A worker as the trainer sees it.

use std::time::{Duration, Instant};

use paceline_wire::{Connection, Header, Member, Payload, ReadHalf, Role, WriteHalf};

use super::roster::Standing;
use super::snapshots::{self, Arriving};
use super::status::Doing;
use crate::clock::now;
use crate::cluster::evaluator::Snapshot;
use crate::cluster::totals::WorkerTotals;

/// A worker's place. Its process may change, its number does not.
pub(super) struct WorkerSlot {
    pub(super) member: Member,
    /// Whether its process runs.
    pub(super) is_alive: bool,
    pub(super) starts: u32,
    reader: Option<ReadHalf>,
    writer: Option<WriteHalf>,
    /// Set while it asks to take part in the next group.
    pub(super) standing: Option<Standing>,
    /// Its snapshot that is on its way.
    pub(super) arriving: Arriving,
    /// When it last said something, or was started.
    pub(super) heard: Instant,
    pub(super) doing: Doing,
    /// Whether its silence was told.
    pub(super) is_silent: bool,
    /// What its former processes did.
    former: WorkerTotals,
    present: WorkerTotals,
}

impl WorkerSlot {
    pub(super) fn new(rank: u32, workers: usize, arriving: Arriving) -> Self {
        Self {
            member: Member {
                role: Role::Worker,
                rank,
                incarnation: 0,
            },
            is_alive: false,
            starts: 0,
            reader: None,
            writer: None,
            standing: None,
            arriving,
            heard: now(),
            doing: Doing::Gathering,
            is_silent: false,
            former: WorkerTotals::new(workers),
            present: WorkerTotals::new(workers),
        }
    }

    /// A process of this number was started.
    pub(super) fn take(&mut self, member: Member) {
        self.former = self.totals();
        self.present = WorkerTotals::new(self.former.waited_for.len());
        self.part();
        self.member = member;
        self.is_alive = true;
        self.starts += 1;
        self.heard = now();
        self.is_silent = false;
        self.doing = Doing::Gathering;
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
        self.standing = None;
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
    /// seen where processes are looked after.
    pub(super) fn say(&mut self, header: &Header, payload: Payload<'_>) {
        if let Some(writer) = &mut self.writer
            && writer.post(header, payload).is_err()
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
        if let Some(writer) = &mut self.writer
            && snapshots::send(writer, state).is_err()
        {
            self.part();
        }
    }

    /// The worker's own words about what it did. One that has done less than
    /// before was started anew by somebody else.
    pub(super) fn note(&mut self, totals: WorkerTotals) {
        if totals.iterations < self.present.iterations {
            self.former = self.totals();
        }
        self.present = totals;
    }

    /// What all its processes did.
    pub(super) fn totals(&self) -> WorkerTotals {
        let (former, present) = (&self.former, &self.present);
        let add = |one: &[Duration], other: &[Duration]| {
            one.iter().zip(other).map(|(a, b)| *a + *b).collect()
        };
        WorkerTotals {
            iterations: former.iterations + present.iterations,
            rows: former.rows + present.rows,
            computing: former.computing + present.computing,
            waiting: former.waiting + present.waiting,
            waited_for: add(&former.waited_for, &present.waited_for),
            sending: former.sending + present.sending,
            bytes_sent: former.bytes_sent + present.bytes_sent,
            bytes_received: former.bytes_received + present.bytes_received,
            restarts: self.member.incarnation,
            // Nothing is received from a server, stale or dropped.
            ..present.clone()
        }
    }
}
