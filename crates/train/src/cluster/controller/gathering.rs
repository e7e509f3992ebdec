//! How the controller gathers its members: reaches servers, hands them their
//! state, and knows who is missing.

use std::time::Duration;

use paceline_sync::OnWorkerLoss;
use paceline_wire::{Connection, Deadline, Header, Kind, Role};

use super::Controller;
use crate::clock::now;
use crate::cluster::connecting::{ConnectNews, Connecting};
use crate::cluster::evaluator::Evaluator;
use crate::cluster::handover::{self, Version};
use crate::cluster::notice::Notice;
use crate::session::TrainError;

/// How long a worker that starts may take to read its data and join.
const LEAST_JOIN: Duration = Duration::from_secs(60);

/// How soon a worker is back that has left one server because another died.
const BACK_WITHIN: Duration = Duration::from_secs(2);

impl Controller<'_> {
    /// Starts to reach a server.
    pub(super) fn dial(&mut self, server: usize) -> Result<(), TrainError> {
        // Who is elsewhere is waited for as long as the membership says.
        let deadline = if self.is_external {
            Deadline::NEVER
        } else {
            Deadline::after(self.rendezvous.patience)
        };
        let dial =
            Connecting::start(self.rendezvous, server, deadline).map_err(TrainError::Wait)?;
        self.connecting[server] = Some(dial);
        Ok(())
    }

    /// Meets the servers that were reached.
    pub(super) fn greet(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        for server in 0..self.connecting.len() {
            match self.connecting[server].as_ref().and_then(Connecting::news) {
                None => {}
                Some(ConnectNews::Reached(connection)) => {
                    self.connecting[server] = None;
                    self.meet(server, *connection, evaluator)?;
                }
                Some(ConnectNews::Hindered(error)) => {
                    let why = std::error::Error::source(&error).map(ToString::to_string);
                    evaluator.watch.noticed(&Notice::Connection {
                        words: format!("{error}: {}; it is tried again", why.unwrap_or_default()),
                    });
                }
                Some(ConnectNews::GivenUp(source)) => {
                    return Err(TrainError::Unreached { server, source });
                }
            }
        }
        Ok(())
    }

    /// Gives a server the last version that was looked at.
    fn meet(
        &mut self,
        server: usize,
        connection: Connection,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let (reader, mut writer) = connection.split();
        let session = self.session;
        let (steps, parameters, optimizer) = match evaluator.last() {
            Some(last) => (last.steps, &last.parameters[..], &last.optimizer),
            None => (
                session.progress.steps,
                &session.parameters[..],
                &session.optimizer,
            ),
        };
        let version = Version {
            steps,
            parameters,
            optimizer,
            moments: session.server_optimizer().moments(),
        };
        let join_within = if self.is_external {
            self.rendezvous.patience
        } else {
            LEAST_JOIN
        };
        let given = handover::give(
            &mut writer,
            &self.spans[server],
            version,
            self.milestones,
            join_within.max(session.cluster.failure_timeout),
            &self.identity,
        );
        if given.is_err() {
            // It is gone again; a child is started again where its end is seen.
            return self.dial(server);
        }
        self.readers[server] = Some(reader);
        self.writers[server] = Some(writer);
        self.heard_at[server] = Some(now());
        self.membership.server_came(server, now());
        // Workers come back to it now.
        for since in self.doomed.values_mut() {
            *since = now();
        }
        if self.has_begun {
            let lost = self.steps.saturating_sub(steps);
            evaluator.watch.noticed(&Notice::ServerResumed {
                server,
                step: steps,
                lost,
            });
            self.bring_up_to_date(server);
        }
        Ok(())
    }

    /// Tells a server that came back what the others know.
    fn bring_up_to_date(&mut self, server: usize) {
        if self.policy == OnWorkerLoss::Continue {
            let gone: Vec<u32> = self
                .running
                .iter()
                .filter(|((role, _), who)| *role == Role::Worker && !who.is_alive)
                .map(|((_, worker), _)| *worker)
                .collect();
            for worker in gone {
                self.say(server, &Header::new(Kind::Leave).sender(worker));
            }
        }
        if !self.gathers {
            // What it had not delivered never comes; the first must not wait.
            // Synchronous servers come to the same step again.
            self.assemblies.clear();
            self.say(0, &Header::new(Kind::Saved));
        }
    }

    /// Starts the workers when all servers are there. The training begins when
    /// those that are started elsewhere have come.
    pub(super) fn begin(&mut self, evaluator: &mut Evaluator<'_>) -> Result<(), TrainError> {
        if self.has_begun || !self.membership.has_all_servers() {
            return Ok(());
        }
        if self.is_external {
            if !self.membership.is_complete() {
                return Ok(());
            }
            evaluator.begin();
        } else {
            for rank in 0..self.session.cluster.workers.get() {
                self.start(Role::Worker, rank)?;
            }
        }
        self.has_begun = true;
        self.began = now();
        Ok(())
    }

    /// Says who is missing, and gives up on whom the training waits too long.
    pub(super) fn check_membership(
        &mut self,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        let now = now();
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
            .doomed
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
        let patience = self.rendezvous.patience;
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

    /// A server elsewhere is gone; it may come back where it was.
    pub(super) fn await_again(
        &mut self,
        server: usize,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<(), TrainError> {
        evaluator.watch.noticed(&Notice::ServerLost {
            server,
            words: "its connection broke; start it again, unless only the network failed"
                .to_owned(),
        });
        self.heard_at[server] = None;
        self.membership.server_went(server, now());
        self.dial(server)
    }
}
