//! What the trainer has told a worker, until the worker looks.

use super::status::SharedStatus;
use crate::cluster::protocol::{FromController, ProtocolError, Roster};
use crate::cluster::snapshot::{Assembler, Snapshot};

/// What has come from the trainer.
#[derive(Default)]
pub(in crate::cluster) struct Inbox {
    end: Option<End>,
    /// Groups up to this one are of no use any more.
    called_off: u32,
    roster: Option<Roster>,
    /// A state to go on from.
    given: Option<Snapshot>,
    /// The step of the last snapshot that was taken.
    taken: Option<u64>,
}

/// Why a worker's work is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster) enum End {
    /// The trainer says so.
    Over,
    /// The trainer trains something else; this is the difference.
    OtherTraining(String),
    /// The trainer is gone.
    TrainerLost,
}

/// The group that a worker is in, or was to be in, is of no further use.
#[derive(Clone, Copy, Debug)]
pub(in crate::cluster) struct CalledOff;

impl Inbox {
    /// Takes what the trainer says.
    ///
    /// # Errors
    /// If it is no message for a worker of a group.
    pub(in crate::cluster) fn take(
        &mut self,
        message: FromController<'_>,
        arriving: &mut Assembler,
        status: &SharedStatus,
    ) -> Result<(), ProtocolError> {
        match message {
            FromController::FormGroup(roster) => {
                if roster.stops {
                    status.stop();
                }
                self.roster = Some(roster);
            }
            FromController::DissolveGroup { generation } => {
                self.called_off = self.called_off.max(generation);
            }
            FromController::SnapshotTaken { steps } => self.taken = Some(steps),
            FromController::Stop => self.end_with(End::Over),
            FromController::OtherTraining { difference } => {
                self.end_with(End::OtherTraining(difference.to_owned()));
            }
            FromController::EndSoon => status.stop(),
            FromController::Snapshot(part) => {
                if let Some(state) = arriving.take(0, part)? {
                    self.given = Some(state);
                }
            }
            message @ (FromController::Begin { .. }
            | FromController::SnapshotWaived
            | FromController::ShowSnapshot { .. }
            | FromController::EndAt { .. }
            | FromController::WorkerGone { .. }) => return Err(message.out_of_place()),
        }
        Ok(())
    }

    /// The first reason counts.
    pub(in crate::cluster) fn end_with(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    /// Whether the work is over, and why.
    pub(in crate::cluster) fn end(&self) -> Option<End> {
        self.end.clone()
    }

    /// The roster of the group after `before`, if it has come.
    pub(in crate::cluster) fn next_roster(&mut self, before: u32) -> Option<Result<Roster, End>> {
        if let Some(end) = &self.end {
            return Some(Err(end.clone()));
        }
        let roster = self.roster.take_if(|roster| roster.generation > before);
        roster.map(Ok)
    }

    /// A state that the trainer gave this worker to go on from.
    pub(in crate::cluster) fn given(&mut self) -> Option<Snapshot> {
        self.given.take()
    }

    /// Whether a group still has its purpose.
    pub(in crate::cluster) fn stands(&self, group: u32) -> Result<(), CalledOff> {
        if self.end.is_some() || group <= self.called_off {
            Err(CalledOff)
        } else {
            Ok(())
        }
    }

    /// Whether the trainer has looked at the snapshot of `step`.
    pub(in crate::cluster) fn has_looked(&self, step: u64) -> bool {
        self.taken.is_some_and(|taken| taken >= step)
    }
}
