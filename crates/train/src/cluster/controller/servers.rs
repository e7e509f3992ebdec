//! How the controller reaches its servers, gives them their state, and begins.

use std::time::{Duration, Instant};

use paceline_sync::OnWorkerLoss;
use paceline_wire::Role;

use super::{Controller, ServerLinks};
use crate::cluster::evaluator::Evaluator;
use crate::cluster::milestones::Due;
use crate::cluster::notice::Notice;
use crate::cluster::protocol::{Caption, FromController};
use crate::cluster::snapshot::SnapshotView;
use crate::session::TrainError;
use paceline_nets::Tally;

/// How long a server that has been reached before may take to be again.
const LEAST_RETURN: Duration = Duration::from_secs(5);

impl Controller<'_> {
    /// Begins to reach a server.
    pub(super) fn reach(
        &mut self,
        server: usize,
        links: &mut dyn ServerLinks,
    ) -> Result<(), TrainError> {
        // One that has been here is back in no time; another has to start. Who
        // is elsewhere is waited for as long as its absence is tolerated.
        let within = match (self.is_external, self.was_reached[server]) {
            (true, _) => None,
            (false, true) => Some(self.session.cluster.failure_timeout.max(LEAST_RETURN)),
            (false, false) => Some(self.patience),
        };
        links.connect(server, within)
    }

    /// A server was reached: gives it the last version that was taken.
    pub(in crate::cluster) fn on_connected(
        &mut self,
        server: usize,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        // One that begins anew in the same generation has lost what the others
        // have: they go back with it.
        if self.needs_one_version() && self.began_in[server] == Some(self.generation) {
            self.roll_back(Some(server), now, links, evaluator)?;
        }
        self.began_in[server] = Some(self.generation);
        let session = self.session;
        let (steps, parameters, optimizer) = match evaluator.last() {
            Some(last) => (last.steps, &last.parameters[..], &last.optimizer),
            None => (
                session.progress.steps,
                &session.parameters[..],
                &session.optimizer,
            ),
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
            // A worker that starts has to read its data first.
            join_within: self.patience.max(session.cluster.failure_timeout),
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
        // It may take its time until it says something for the first time.
        self.hear_server(server, now + self.patience);
        self.was_reached[server] = true;
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
            // What it had not delivered never comes: nobody must wait for it, nor
            // take it for the end. Synchronous servers come to the same step
            // again.
            self.assembler.clear();
            self.send_all(&FromController::SnapshotWaived, links);
        }
    }

    /// A server's connection broke. If it has ended, that is seen where members
    /// are looked after; if not, it begins anew when it is reached again.
    pub(in crate::cluster) fn on_disconnected(
        &mut self,
        server: usize,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        if self.ending.is_some() {
            return Ok(());
        }
        if self.is_external {
            evaluator.watch.noticed(&Notice::ServerLost {
                server,
                words: "its connection broke; start it again, unless only the network failed"
                    .to_owned(),
            });
        }
        self.lose_server(server, now);
        self.reach(server, links)
    }

    /// Takes all servers back to the last version that was taken: shards at
    /// different versions have no step in common. Each begins anew when it is
    /// reached again; `except` one that has been.
    pub(super) fn roll_back(
        &mut self,
        except: Option<usize>,
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
        for server in (0..self.spans.len()).filter(|server| Some(*server) != except) {
            links.disconnect(server);
            self.lose_server(server, now);
            self.reach(server, links)?;
        }
        Ok(())
    }

    /// Whether a shard that goes back takes the others with it: where a step is
    /// one of all shards, those that have taken the last one would wait for it.
    pub(super) fn needs_one_version(&self) -> bool {
        self.gathers && self.spans.len() > 1
    }

    pub(super) fn lose_server(&mut self, server: usize, now: Instant) {
        self.heard_at[server] = None;
        self.is_silent[server] = false;
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
                self.members.start(Role::Worker, worker, now)?;
            }
        }
        self.has_begun = true;
        self.began = now;
        Ok(())
    }
}
