//! What the events of a record that was not closed say of the run's end.

use indexmap::IndexMap;
use paceline_model::{EndAsked, Event, ExitStatus, Lifecycle, Micros, Outcome, WorkerId};

/// Follows the events of a run.
///
/// An engine tells of every start before the first exit, and of an exit after
/// all that the command printed and reported. So once there are as many exits as
/// starts, the run is over and its log is complete, whoever was killed before
/// the record could be closed.
#[derive(Debug, Default)]
pub(super) struct Ending {
    started: IndexMap<WorkerId, Micros>,
    exited: IndexMap<WorkerId, (Micros, ExitStatus)>,
    timed_out: bool,
    cancelled: bool,
}

impl Ending {
    pub(super) fn take(&mut self, event: &Event) {
        match event.end_asked() {
            Some(EndAsked::TimeLimit) => self.timed_out = true,
            Some(EndAsked::User) => self.cancelled = true,
            None => {}
        }
        match (event.lifecycle(), event.worker) {
            (Some(Lifecycle::Started { .. }), Some(worker)) => {
                self.started.insert(worker, event.at);
            }
            (Some(Lifecycle::Exited(status)), Some(worker)) => {
                self.exited.insert(worker, (event.at, status));
            }
            _ => {}
        }
    }

    /// How the run ended and how long it took; nothing if it had not.
    pub(super) fn end(&self) -> Option<(Outcome, Micros)> {
        let over = !self.started.is_empty()
            && self
                .started
                .keys()
                .all(|worker| self.exited.contains_key(worker));
        if !over {
            return None;
        }
        let began = self.started.values().min().copied()?;
        let ended = self.exited.values().map(|(at, _)| *at).max()?;
        let worst = self
            .exited
            .values()
            .map(|(_, status)| *status)
            .find(|status| *status != ExitStatus::Exited(0))
            .unwrap_or(ExitStatus::Exited(0));
        let outcome = match worst {
            ExitStatus::Exited(0) => Outcome::Exited(0),
            _ if self.timed_out => Outcome::TimedOut,
            _ if self.cancelled => Outcome::Cancelled,
            // The terminal sends Ctrl-C to the command, not to us.
            ExitStatus::Signalled(2 | 3) => Outcome::Cancelled,
            ExitStatus::Exited(code) => Outcome::Exited(code),
            ExitStatus::Signalled(signal) => Outcome::Signalled(signal),
            ExitStatus::Lost => Outcome::Lost,
        };
        Some((outcome, ended.since(began)))
    }
}
