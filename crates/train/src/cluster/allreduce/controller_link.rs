//! A worker's line to the trainer: what comes is kept until the worker looks,
//! and status of life go out while it computes.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use paceline_wire::{Deadline, Frame, Links, ReadHalf, ReceiveError, SendError, WriteHalf};

use super::inbox::{CalledOff, End, Inbox};
use super::status::SharedStatus;
use crate::clock::now;
use crate::cluster::protocol::{FromController, ProtocolError, Roster, ToController};
use crate::cluster::snapshot::{Assembler, Snapshot};

/// A worker's line to the trainer.
pub(super) struct ControllerLink {
    writer: Mutex<WriteHalf>,
    received: Mutex<Received>,
    bell: Condvar,
    pub(super) status: SharedStatus,
}

#[derive(Default)]
struct Received {
    inbox: Inbox,
    /// The group that this worker is in.
    links: Option<(u32, Links)>,
}

impl ControllerLink {
    pub(super) fn new(writer: WriteHalf) -> Self {
        Self {
            writer: Mutex::new(writer),
            received: Mutex::default(),
            bell: Condvar::new(),
            status: SharedStatus::default(),
        }
    }

    /// Hears the trainer and says every so often that the worker is alive,
    /// until the work is over: on a thread of its own.
    pub(super) fn attend(&self, mut reader: ReadHalf, mut arriving: Assembler, every: Duration) {
        let mut beaten = now();
        loop {
            let rest = every.saturating_sub(beaten.elapsed());
            match reader.receive(Deadline::after(rest)) {
                // What is no message ends the connection, which is made anew.
                Ok(frame) => self
                    .hear(&frame, &mut arriving)
                    .unwrap_or_else(|_| self.end_with(End::TrainerLost)),
                Err(ReceiveError::TimedOut) => {}
                Err(_) => self.end_with(End::TrainerLost),
            }
            if self.end().is_some() {
                return;
            }
            if beaten.elapsed() >= every {
                beaten = now();
                let activity = self.status.activity();
                // A trainer that is gone is seen by the next receive.
                let _ = self.post(&ToController::Working { activity });
            }
        }
    }

    fn hear(&self, frame: &Frame<'_>, arriving: &mut Assembler) -> Result<(), ProtocolError> {
        let message = FromController::decode(frame)?;
        let mut received = self.received();
        received.inbox.take(message, arriving, &self.status)?;
        received.cut();
        self.bell.notify_all();
        Ok(())
    }

    fn end_with(&self, end: End) {
        let mut received = self.received();
        received.inbox.end_with(end);
        received.cut();
        self.bell.notify_all();
    }

    /// Ends [`ControllerLink::attend`] from this side.
    pub(super) fn give_up(&self) {
        self.end_with(End::Over);
    }

    /// Whether the work is over, and why.
    pub(super) fn end(&self) -> Option<End> {
        self.received().inbox.end()
    }

    /// Waits for the roster of the group after `before`.
    pub(super) fn next_roster(&self, before: u32) -> Result<Roster, End> {
        let mut received = self.received();
        loop {
            if let Some(found) = received.inbox.next_roster(before) {
                return found;
            }
            self.bell.wait(&mut received);
        }
    }

    /// A state that the trainer gave this worker to go on from.
    pub(super) fn given(&self) -> Option<Snapshot> {
        self.received().inbox.given()
    }

    /// Whether a group still has its purpose.
    pub(super) fn stands(&self, group: u32) -> Result<(), CalledOff> {
        self.received().inbox.stands(group)
    }

    /// From now on a group that is called off is cut.
    pub(super) fn enter(&self, group: u32, links: &Links) -> Result<(), CalledOff> {
        let mut received = self.received();
        received.links = Some((group, links.clone()));
        let stands = received.inbox.stands(group);
        if stands.is_err() {
            received.cut();
        }
        stands
    }

    pub(super) fn leave(&self) {
        self.received().links = None;
    }

    /// Waits until the trainer has looked at the snapshot of `step`.
    pub(super) fn await_look(&self, step: u64, group: u32) -> Result<(), CalledOff> {
        let mut received = self.received();
        while !received.inbox.has_looked(step) {
            received.inbox.stands(group)?;
            self.bell.wait(&mut received);
        }
        Ok(())
    }

    /// Waits until the work is over or the group is called off: its steps are
    /// done, and somebody may still miss them.
    pub(super) fn await_dismissal(&self, group: u32) {
        let mut received = self.received();
        while received.inbox.stands(group).is_ok() {
            self.bell.wait(&mut received);
        }
    }

    /// Sends a snapshot, the trainer's time taken.
    pub(super) fn show(&self, snapshot: &Snapshot) -> Result<(), SendError> {
        let (mut writer, mut room) = (self.writer(), Vec::new());
        snapshot.view().send(|part| {
            let message = ToController::Snapshot(part);
            let (header, payload) = message.encode(&mut room);
            writer.send(&header, payload)
        })
    }

    /// Says something without waiting for the trainer.
    pub(super) fn post(&self, message: &ToController<'_>) -> Result<(), SendError> {
        let mut room = Vec::new();
        let (header, payload) = message.encode(&mut room);
        self.writer().post(&header, payload).map(drop)
    }

    fn writer(&self) -> MutexGuard<'_, WriteHalf> {
        self.writer.lock()
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock()
    }
}

impl Received {
    /// Breaks the group that this worker is in, if it is called off.
    fn cut(&self) {
        if let Some((group, links)) = &self.links
            && self.inbox.stands(*group).is_err()
        {
            links.cut();
        }
    }
}
