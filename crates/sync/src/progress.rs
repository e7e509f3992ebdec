//! Who goes on, and when an iteration closes.

use paceline_model::WorkerId;

use crate::dynamic::extra_iterations;
use crate::{
    Action, Clock, Consistency, Coordinator, LossCause, OnWorkerLoss, Presence, Sender,
    StalenessRange, Tick,
};

impl Coordinator {
    /// A worker's clock moved on from `before`.
    pub(crate) fn advance(&mut self, worker: WorkerId, before: Clock, actions: &mut Vec<Action>) {
        // Only the slowest can hold the version back where none is gathered.
        let matters = self.settings.consistency.gathers() || before <= self.version;
        if matters && self.raise_version(actions) {
            self.release_all(worker, actions);
        } else {
            self.release(worker, None, actions);
        }
    }

    /// The group changed through `worker`.
    pub(crate) fn regroup(&mut self, worker: WorkerId, actions: &mut Vec<Action>) {
        self.raise_version(actions);
        // A join may have opened the start, so anybody may go on even at the
        // same version.
        self.release_all(worker, actions);
        if self.present().next().is_none() {
            actions.push(Action::Empty);
        }
    }

    /// A worker is lost.
    pub(crate) fn lose(
        &mut self,
        worker: WorkerId,
        cause: LossCause,
        now: Tick,
        actions: &mut Vec<Action>,
    ) {
        let policy = self.settings.on_worker_loss;
        let member = &mut self.members[worker.0 as usize];
        actions.push(member.lost(worker, cause));
        member.waiting = None;
        member.presence = Presence::Awaited;
        match policy {
            OnWorkerLoss::Wait => {}
            OnWorkerLoss::Replace => actions.push(member.replace(worker, now)),
            OnWorkerLoss::Fail => actions.push(Action::Fail { worker }),
            OnWorkerLoss::Continue => {
                member.presence = Presence::Absent;
                if member.incarnation.is_none() {
                    self.unjoined -= 1;
                }
                self.regroup(worker, actions);
            }
        }
    }

    /// Closes the open iteration if it is complete, or lifts the version to the
    /// slowest worker's clock. Whether the version moved.
    fn raise_version(&mut self, actions: &mut Vec<Action>) -> bool {
        if self.unjoined > 0 {
            return false;
        }
        if self.settings.consistency.gathers() {
            return self.close(actions);
        }
        let slowest = self.present().map(|(_, member)| member.next).min();
        match slowest {
            Some(clock) if clock > self.version => {
                self.version = clock;
                true
            }
            _ => false,
        }
    }

    fn close(&mut self, actions: &mut Vec<Action>) -> bool {
        let open = self.version;
        let spare = match self.settings.consistency {
            Consistency::Backup { spare } => spare as usize,
            _ => 0,
        };
        let missing = self
            .present()
            .filter(|(_, member)| member.next <= open)
            .take(spare + 1)
            .count();
        if self.gathered == 0 || missing > spare {
            return false;
        }
        self.version = open.plus(self.settings.consistency.iterations_per_update());
        actions.push(Action::Close {
            clock: open,
            counted: self.gathered,
            version: self.version,
        });
        self.gathered = 0;
        true
    }

    fn release_all(&mut self, by: WorkerId, actions: &mut Vec<Action>) {
        for id in 0..self.settings.capacity {
            self.release(WorkerId(id), Some(by), actions);
        }
    }

    /// Lets a worker go on if it waits and may.
    pub(crate) fn release(
        &mut self,
        worker: WorkerId,
        by: Option<WorkerId>,
        actions: &mut Vec<Action>,
    ) {
        if self.unjoined > 0 {
            return;
        }
        let version = self.version;
        let member = &mut self.members[worker.0 as usize];
        let (Some(asked), Some(incarnation)) = (member.waiting, member.incarnation) else {
            return;
        };
        let lead = asked.lead(version);
        let granted = asked < member.granted;
        let (may, clock) = match self.settings.consistency {
            // Iterations that closed in the meantime are skipped.
            Consistency::Bsp | Consistency::Backup { .. } | Consistency::Local { .. } => {
                (lead == 0, asked.max(version))
            }
            Consistency::Ssp { staleness } => (lead <= u64::from(staleness), asked),
            Consistency::Async => (true, asked),
            Consistency::DynamicSsp(range) => (
                lead <= u64::from(range.low()) || (granted && lead <= u64::from(range.high())),
                asked,
            ),
        };
        if !may {
            return;
        }
        member.waiting = None;
        member.started = true;
        actions.push(Action::Proceed {
            to: Sender {
                worker,
                incarnation,
            },
            clock,
            version,
            waited_for: by.filter(|by| *by != worker),
        });
    }

    /// Under `dynamic-ssp`, decides how far beyond the lower bound the worker
    /// may go, if it is the fastest.
    pub(crate) fn grant_more(&mut self, worker: WorkerId, asked: Clock) {
        let Consistency::DynamicSsp(range) = self.settings.consistency else {
            return;
        };
        let fastest = &self.members[worker.0 as usize];
        let Some(most) = room(range, asked.lead(self.version)) else {
            return;
        };
        if asked < fastest.granted || self.present().any(|(_, member)| member.next > fastest.next) {
            return;
        }
        let Some((_, slowest)) = self
            .present()
            .find(|(_, member)| member.is_live() && member.next == self.version)
        else {
            return;
        };
        let extra = extra_iterations(fastest.pace, slowest.pace, most);
        self.members[worker.0 as usize].granted = asked.plus(extra);
    }
}

/// How many iterations fit between a lead that is beyond the lower bound and
/// the upper one.
fn room(range: StalenessRange, lead: u64) -> Option<u64> {
    if lead <= u64::from(range.low()) {
        return None;
    }
    (u64::from(range.high()) + 1)
        .checked_sub(lead)
        .filter(|&room| room > 0)
}
