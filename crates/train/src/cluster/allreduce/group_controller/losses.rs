//! How the trainer deals with workers that end, fall silent or never come, and
//! how it sends them home.

use paceline_sync::OnWorkerLoss;
use paceline_wire::Role;

use super::{GroupController, rank};
use crate::clock::now;
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::Ended;
use crate::cluster::members::MOST_STARTS;
use crate::cluster::notice::Notice;
use crate::cluster::protocol::FromController;
use crate::session::{Ending, TrainError};

impl GroupController<'_> {
    /// A worker's connection is of no further use.
    pub(super) fn part(&mut self, worker: usize) {
        self.slots[worker].part();
        self.membership.worker_went(rank(worker), 0, now());
        self.dissolve_group();
    }

    /// A worker's connection has ended. Whether a process of this host has, is
    /// seen where members are looked after, or by its silence.
    pub(super) fn lose_connection(
        &mut self,
        worker: usize,
        how: &str,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if self.is_external {
            return self.lose(worker, how.to_owned(), evaluator);
        }
        self.part(worker);
        Ok(())
    }

    /// A worker is lost that may come back by itself, or by whoever started it.
    fn lose(
        &mut self,
        worker: usize,
        how: String,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        self.part(worker);
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

    /// Looks at who has ended; says if somebody's last words end the training.
    pub(super) fn look_after(
        &mut self,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        for Ended { member, how } in self.members.take_ended() {
            let worker = member.rank as usize;
            // What it said before it ended still counts: the others go on only
            // after the first worker has shown a milestone.
            if let Some(ending) = self.listen(worker, evaluator)? {
                return Ok(Some(ending));
            }
            self.part(worker);
            if self.must_have_all() && self.ending.is_none() {
                return Err(TrainError::Lost {
                    worker: member.rank,
                    how,
                });
            }
            if self.policy == OnWorkerLoss::Replace {
                let watch = &mut *evaluator.watch;
                self.members
                    .replace(MOST_STARTS, Role::Worker, member.rank, &how, now(), watch)?;
                self.slots[worker].begin_anew();
                // A new member is a new attempt.
                self.attempts = 0;
            } else {
                evaluator.watch.noticed(&Notice::Ended { member, how });
            }
        }
        Ok(None)
    }

    /// Deals with workers that say nothing, or never came.
    pub(super) fn mind_silence(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        let timeout = self.session.cluster.failure_timeout;
        let may_be_killed = self.policy != OnWorkerLoss::Wait;
        self.members
            .kill_stopped(timeout, may_be_killed, now(), evaluator.watch);
        for worker in 0..self.slots.len() {
            let is_alive = self.members.is_alive(Role::Worker, rank(worker));
            let slot = &mut self.slots[worker];
            let limit = if slot.is_connected() {
                timeout
            } else if self.is_external {
                // For that there is the membership.
                continue;
            } else {
                // It has to read its data first.
                timeout.max(self.rendezvous.patience)
            };
            if !is_alive || slot.is_silent || slot.heard.elapsed() < limit {
                continue;
            }
            slot.is_silent = true;
            let how = if slot.is_connected() {
                let seconds = limit.as_secs_f64();
                format!("it was silent for {seconds:.1} s, last {}", slot.activity)
            } else {
                format!("it did not come within {} s", limit.as_secs())
            };
            self.lose(worker, how, evaluator)?;
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
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if !self.is_external {
            return Ok(());
        }
        let now = now();
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

    /// Sends everybody home, waits for the last words, and ends who stays.
    pub(super) fn dismiss(&mut self) {
        // Who says nothing has no last words either.
        for worker in 0..self.slots.len() {
            if self.slots[worker].is_silent {
                self.members.kill(Role::Worker, rank(worker));
            }
        }
        let mut told = vec![false; self.slots.len()];
        let since = now();
        loop {
            self.admit();
            for (slot, told) in self.slots.iter_mut().zip(&mut told) {
                if slot.is_connected() && !std::mem::replace(told, true) {
                    slot.say(&FromController::Stop);
                }
            }
            self.hear_out();
            let are_connected = self.slots.iter().any(|slot| slot.is_connected());
            if !self.members.await_departure(are_connected, since) {
                return;
            }
        }
    }

    /// Takes everybody's words for the record, and heeds nothing else.
    fn hear_out(&mut self) {
        for worker in 0..self.slots.len() {
            let Some(mut reader) = self.slots[worker].lend() else {
                continue;
            };
            loop {
                match reader.try_receive() {
                    Ok(Some(frame)) => {
                        // Nobody is left to be told of what is wrong now.
                        let _ = self.hear(worker, &frame);
                    }
                    Ok(None) => {
                        self.slots[worker].put_back(reader);
                        break;
                    }
                    Err(_) => {
                        self.slots[worker].part();
                        break;
                    }
                }
            }
        }
    }
}
