//! How the controller reaches its servers, gives them their state, and begins.

use std::time::{Duration, Instant};

use paceline_sync::{Consistency, OnWorkerLoss};
use paceline_wire::Role;

use super::{Controller, ServerLinks};
use crate::cluster::evaluator::Evaluator;
use crate::cluster::milestones::Due;
use crate::cluster::notice::Notice;
use crate::cluster::protocol::{Caption, FromController};
use crate::cluster::snapshot::SnapshotView;
use crate::session::TrainError;
use paceline_nets::Tally;

/// How long a worker that starts may take to read its data and join.
const LEAST_JOIN: Duration = Duration::from_secs(60);

impl Controller<'_> {
    /// Begins to reach a server.
    pub(super) fn reach(
        &mut self,
        server: usize,
        links: &mut dyn ServerLinks,
    ) -> Result<(), TrainError> {
        // Who is elsewhere is waited for as long as its absence is tolerated.
        let within = (!self.is_external).then_some(self.patience);
        links.connect(server, within)
    }

    /// A server was reached: gives it the last version that was taken.
    pub(super) fn on_connected(
        &mut self,
        server: usize,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let session = self.session;
        let (steps, parameters, optimizer) = match evaluator.last() {
            Some(last) => (last.steps, &last.parameters[..], &last.optimizer),
            None => (
                session.progress.steps,
                &session.parameters[..],
                &session.optimizer,
            ),
        };
        let join_within = if self.is_external {
            self.patience
        } else {
            LEAST_JOIN
        };
        let range = self.spans[server].flat();
        let moments = &optimizer.moments[..session.server_optimizer().moments()];
        let view = SnapshotView {
            caption: Caption {
                steps,
                optimizer_steps: optimizer.steps,
                tally: Tally::default(),
                due: Due::default(),
            },
            parameters: &parameters[range.clone()],
            moments: moments.iter().map(|all| &all[range.clone()]).collect(),
        };
        let identity = self.identity.text();
        let begin = FromController::Begin {
            generation: self.generation,
            milestones: self.milestones,
            join_within: join_within.max(session.cluster.failure_timeout),
            identity: &identity,
        };
        let is_told = links.send(server, &begin)
            && view
                .send(|part| {
                    let is_sent = links.send(server, &FromController::Snapshot(part));
                    is_sent.then_some(()).ok_or(())
                })
                .is_ok();
        if !is_told {
            // It is gone again; a child is started again where its end is seen.
            links.disconnect(server);
            return self.reach(server, links);
        }
        self.heard_at[server] = Some(now);
        self.membership.server_came(server, now);
        // Workers come back to it now.
        for since in self.required.values_mut() {
            *since = now;
        }
        if self.has_begun {
            if !self.needs_one_version() {
                let lost = self.steps.saturating_sub(steps);
                evaluator.watch.noticed(&Notice::ServerResumed {
                    server,
                    step: steps,
                    lost,
                });
            }
            self.bring_up_to_date(server, links);
        }
        Ok(())
    }

    /// Tells a server that came back what the others know.
    fn bring_up_to_date(&mut self, server: usize, links: &mut dyn ServerLinks) {
        if self.policy == OnWorkerLoss::Continue {
            for worker in self.members.gone(Role::Worker) {
                links.send(server, &FromController::WorkerGone { worker });
            }
        }
        if !self.gathers {
            // What it had not delivered never comes; the first must not wait.
            // Synchronous servers come to the same step again.
            self.assembler.clear();
            links.send(0, &FromController::SnapshotWaived);
        }
    }

    /// A server's connection broke. The end of a child is seen where members
    /// are looked after; a server elsewhere may come back where it was.
    pub(super) fn on_disconnected(
        &mut self,
        server: usize,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if !self.is_external || self.ending.is_some() {
            return Ok(());
        }
        evaluator.watch.noticed(&Notice::ServerLost {
            server,
            words: "its connection broke; start it again, unless only the network failed"
                .to_owned(),
        });
        self.lose_server(server, now);
        if self.needs_one_version() && self.has_begun {
            return self.roll_back(now, links, evaluator);
        }
        self.reach(server, links)
    }

    /// Takes all servers back to the last version that was taken: shards at
    /// different versions have no step in common. Each begins anew when it is
    /// reached again.
    pub(super) fn roll_back(
        &mut self,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if !self.needs_one_version() || self.ending.is_some() {
            return Ok(());
        }
        self.generation += 1;
        self.assembler.clear();
        let step = evaluator
            .last()
            .map_or(self.session.progress.steps, |last| last.steps);
        evaluator.watch.noticed(&Notice::ShardsRolledBack {
            step,
            lost: self.steps.saturating_sub(step),
        });
        self.steps = step;
        for server in 0..self.spans.len() {
            links.disconnect(server);
            self.lose_server(server, now);
            self.reach(server, links)?;
        }
        Ok(())
    }

    /// Whether a step is one only if all shards have taken it together. Under
    /// `backup` they never do; elsewhere shards have versions of their own.
    pub(super) fn needs_one_version(&self) -> bool {
        let is_backup = matches!(
            self.session.cluster.consistency(),
            Consistency::Backup { .. }
        );
        self.gathers && !is_backup && self.spans.len() > 1
    }

    pub(super) fn lose_server(&mut self, server: usize, now: Instant) {
        self.heard_at[server] = None;
        self.membership.server_went(server, now);
    }

    /// Starts the workers when all servers are there. The training begins when
    /// those that are started elsewhere have come.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if self.has_begun || !self.membership.has_all_servers() {
            return Ok(());
        }
        if self.is_external {
            if !self.membership.is_complete() {
                return Ok(());
            }
            evaluator.begin();
        } else {
            for worker in 0..self.session.cluster.workers.get() {
                self.members.start(Role::Worker, worker)?;
            }
        }
        self.has_begun = true;
        self.began = now;
        Ok(())
    }
}
