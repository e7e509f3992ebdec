//! The controller: starts servers and workers, looks at snapshots, deals with
//! losses and ends the training.
//!
//! [`Controller`] decides and knows no socket; [`sockets`] has them.

mod losses;
mod servers;
mod sockets;

pub(super) use sockets::train;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use paceline_nets::Tally;
use paceline_sync::OnWorkerLoss;
use paceline_wire::Role;

use super::evaluator::Evaluator;
use super::identity::TrainingIdentity;
use super::launcher::{Kill, Launcher};
use super::members::{GRACE, Members};
use super::membership::Membership;
use super::milestones::{Due, Milestones};
use super::notice::Notice;
use super::protocol::{FromController, ProtocolError, SnapshotPart, Subject, ToController};
use super::rendezvous::Rendezvous;
use super::session::ClusterSession;
use super::snapshot::{Assembler, Snapshot};
use super::totals::{LifetimeTotals, WorkerTotals};
use super::update::Span;
use crate::session::{Ending, TrainError};

/// The controller's connections to its servers.
pub(super) trait ServerLinks {
    /// Says something to a server; false if it cannot be said. A server that is
    /// gone is seen when its connection is read.
    fn send(&mut self, server: usize, message: &FromController<'_>) -> bool;

    /// Begins to reach a server; gives up after some time, if one is said.
    ///
    /// # Errors
    /// If the system has no means to.
    fn connect(&mut self, server: usize, within: Option<Duration>) -> Result<(), TrainError>;

    /// Closes the connection to a server, or gives up reaching it.
    fn disconnect(&mut self, server: usize);
}

/// A controller without its sockets.
pub(super) struct Controller<'a> {
    session: &'a ClusterSession,
    patience: Duration,
    members: Members<'a>,
    is_external: bool,
    policy: OnWorkerLoss,
    gathers: bool,
    /// How often all servers were taken back to one version.
    generation: u32,
    /// By server: the generation in which it began last.
    began_in: Vec<Option<u32>>,
    milestones: Milestones,
    identity: TrainingIdentity,
    spans: Vec<Span>,
    /// When each server was last heard; none while it is not connected.
    heard_at: Vec<Option<Instant>>,
    /// By server: whether it has been reached since it was started.
    was_reached: Vec<bool>,
    /// By server: whether its silence was told.
    is_silent: Vec<bool>,
    membership: Membership,
    /// Workers have been started, or the last that is started elsewhere came.
    has_begun: bool,
    assembler: Assembler,
    /// The step of the last snapshot that was taken.
    taken: Option<u64>,
    lifetimes: Vec<LifetimeTotals>,
    pulse: Tally,
    steps: u64,
    began: Instant,
    /// The training is to end, for this reason, as soon as the servers can.
    ending: Option<(Ending, Instant)>,
    /// Workers that fell silent.
    silent: BTreeSet<u32>,
    /// Workers for which a server has asked another, and since when.
    asked: BTreeMap<u32, Instant>,
    /// Workers elsewhere without which the training must not go on, and since
    /// when they are lost.
    required: BTreeMap<u32, Instant>,
    has_last_words: bool,
}

/// What a message leads to.
#[derive(Debug)]
pub(super) enum Heard {
    Nothing,
    Ends(Ending),
    /// The server was started for another training.
    OtherTraining,
    /// The server does not follow the protocol.
    Breach(ProtocolError),
}

impl<'a> Controller<'a> {
    pub(super) fn new(
        session: &'a ClusterSession,
        rendezvous: &Rendezvous,
        launcher: &'a mut dyn Launcher,
        kills: &[Kill],
        now: Instant,
    ) -> Self {
        let count = rendezvous.servers.len();
        let workers = session.cluster.workers.get() as usize;
        let consistency = session.cluster.consistency();
        let spans = Span::cut(session.model.layout(), count);
        let members = Members::new(launcher, kills);
        Self {
            patience: rendezvous.patience,
            is_external: members.are_external(),
            members,
            policy: session
                .cluster
                .on_worker_loss
                .unwrap_or(OnWorkerLoss::usual_for(consistency)),
            gathers: consistency.gathers(),
            generation: 0,
            began_in: vec![None; count],
            milestones: session.milestones(),
            identity: session.identity().clone(),
            assembler: Assembler::new(
                session.settings.optimizer,
                spans.iter().map(Span::flat).collect(),
            ),
            spans,
            heard_at: vec![None; count],
            was_reached: vec![false; count],
            is_silent: vec![false; count],
            membership: Membership::new(&rendezvous.servers, workers, now),
            has_begun: false,
            taken: None,
            lifetimes: vec![LifetimeTotals::new(workers); workers],
            pulse: Tally::default(),
            steps: session.progress.steps,
            began: now,
            ending: None,
            silent: BTreeSet::new(),
            asked: BTreeMap::new(),
            required: BTreeMap::new(),
            has_last_words: false,
            session,
        }
    }

    /// Starts the servers.
    pub(super) fn start(
        &mut self,
        now: Instant,
        links: &mut dyn ServerLinks,
    ) -> Result<(), TrainError> {
        for server in 0..self.spans.len() {
            self.members.start(Role::Server, rank(server), now)?;
            self.reach(server, links)?;
        }
        Ok(())
    }

    /// Takes what a server says.
    pub(super) fn on_message(
        &mut self,
        server: usize,
        message: ToController<'_>,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Heard, TrainError> {
        self.hear_server(server, now);
        match message {
            ToController::Notice { subject, words } => {
                evaluator.watch.noticed(&notice(subject, words));
            }
            ToController::Progress {
                steps,
                tally,
                totals,
                is_last,
            } => {
                self.steps = steps;
                self.pulse.add(tally);
                for (lifetime, report) in self.lifetimes.iter_mut().zip(totals.into_owned()) {
                    lifetime.hear(report);
                }
                self.has_last_words |= is_last;
            }
            ToController::Heartbeat => {}
            ToController::Snapshot(part) => {
                return self.on_snapshot(server, part, links, evaluator);
            }
            ToController::WorkerJoined { worker } => {
                self.membership.worker_came(worker, server, now);
                self.members.has_joined(Role::Worker, worker);
                self.silent.remove(&worker);
                self.required.remove(&worker);
                self.asked.remove(&worker);
            }
            ToController::WorkerLost {
                worker,
                is_silent,
                words,
            } => self.on_worker_lost(server, worker, is_silent, words, now, evaluator),
            ToController::ReplaceWorker { worker, .. } => {
                self.on_replacement_asked(worker, now, evaluator)?;
            }
            ToController::WorkerRequired { worker } => self.on_worker_required(worker, now)?,
            ToController::OtherTraining { identity } => {
                let difference = self.identity.difference(identity).unwrap_or_default();
                evaluator.watch.noticed(&Notice::OtherTraining {
                    words: format!("server {server} trains something else: {difference}"),
                });
                self.lose_server(server, now);
                return Ok(Heard::OtherTraining);
            }
            ToController::ShardsDiffer => self.roll_back(None, now, links, evaluator)?,
            ToController::Diverged => return Ok(Heard::Ends(Ending::Diverged)),
            ToController::Working { .. } | ToController::JoinGroup(_) => {
                return Ok(Heard::Breach(message.out_of_place()));
            }
        }
        Ok(Heard::Nothing)
    }

    fn on_snapshot(
        &mut self,
        server: usize,
        part: SnapshotPart<'_>,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Heard, TrainError> {
        let steps = match part {
            SnapshotPart::Caption(caption) => {
                if server == 0 {
                    self.have_others_follow(caption.steps, caption.due, links);
                }
                caption.steps
            }
            SnapshotPart::Values { steps, .. } => steps,
        };
        if self.gathers && self.taken.is_some_and(|taken| steps <= taken) {
            // A server that was started anew repeats what was taken.
            if part.is_last() {
                links.send(server, &FromController::SnapshotTaken { steps });
            }
            return Ok(Heard::Nothing);
        }
        match self.assembler.take(server, part) {
            Ok(None) => Ok(Heard::Nothing),
            Ok(Some(snapshot)) => self.take_snapshot(snapshot, links, evaluator),
            Err(error) => Ok(Heard::Breach(error)),
        }
    }

    /// The first server shows step `steps`: where the others do not know, they
    /// are told.
    fn have_others_follow(&mut self, steps: u64, due: Due, links: &mut dyn ServerLinks) {
        let message = match (due.end, self.gathers) {
            (true, true) if self.ending.is_some() => FromController::EndAt { step: steps },
            (_, true) => return,
            (true, false) => FromController::EndAt { step: steps },
            (false, false) => FromController::ShowSnapshot { steps },
        };
        for other in 1..self.spans.len() {
            links.send(other, &message);
        }
    }

    /// Looks at a complete snapshot, and lets the servers go on.
    fn take_snapshot(
        &mut self,
        mut snapshot: Snapshot,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Heard, TrainError> {
        let (steps, ends) = (snapshot.steps, snapshot.due.end);
        self.taken = Some(steps);
        self.steps = self.steps.max(steps);
        let asked = self.ending.map(|(ending, _)| ending);
        snapshot.due.evaluation |= asked == Some(Ending::Time);
        let found = evaluator.hear(snapshot)?;
        if let Some(ending) = found.or(asked.filter(|_| ends)) {
            return Ok(Heard::Ends(ending));
        }
        self.send_all(&FromController::SnapshotTaken { steps }, links);
        Ok(Heard::Nothing)
    }

    /// Looks after members and time. Says if that ends the training.
    pub(super) fn on_tick(
        &mut self,
        is_stopped: bool,
        now: Instant,
        links: &mut dyn ServerLinks,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        self.look_after(now, links, evaluator)?;
        self.mind_silence(now, evaluator);
        self.begin(now, evaluator)?;
        if self.is_external {
            self.check_membership(now, evaluator)?;
        }
        if self.has_begun {
            let elapsed = now.saturating_duration_since(self.began);
            self.members.kill_due(elapsed, self.steps);
        }
        let pulse = std::mem::take(&mut self.pulse);
        evaluator.tell(pulse, self.steps, || self.totals());
        match self.ending {
            // There is nothing to look at, and perhaps nobody to ask.
            None if is_stopped && !self.has_begun => return Ok(Some(Ending::Interrupted)),
            None if is_stopped => self.end(Ending::Interrupted, now, links),
            None if self.has_begun && evaluator.is_late() => self.end(Ending::Time, now, links),
            // Workers that hang do not hold up the end: the last snapshot that
            // was taken is what remains.
            Some((ending, since)) if now.saturating_duration_since(since) > GRACE => {
                return Ok(Some(ending));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Asks for a last snapshot: the first server names the step, the others
    /// follow when they hear of it.
    fn end(&mut self, ending: Ending, now: Instant, links: &mut dyn ServerLinks) {
        self.ending = Some((ending, now));
        links.send(0, &FromController::EndSoon);
    }

    fn send_all(&self, message: &FromController<'_>, links: &mut dyn ServerLinks) {
        for server in 0..self.spans.len() {
            links.send(server, message);
        }
    }

    /// Tells everybody that the training is over.
    pub(super) fn stop(&self, links: &mut dyn ServerLinks) {
        self.send_all(&FromController::Stop, links);
    }

    /// Whether the first server has nothing more to say.
    pub(super) fn has_last_words(&self) -> bool {
        self.has_last_words
    }

    /// Waits until everybody has gone, and ends who stays.
    pub(super) fn dismiss(&mut self) {
        let since = crate::clock::now();
        while self.members.await_departure(false, since) {}
    }

    pub(super) fn totals(&self) -> Vec<WorkerTotals> {
        self.lifetimes.iter().map(LifetimeTotals::sum).collect()
    }
}

/// A server's number as members are numbered.
fn rank(server: usize) -> u32 {
    u32::try_from(server).expect("servers are counted by 32 bits")
}

/// A server's words for the user.
fn notice(subject: Subject, words: &str) -> Notice {
    let words = words.to_owned();
    match subject {
        Subject::WaitingWorker(worker) => Notice::Waiting { worker, words },
        Subject::OtherTraining => Notice::OtherTraining { words },
        Subject::Connection => Notice::Connection { words },
    }
}
