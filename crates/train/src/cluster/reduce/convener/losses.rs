//! How the trainer deals with workers that end, fall silent or never come, and
//! how it sends them home.

use std::time::Duration;

use paceline_sync::OnWorkerLoss;
use paceline_wire::{Header, Kind, Payload, Role};

use super::{Convener, FAREWELL};
use crate::clock::now;
use crate::cluster::conductor::Conductor;
use crate::cluster::crew::{Fallen, Kill, Moment};
use crate::cluster::notice::Notice;
use crate::cluster::reduce::seat::Seat;
use crate::session::{Ending, TrainError};

/// How long a worker may take to read its data and come.
const COMES_WITHIN: Duration = Duration::from_secs(60);

/// A worker that has ended so often will not stay.
const MOST_STARTS: u32 = 20;

impl Convener<'_> {
    /// A worker's connection is of no further use.
    pub(super) fn part(&mut self, worker: usize) {
        let seat = &mut self.seats[worker];
        seat.part();
        self.roll.worker_went(seat.member.rank, 0, now());
        self.call_off();
    }

    /// A worker is lost that may come back by itself, or by whoever started it.
    pub(super) fn lose(
        &mut self,
        worker: usize,
        how: String,
        conductor: &mut Conductor<'_>,
    ) -> Result<(), TrainError> {
        self.part(worker);
        let member = self.seats[worker].member;
        // Somebody who starts workers elsewhere may start this one again.
        let nothing_lost = self.is_elsewhere && self.generation == 0;
        if self.must_have_all() && !nothing_lost && self.ending.is_none() {
            let worker = member.rank;
            return Err(TrainError::Lost { worker, how });
        }
        conductor.watch.noticed(&Notice::WorkerLost {
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
        conductor: &mut Conductor<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        for Fallen { member, how } in self.crew.ended() {
            let worker = member.rank as usize;
            if self.seats.get(worker).map(|seat| seat.member) != Some(member) {
                continue;
            }
            // What it said before it ended still counts: the others go on only
            // after the first worker has shown a milestone.
            if let Some(ending) = self.listen(worker, conductor)? {
                return Ok(Some(ending));
            }
            self.seats[worker].is_alive = false;
            self.part(worker);
            if self.must_have_all() && self.ending.is_none() {
                return Err(TrainError::Lost {
                    worker: member.rank,
                    how,
                });
            }
            let times = self.seats[worker].starts;
            if times >= MOST_STARTS {
                return Err(TrainError::Falling { member, times, how });
            }
            if self.policy == OnWorkerLoss::Replace {
                conductor.watch.noticed(&Notice::Replaced { member, how });
                self.start(worker)?;
            } else {
                conductor.watch.noticed(&Notice::Ended { member, how });
            }
        }
        Ok(None)
    }

    /// Deals with workers that say nothing, or never came.
    pub(super) fn mind_silence(&mut self, conductor: &mut Conductor<'_>) -> Result<(), TrainError> {
        let timeout = self.session.cluster.failure_timeout;
        for worker in 0..self.seats.len() {
            let seat = &mut self.seats[worker];
            let limit = if seat.is_connected() {
                timeout
            } else if self.is_elsewhere {
                // For that there is the roll.
                continue;
            } else {
                timeout.max(COMES_WITHIN)
            };
            if !seat.is_alive || seat.is_silent || seat.heard.elapsed() < limit {
                continue;
            }
            seat.is_silent = true;
            let how = if seat.is_connected() {
                let seconds = limit.as_secs_f64();
                format!("it was silent for {seconds:.1} s, last {}", seat.doing)
            } else {
                format!("it did not come within {} s", limit.as_secs())
            };
            let member = seat.member;
            self.lose(worker, how, conductor)?;
            if self.policy == OnWorkerLoss::Replace {
                // Its end is seen like any other.
                self.crew.end(member);
            }
        }
        Ok(())
    }

    /// Says who is missing elsewhere, and gives up if it takes too long.
    pub(super) fn call_the_roll(
        &mut self,
        conductor: &mut Conductor<'_>,
    ) -> Result<(), TrainError> {
        if !self.is_elsewhere {
            return Ok(());
        }
        let now = now();
        if let Some(words) = self.roll.notice(now) {
            conductor.watch.noticed(&Notice::Missing { words });
        }
        let patience = self.meeting.patience;
        if !self.roll.is_complete() && self.roll.unchanged_for(now) >= patience {
            return Err(TrainError::Missing {
                who: self.roll.missing(),
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
            if let Some(seat) = self.seats.get(kill.rank as usize) {
                self.crew.end(seat.member);
            }
        }
    }

    /// Sends everybody home, waits for the last words, and ends who stays.
    pub(super) fn dismiss(&mut self) {
        let since = now();
        let mut told = vec![false; self.seats.len()];
        // Who says nothing has no last words either.
        for seat in self.seats.iter().filter(|seat| seat.is_silent) {
            self.crew.end(seat.member);
        }
        let is_elsewhere = self.is_elsewhere;
        let stays = |seat: &Seat| match is_elsewhere {
            true => seat.is_connected(),
            false => seat.is_alive,
        };
        while self.seats.iter().any(stays) {
            self.admit();
            for (seat, told) in self.seats.iter_mut().zip(&mut told) {
                if seat.is_connected() && !std::mem::replace(told, true) {
                    seat.say(&Header::new(Kind::Stop), Payload::NONE);
                }
            }
            for Fallen { member, .. } in self.crew.ended() {
                if let Some(seat) = self.seats.get_mut(member.rank as usize)
                    && seat.member == member
                {
                    seat.is_alive = false;
                }
            }
            self.hear_out();
            if since.elapsed() > FAREWELL {
                for seat in self.seats.iter().filter(|seat| seat.is_alive) {
                    self.crew.end(seat.member);
                }
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Takes everybody's words for the record, and heeds nothing else.
    fn hear_out(&mut self) {
        for worker in 0..self.seats.len() {
            let Some(mut reader) = self.seats[worker].lend() else {
                continue;
            };
            loop {
                match reader.try_receive() {
                    Ok(Some(frame)) => {
                        self.hear(worker, &frame);
                    }
                    Ok(None) => {
                        self.seats[worker].put_back(reader);
                        break;
                    }
                    Err(_) => {
                        self.seats[worker].part();
                        break;
                    }
                }
            }
        }
    }
}
