//! A worker's line to the trainer: what comes is kept until the worker looks,
//! and status of life go out while it computes.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use paceline_wire::{Deadline, Frame, Links, ReadHalf, ReceiveError, SendError, WriteHalf};

use super::status::SharedStatus;
use crate::clock::now;
use crate::cluster::protocol::{FromController, ProtocolError, Roster, ToController};
use crate::cluster::snapshot::{Assembler, Snapshot};

/// A worker's line to the trainer.
pub(super) struct ControllerLink {
    writer: Mutex<WriteHalf>,
    inbox: Mutex<Inbox>,
    bell: Condvar,
    pub(super) status: SharedStatus,
}

#[derive(Default)]
struct Inbox {
    end: Option<End>,
    /// Groups up to this one are of no use any more.
    called_off: u32,
    roster: Option<Roster>,
    /// A state to go on from.
    given: Option<Snapshot>,
    /// The step of the last snapshot that was taken.
    taken: Option<u64>,
    /// The group that this worker is in.
    links: Option<(u32, Links)>,
}

/// Why a worker's work is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The trainer says so.
    Over,
    /// The trainer trains something else; this is the difference.
    OtherTraining(String),
    /// The trainer is gone.
    TrainerLost,
}

/// The group that a worker is in, or was to be in, is of no further use.
#[derive(Clone, Copy, Debug)]
pub(super) struct CalledOff;

impl ControllerLink {
    pub(super) fn new(writer: WriteHalf) -> Self {
        Self {
            writer: Mutex::new(writer),
            inbox: Mutex::default(),
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
        match FromController::decode(frame)? {
            FromController::FormGroup(roster) => {
                if roster.stops {
                    self.status.stop();
                }
                self.inbox().roster = Some(roster);
            }
            FromController::DissolveGroup { generation } => {
                let mut inbox = self.inbox();
                inbox.called_off = inbox.called_off.max(generation);
                inbox.cut();
            }
            FromController::SnapshotTaken { steps } => self.inbox().taken = Some(steps),
            FromController::Stop => self.end_with(End::Over),
            FromController::OtherTraining { difference } => {
                self.end_with(End::OtherTraining(difference.to_owned()));
            }
            FromController::EndSoon => self.status.stop(),
            FromController::Snapshot(part) => {
                if let Some(state) = arriving.take(0, part)? {
                    self.inbox().given = Some(state);
                }
            }
            message @ (FromController::Begin { .. }
            | FromController::SnapshotWaived
            | FromController::ShowSnapshot { .. }
            | FromController::EndAt { .. }
            | FromController::WorkerGone { .. }) => return Err(message.out_of_place()),
        }
        self.bell.notify_all();
        Ok(())
    }

    fn end_with(&self, end: End) {
        let mut inbox = self.inbox();
        inbox.end.get_or_insert(end);
        inbox.cut();
        self.bell.notify_all();
    }

    /// Ends [`ControllerLink::attend`] from this side.
    pub(super) fn give_up(&self) {
        self.end_with(End::Over);
    }

    /// Whether the work is over, and why.
    pub(super) fn end(&self) -> Option<End> {
        self.inbox().end.clone()
    }

    /// Waits for the roster of the group after `before`.
    pub(super) fn next_roster(&self, before: u32) -> Result<Roster, End> {
        let mut inbox = self.inbox();
        loop {
            if let Some(end) = &inbox.end {
                return Err(end.clone());
            }
            if let Some(roster) = inbox.roster.take_if(|roster| roster.generation > before) {
                return Ok(roster);
            }
            self.bell.wait(&mut inbox);
        }
    }

    /// A state that the trainer gave this worker to go on from.
    pub(super) fn given(&self) -> Option<Snapshot> {
        self.inbox().given.take()
    }

    /// Whether a group still has its purpose.
    pub(super) fn stands(&self, group: u32) -> Result<(), CalledOff> {
        self.inbox().stands(group)
    }

    /// From now on a group that is called off is cut.
    pub(super) fn enter(&self, group: u32, links: &Links) -> Result<(), CalledOff> {
        let mut inbox = self.inbox();
        inbox.links = Some((group, links.clone()));
        let stands = inbox.stands(group);
        if stands.is_err() {
            inbox.cut();
        }
        stands
    }

    pub(super) fn leave(&self) {
        self.inbox().links = None;
    }

    /// Waits until the trainer has looked at the snapshot of `step`.
    pub(super) fn await_look(&self, step: u64, group: u32) -> Result<(), CalledOff> {
        let mut inbox = self.inbox();
        while inbox.taken.is_none_or(|taken| taken < step) {
            inbox.stands(group)?;
            self.bell.wait(&mut inbox);
        }
        Ok(())
    }

    /// Waits until the work is over or the group is called off: its steps are
    /// done, and somebody may still miss them.
    pub(super) fn await_dismissal(&self, group: u32) {
        let mut inbox = self.inbox();
        while inbox.stands(group).is_ok() {
            self.bell.wait(&mut inbox);
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

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock()
    }
}

impl Inbox {
    fn stands(&self, group: u32) -> Result<(), CalledOff> {
        if self.end.is_some() || group <= self.called_off {
            Err(CalledOff)
        } else {
            Ok(())
        }
    }

    /// Breaks the group that this worker is in, if it is called off.
    fn cut(&self) {
        if let Some((group, links)) = &self.links
            && self.stands(*group).is_err()
        {
            links.cut();
        }
    }
}
