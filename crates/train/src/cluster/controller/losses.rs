//! How the controller deals with members that end, fall silent or never come.

use std::time::{Duration, Instant};

use paceline_sync::OnWorkerLoss;
use paceline_wire::Role;

use super::{Controller, ServerLinks};
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::Ended;
use crate::cluster::members::MOST_STARTS;
use crate::cluster::notice::Notice;
use crate::cluster::protocol::FromController;
use crate::session::TrainError;

/// As [`MOST_STARTS`], of a server before the training has begun.
const MOST_STARTS_BEFORE: u32 = 3;

/// How long a worker may take to read its data and join for the first time.
const START_WITHIN: Duration = Duration::from_secs(600);

/// How soon a worker is back that has left one server because another died.
const BACK_WITHIN: Duration = Duration::from_secs(2);

impl Controller<'_> {
    /// Looks at who has ended.
    pub(super) fn look_after(
        &mut self,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        for Ended { member, how } in self.members.take_ended() {
            if self.ending.is_some() {
                continue;
            }
            let rank = member.rank;
            match (member.role, self.policy) {
                (Role::Server, _) => self.restart_server(rank, &how, now, links, evaluator)?,
                (Role::Worker, OnWorkerLoss::Replace) => {
                    self.members.replace(
                        MOST_STARTS,
                        Role::Worker,
                        rank,
                        &how,
                        now,
                        evaluator.watch,
                    )?;
                }
                (Role::Worker, OnWorkerLoss::Fail) => {
                    return Err(TrainError::Lost { worker: rank, how });
                }
                (_, policy) => {
                    evaluator.watch.noticed(&Notice::Ended {
                        member,
                        how: how.clone(),
                    });
                    if policy == OnWorkerLoss::Continue {
                        if self.members.count_alive(Role::Worker) == 0 {
                            return Err(TrainError::NoWorkerLeft { how });
                        }
                        self.send_all(&FromController::WorkerGone { worker: rank }, links);
                    }
                }
            }
        }
        Ok(())
    }

    /// A server that died is started again, and gets the last version that was
    /// taken when it listens.
    fn restart_server(
        &mut self,
        rank: u32,
        how: &str,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let server = rank as usize;
        links.disconnect(server);
        self.lose_server(server, now);
        self.was_reached[server] = false;
        // Before the training began, one that cannot start is not tried for
        // long.
        let most = if self.has_begun {
            MOST_STARTS
        } else {
            MOST_STARTS_BEFORE
        };
        self.members
            .replace(most, Role::Server, rank, how, now, evaluator.watch)?;
        self.reach(server, links)
    }

    /// A server was not reached in time. One of this host's is killed: its end
    /// is seen like any other, and another takes its place.
    pub(in crate::cluster) fn on_unreached(
        &mut self,
        server: usize,
        how: &str,
        evaluator: &mut Evaluator<'_>,
    ) {
        evaluator.watch.noticed(&Notice::ServerLost {
            server,
            words: how.to_owned(),
        });
        self.members.kill(Role::Server, super::rank(server));
    }

    /// Deals with servers that say nothing, and members that somebody stopped. A
    /// server of this host is killed, and another takes its place; one elsewhere
    /// is missing until it is heard again.
    pub(super) fn mind_silence(&mut self, now: Instant, evaluator: &mut Evaluator<'_>) {
        let limit = self.session.cluster.failure_timeout;
        let watch = &mut *evaluator.watch;
        let workers_may_be = self.policy != OnWorkerLoss::Wait;
        self.members.kill_stopped(limit, workers_may_be, now, watch);
        for server in 0..self.heard_at.len() {
            let is_overdue = self.heard_at[server]
                .is_some_and(|heard| now.saturating_duration_since(heard) >= limit);
            if !is_overdue || self.is_silent[server] {
                continue;
            }
            self.is_silent[server] = true;
            self.membership.server_fell_silent(server, now);
            let seconds = limit.as_secs_f64();
            watch.noticed(&Notice::ServerLost {
                server,
                words: format!("it has said nothing for {seconds} s"),
            });
            if !self.is_external {
                self.members.kill(Role::Server, super::rank(server));
            }
        }
    }

    /// A server is heard.
    pub(super) fn hear_server(&mut self, server: usize, now: Instant) {
        self.heard_at[server] = Some(now);
        if std::mem::take(&mut self.is_silent[server]) {
            self.membership.server_spoke(server, now);
        }
    }

    /// A server misses a worker.
    pub(super) fn on_worker_lost(
        &mut self,
        server: usize,
        worker: u32,
        is_silent: bool,
        words: &str,
        now: Instant,
        evaluator: &mut Evaluator<'_>,
    ) {
        self.membership.worker_went(worker, server, now);
        // Every server sees a loss; the first speaks for all.
        if server == 0 {
            evaluator.watch.noticed(&Notice::WorkerLost {
                worker,
                words: words.to_owned(),
            });
        }
        if is_silent {
            self.silent.insert(worker);
            if self.policy == OnWorkerLoss::Replace {
                self.members.kill(Role::Worker, worker);
            }
        }
    }

    /// A server wants a worker replaced.
    pub(super) fn on_replacement_asked(
        &mut self,
        worker: u32,
        now: Instant,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if self.ending.is_some() {
            return Ok(());
        }
        if self.hangs(worker, now) {
            // Its end is seen like any other.
            self.members.kill(Role::Worker, worker);
        }
        if !self.members.is_alive(Role::Worker, worker) {
            let how = "a server asks for it";
            self.members
                .replace(MOST_STARTS, Role::Worker, worker, how, now, evaluator.watch)?;
        }
        Ok(())
    }

    /// Whether a worker runs and has been missed for so long that it hangs: by
    /// every server, since a server first asked for another, or since it was
    /// started if it has never joined.
    fn hangs(&mut self, worker: u32, now: Instant) -> bool {
        let asked = *self.asked.entry(worker).or_insert(now);
        let limits = (self.patience, START_WITHIN.max(self.patience));
        !self.membership.is_anywhere(worker)
            && self.members.hangs(Role::Worker, worker, asked, limits, now)
    }

    /// The training must not go on without a worker. One that left a server
    /// because another died is on its way back; one whose process has ended is
    /// dealt with where members are looked after.
    pub(super) fn on_worker_required(
        &mut self,
        worker: u32,
        now: Instant,
    ) -> Result<(), TrainError> {
        if self.silent.contains(&worker) {
            return Err(TrainError::Lost {
                worker,
                how: "it was silent for too long".to_owned(),
            });
        }
        if self.is_external && self.policy == OnWorkerLoss::Fail {
            self.required.entry(worker).or_insert(now);
        } else if self.hangs(worker, now) {
            return Err(TrainError::Lost {
                worker,
                how: "it did not come back".to_owned(),
            });
        }
        Ok(())
    }

    /// Says who is missing, and gives up on whom the training waits too long.
    pub(super) fn check_membership(
        &mut self,
        now: Instant,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if let Some(words) = self.membership.notice(now) {
            evaluator.watch.noticed(&Notice::Missing { words });
        }
        let are_servers_here = self.membership.has_all_servers();
        if let Some((worker, _)) = self
            .required
            .iter()
            .find(|(_, since)| are_servers_here && now - **since >= BACK_WITHIN)
        {
            let how = if self.silent.contains(worker) {
                "it was silent for too long"
            } else {
                "its connection broke"
            };
            return Err(TrainError::Lost {
                worker: *worker,
                how: how.to_owned(),
            });
        }
        let may_go_on = self.has_begun && self.policy == OnWorkerLoss::Continue;
        let goes_on = may_go_on && are_servers_here && self.membership.has_a_worker();
        let patience = self.patience;
        if !goes_on
            && !self.membership.is_complete()
            && self.membership.unchanged_for(now) >= patience
        {
            return Err(TrainError::Missing {
                who: self.membership.missing(),
                patience,
            });
        }
        Ok(())
    }
}
