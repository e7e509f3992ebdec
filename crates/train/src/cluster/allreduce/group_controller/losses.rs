//! How the trainer deals with workers that end, fall silent or never come, and
//! how it sends them home.

use std::time::Duration;

use paceline_sync::OnWorkerLoss;
use paceline_wire::{Header, Kind, Payload, Role};

use super::{GRACE, GroupController};
use crate::clock::now;
use crate::cluster::allreduce::worker_slot::WorkerSlot;
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::{Ended, Kill, Moment};
use crate::cluster::notice::Notice;
use crate::session::{Ending, TrainError};

/// How long a worker may take to read its data and come.
const COMES_WITHIN: Duration = Duration::from_secs(60);

/// A worker that has ended so often will not stay.
const MOST_STARTS: u32 = 20;

impl GroupController<'_> {
    /// A worker's connection is of no further use.
    pub(super) fn part(&mut self, worker: usize) {
        let slot = &mut self.slots[worker];
        slot.part();
        self.membership.worker_went(slot.member.rank, 0, now());
        self.call_off();
    }

    /// A worker is lost that may come back by itself, or by whoever started it.
    pub(super) fn lose(
        &mut self,
        worker: usize,
        how: String,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        self.part(worker);
        let member = self.slots[worker].member;
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

    /// Whether a lost worker ends the training: as asked, or because a sum
    /// without it is none of all.
    pub(super) fn must_have_all(&self) -> bool {
        matches!(self.policy, OnWorkerLoss::Fail | OnWorkerLoss::Continue)
    }

    /// Looks at who has ended; says if somebody's last words end the training.
    pub(super) fn look_after(
        &mut self,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        for Ended { member, how } in self.launcher.ended() {
            let worker = member.rank as usize;
            if self.slots.get(worker).map(|slot| slot.member) != Some(member) {
                continue;
            }
            // What it said before it ended still counts: the others go on only
            // after the first worker has shown a milestone.
            if let Some(ending) = self.listen(worker, evaluator)? {
                return Ok(Some(ending));
            }
            self.slots[worker].is_alive = false;
            self.part(worker);
            if self.must_have_all() && self.ending.is_none() {
                return Err(TrainError::Lost {
                    worker: member.rank,
                    how,
                });
            }
            let times = self.slots[worker].starts;
            if times >= MOST_STARTS {
                return Err(TrainError::KeepsEnding { member, times, how });
            }
            if self.policy == OnWorkerLoss::Replace {
                evaluator.watch.noticed(&Notice::Replaced { member, how });
                self.start(worker)?;
            } else {
                evaluator.watch.noticed(&Notice::Ended { member, how });
            }
        }
        Ok(None)
    }

    /// Deals with workers that say nothing, or never came.
    pub(super) fn mind_silence(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        let timeout = self.session.cluster.failure_timeout;
        for worker in 0..self.slots.len() {
            let slot = &mut self.slots[worker];
            let limit = if slot.is_connected() {
                timeout
            } else if self.is_external {
                // For that there is the membership.
                continue;
            } else {
                timeout.max(COMES_WITHIN)
            };
            if !slot.is_alive || slot.is_silent || slot.heard.elapsed() < limit {
                continue;
            }
            slot.is_silent = true;
            let how = if slot.is_connected() {
                let seconds = limit.as_secs_f64();
                format!("it was silent for {seconds:.1} s, last {}", slot.doing)
            } else {
                format!("it did not come within {} s", limit.as_secs())
            };
            let member = slot.member;
            self.lose(worker, how, evaluator)?;
            if self.policy == OnWorkerLoss::Replace {
                // Its end is seen like any other.
                self.launcher.end(member);
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

    pub(super) fn kill(&mut self) {
        let (elapsed, steps) = (self.began.elapsed(), self.steps);
        let is_due = |kill: &Kill| match kill.at {
            Moment::Time(time) => time <= elapsed,
            Moment::Step(step) => step <= steps,
        };
        let (due, later): (Vec<Kill>, _) = self.kills.drain(..).partition(is_due);
        self.kills = later;
        for kill in due.iter().filter(|kill| kill.role == Role::Worker) {
            if let Some(slot) = self.slots.get(kill.rank as usize) {
                self.launcher.end(slot.member);
            }
        }
    }

    /// Sends everybody home, waits for the last words, and ends who stays.
    pub(super) fn dismiss(&mut self) {
        let since = now();
        let mut told = vec![false; self.slots.len()];
        // Who says nothing has no last words either.
        for slot in self.slots.iter().filter(|slot| slot.is_silent) {
            self.launcher.end(slot.member);
        }
        let is_external = self.is_external;
        let stays = |slot: &WorkerSlot| match is_external {
            true => slot.is_connected(),
            false => slot.is_alive,
        };
        while self.slots.iter().any(stays) {
            self.admit();
            for (slot, told) in self.slots.iter_mut().zip(&mut told) {
                if slot.is_connected() && !std::mem::replace(told, true) {
                    slot.say(&Header::new(Kind::Stop), Payload::NONE);
                }
            }
            for Ended { member, .. } in self.launcher.ended() {
                if let Some(slot) = self.slots.get_mut(member.rank as usize)
                    && slot.member == member
                {
                    slot.is_alive = false;
                }
            }
            self.hear_out();
            if since.elapsed() > GRACE {
                for slot in self.slots.iter().filter(|slot| slot.is_alive) {
                    self.launcher.end(slot.member);
                }
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
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
                        self.hear(worker, &frame);
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
