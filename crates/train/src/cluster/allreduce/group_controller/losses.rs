//! How the trainer deals with workers that end, fall silent or never come.

use std::time::Instant;

use paceline_sync::OnWorkerLoss;
use paceline_wire::Role;

use super::{GroupController, WorkerLinks, rank};
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::Ended;
use crate::cluster::members::MOST_STARTS;
use crate::cluster::notice::Notice;
use crate::session::TrainError;

impl GroupController<'_> {
    /// A worker's connection is of no further use.
    fn part(&mut self, worker: usize, now: Instant, links: &mut dyn WorkerLinks) {
        links.disconnect(worker);
        self.slots[worker].part();
        self.membership.worker_went(rank(worker), 0, now);
        self.dissolve_group(links);
    }

    /// A worker's connection has ended. Whether a process of this host has, is
    /// seen where members are looked after, or by its silence.
    pub(in crate::cluster) fn on_disconnected(
        &mut self,
        worker: usize,
        how: &str,
        now: Instant,
        links: &mut dyn WorkerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if self.is_external {
            return self.lose(worker, how.to_owned(), now, links, evaluator);
        }
        self.part(worker, now, links);
        Ok(())
    }

    /// A worker is lost that may come back by itself, or by whoever started it.
    fn lose(
        &mut self,
        worker: usize,
        how: String,
        now: Instant,
        links: &mut dyn WorkerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        self.part(worker, now, links);
        let member = self.member(worker);
        // Somebody who starts workers elsewhere may start this one again.
        let nothing_lost = self.is_external && self.generation == 0;
        if self.must_have_all() && !nothing_lost && self.ending.is_none() {
            let worker = member.rank;
            return Err(TrainError::Lost { worker, how });
        }
        evaluator.watch.noticed(&Notice::WorkerLost {
            worker: member.rank,
            words: format!("{member} is lost: {how}"),
        });
        Ok(())
    }

    /// Whether a lost worker ends the training: as asked, or because the sum of
    /// fewer workers would be another training's.
    fn must_have_all(&self) -> bool {
        matches!(self.policy, OnWorkerLoss::Fail | OnWorkerLoss::Continue)
    }

    /// A worker's process has ended, and everything that it said has been heard:
    /// the others go on only after the first worker has shown a milestone.
    pub(in crate::cluster) fn on_ended(
        &mut self,
        Ended { member, how }: Ended,
        now: Instant,
        links: &mut dyn WorkerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let worker = member.rank as usize;
        self.part(worker, now, links);
        if self.must_have_all() && self.ending.is_none() {
            return Err(TrainError::Lost {
                worker: member.rank,
                how,
            });
        }
        if self.policy == OnWorkerLoss::Replace {
            let watch = &mut *evaluator.watch;
            self.members
                .replace(MOST_STARTS, Role::Worker, member.rank, &how, now, watch)?;
            self.slots[worker].begin_anew(now);
            // A new member is a new attempt.
            self.attempts = 0;
        } else {
            evaluator.watch.noticed(&Notice::Ended { member, how });
        }
        Ok(())
    }

    /// Deals with workers that say nothing, or never came.
    pub(super) fn mind_silence(
        &mut self,
        now: Instant,
        links: &mut dyn WorkerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let timeout = self.session.cluster.failure_timeout;
        let may_be_killed = self.policy != OnWorkerLoss::Wait;
        self.members
            .kill_stopped(timeout, may_be_killed, now, evaluator.watch);
        for worker in 0..self.slots.len() {
            let is_alive = self.members.is_alive(Role::Worker, rank(worker));
            let slot = &mut self.slots[worker];
            let is_connected = links.is_connected(worker);
            let limit = if is_connected {
                timeout
            } else if self.is_external {
                // For that there is the membership.
                continue;
            } else {
                // It has to read its data first.
                timeout.max(self.rendezvous.patience)
            };
            let silent_for = now.saturating_duration_since(slot.heard);
            if !is_alive || slot.is_silent || silent_for < limit {
                continue;
            }
            slot.is_silent = true;
            let how = if is_connected {
                let seconds = limit.as_secs_f64();
                format!("it was silent for {seconds:.1} s, last {}", slot.activity)
            } else {
                format!("it did not come within {} s", limit.as_secs())
            };
            self.lose(worker, how, now, links, evaluator)?;
            if self.policy == OnWorkerLoss::Replace {
                // Its end is seen like any other.
                self.members.kill(Role::Worker, rank(worker));
            }
        }
        Ok(())
    }

    /// Says who is missing elsewhere, and gives up if it takes too long.
    pub(super) fn check_membership(
        &mut self,
        now: Instant,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if !self.is_external {
            return Ok(());
        }
        if let Some(words) = self.membership.notice(now) {
            evaluator.watch.noticed(&Notice::Missing { words });
        }
        let patience = self.rendezvous.patience;
        if !self.membership.is_complete() && self.membership.unchanged_for(now) >= patience {
            return Err(TrainError::Missing {
                who: self.membership.missing(),
                patience,
            });
        }
        Ok(())
    }

    /// Who says nothing has no last words either, and is ended.
    pub(super) fn end_silent(&mut self) {
        for worker in 0..self.slots.len() {
            if self.slots[worker].is_silent {
                self.members.kill(Role::Worker, rank(worker));
            }
        }
    }
}
