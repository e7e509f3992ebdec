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
                    self.members
                        .replace(MOST_STARTS, Role::Worker, rank, &how, evaluator.watch)?;
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
        // Before the training began, one that cannot start is not waited for.
        let most = if self.has_begun { MOST_STARTS } else { 1 };
        self.members
            .replace(most, Role::Server, rank, how, evaluator.watch)?;
        if self.needs_one_version() && self.has_begun {
            return self.roll_back(now, links, evaluator);
        }
        self.reach(server, links)
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
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if !self.members.is_alive(Role::Worker, worker) && self.ending.is_none() {
            let how = "a server asks for it";
            self.members
                .replace(MOST_STARTS, Role::Worker, worker, how, evaluator.watch)?;
        }
        Ok(())
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
        }
        Ok(())
    }

    /// Says who is missing, and gives up on whom the training waits too long.
    pub(super) fn check_membership(
        &mut self,
        now: Instant,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let failure_timeout = self.session.cluster.failure_timeout;
        for (server, heard_at) in self.heard_at.iter_mut().enumerate() {
            if heard_at.is_some_and(|heard| now - heard >= failure_timeout) {
                *heard_at = None;
                let seconds = failure_timeout.as_secs_f64();
                evaluator.watch.noticed(&Notice::ServerLost {
                    server,
                    words: format!("it has said nothing for {seconds} s"),
                });
            }
        }
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
