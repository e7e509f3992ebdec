//! A server: holds a shard of the parameters for workers that connect to it.
//!
//! [`Server`] decides what is said to whom and knows no socket; [`sockets`]
//! listens, reads and writes.

mod opening;
mod queue;
mod received;
mod reporting;
mod sockets;

pub use sockets::{ServeError, serve, serve_at};

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernels::Kernels;
use paceline_model::WorkerId;
use paceline_nets::Tally;
use paceline_sync::{
    Clock, Coordinator, Incarnation, LossCause, Message, Receipt, Refusal, Sender, Tick,
};
use paceline_wire::{Member, Payload, Role};

use super::compress::{Compression, to_half};
use super::evaluator::PROGRESS_EVERY;
use super::identity::TrainingIdentity;
use super::milestones::Milestones;
use super::protocol::{
    FromController, FromServer, Grant, ProtocolError, Subject, ToController, ToServer,
};
use super::session::ClusterSession;
use super::shard::{Arrival, ParameterShard, ShardEvent, ShardPlan, ShardRules, Store};
use super::snapshot::Snapshot;
use super::totals::WorkerTotals;
use super::update::Span;
pub(super) use opening::{Opening, OpeningError};
use received::Received;

/// How often workers that wait hear that the server is alive.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(1);

/// Where a server's messages go.
pub(super) trait Outbox {
    /// To a worker in one incarnation, if it is connected.
    fn to_worker(&mut self, to: Sender, message: &FromServer<'_>);

    /// To the controller.
    fn to_controller(&mut self, message: &ToController<'_>);
}

/// What the controller tells a server before anything else.
pub(super) struct Beginning {
    pub(super) generation: u32,
    pub(super) milestones: Milestones,
    pub(super) join_within: Duration,
    /// The server's part of the version to begin with.
    pub(super) snapshot: Snapshot,
}

/// Why a connection is to be closed.
#[derive(Debug)]
pub(super) enum Dismissal {
    /// The peer was told why.
    Told,
    /// The peer does not follow the protocol.
    Breach(ProtocolError),
}

impl From<ProtocolError> for Dismissal {
    fn from(error: ProtocolError) -> Self {
        Self::Breach(error)
    }
}

/// A server without its sockets.
pub(super) struct Server<'a> {
    session: &'a ClusterSession,
    rank: u32,
    generation: u32,
    identity: TrainingIdentity,
    shard: ParameterShard<Received>,
    /// By worker: what arrives of its update.
    arriving: Vec<Received>,
    events: Vec<ShardEvent>,
    began: Instant,
    looked_around: Instant,
    /// When workers were last told that the server is alive.
    beaten: Instant,
    /// The rows since the last report.
    pulse: Tally,
    totals: Vec<WorkerTotals>,
    /// By worker: what it waits for, since when, and whether that was told.
    waits: Vec<Option<(Clock, Instant, bool)>>,
    /// Since when the workers have been told that the training is over.
    stopped: Option<Instant>,
    kernels: Kernels,
    /// The parameters in half precision, once somebody wants them; and room to
    /// round them in.
    halves: Vec<u16>,
    room: Vec<f32>,
}

impl<'a> Server<'a> {
    pub(super) fn new(
        session: &'a ClusterSession,
        rank: u32,
        span: Span,
        beginning: Beginning,
        now: Instant,
    ) -> Self {
        let workers = session.cluster.workers.get() as usize;
        let Beginning {
            generation,
            milestones,
            join_within,
            snapshot,
        } = beginning;
        let rules = session
            .rules
            .resumed_at(Clock(snapshot.steps))
            .failure_timeout(session.cluster.failure_timeout)
            .join_timeout(join_within);
        let plan = ShardPlan {
            consistency: session.cluster.consistency(),
            workers,
            milestones,
            settings: session.settings.clone(),
        };
        let rules =
            ShardRules::new(plan, Coordinator::new(rules), snapshot.steps).following(rank > 0);
        let parameters = Arc::unwrap_or_clone(snapshot.parameters);
        let store = Store::of_part(span, parameters, snapshot.optimizer);
        Self {
            rank,
            generation,
            identity: session.identity().clone(),
            beaten: now,
            shard: ParameterShard::new(rules, store, Received::default),
            arriving: (0..workers).map(|_| Received::default()).collect(),
            events: Vec::new(),
            began: now,
            looked_around: now,
            pulse: Tally::default(),
            totals: vec![WorkerTotals::new(workers); workers],
            waits: vec![None; workers],
            stopped: None,
            kernels: Kernels::detect(),
            halves: Vec::new(),
            room: Vec::new(),
            session,
        }
    }

    /// Takes what a worker says.
    ///
    /// # Errors
    /// If its connection is to be closed.
    pub(super) fn on_worker(
        &mut self,
        peer: Member,
        message: ToServer<'_>,
        now: Instant,
        out: &mut dyn Outbox,
    ) -> Result<(), Dismissal> {
        let (from, worker) = (sender(peer), peer.rank as usize);
        let Some(arriving) = self.arriving.get_mut(worker) else {
            let difference = format!("there is no worker {worker}");
            return Err(self.turn_away(peer, &difference, out));
        };
        let message = match message {
            ToServer::Join { identity } => {
                if let Some(difference) = self.identity.difference(identity) {
                    return Err(self.turn_away(peer, &difference, out));
                }
                Message::Join
            }
            ToServer::Heartbeat => Message::Heartbeat,
            ToServer::ShardsDiffer => {
                out.to_controller(&ToController::ShardsDiffer);
                return Ok(());
            }
            ToServer::Read { clock } => Message::Read {
                clock: Clock(clock),
            },
            ToServer::Totals { totals } => {
                if totals.waited_for.len() != self.totals.len() {
                    return Err(Dismissal::Breach(ProtocolError::Malformed {
                        name: "totals",
                        what: "they are of another number of workers",
                    }));
                }
                self.totals[worker] = totals.into_owned();
                return Ok(());
            }
            ToServer::Push {
                clock,
                values,
                is_last,
                then_read,
            } => {
                arriving.take(self.kernels, self.shard.store().span(), values)?;
                if !is_last {
                    return Ok(());
                }
                return self.on_update(peer, clock, then_read, now, out);
            }
        };
        let taken = self
            .shard
            .on_message(from, message, self.tick(now), &mut self.events);
        self.conclude(peer, taken, out)
    }

    /// Where an update of `worker` that needs no decoding is to be held.
    pub(super) fn room_for(&mut self, worker: u32) -> Option<&mut Received> {
        self.arriving.get_mut(worker as usize)
    }

    /// An update is held where [`Self::room_for`] said.
    ///
    /// # Errors
    /// As [`Self::on_worker`].
    pub(super) fn on_held_push(
        &mut self,
        peer: Member,
        push: HeldPush,
        now: Instant,
        out: &mut dyn Outbox,
    ) -> Result<(), Dismissal> {
        let span = self.shard.store().span();
        self.arriving[peer.rank as usize].check_held(span)?;
        if !push.is_last {
            return Ok(());
        }
        self.on_update(peer, push.clock, push.then_read, now, out)
    }

    /// All of an update has arrived.
    fn on_update(
        &mut self,
        peer: Member,
        clock: u64,
        then_read: bool,
        now: Instant,
        out: &mut dyn Outbox,
    ) -> Result<(), Dismissal> {
        let tick = self.tick(now);
        let arriving = &mut self.arriving[peer.rank as usize];
        let arrival = Arrival {
            from: sender(peer),
            clock: Clock(clock),
            tally: arriving.tally(),
            then_read,
        };
        let before = self.shard.rules().coordinator().version();
        let receipt = self
            .shard
            .on_update(arrival, arriving, tick, &mut self.events);
        if receipt == Ok(Receipt::Counted) {
            self.pulse.add(arrival.tally);
        }
        let gathers = self.shard.rules().plan().consistency.gathers();
        if !gathers || self.shard.rules().coordinator().version() != before {
            self.halves.clear();
        }
        self.conclude(peer, receipt.map(drop), out)
    }

    /// Tells who has to be told what came of a message.
    fn conclude(
        &mut self,
        peer: Member,
        taken: Result<(), Refusal>,
        out: &mut dyn Outbox,
    ) -> Result<(), Dismissal> {
        if let Err(refusal) = taken {
            let join_with = match refusal {
                Refusal::NotAMember { join_with, .. } => join_with.0,
                Refusal::FormerLife { current, .. } => current.0.saturating_add(1),
                _ => peer.incarnation.saturating_add(1),
            };
            let reason = refusal.to_string();
            let refused = FromServer::Refused {
                join_with,
                reason: &reason,
            };
            out.to_worker(sender(peer), &refused);
        }
        self.tell(out);
        match taken {
            Ok(()) => Ok(()),
            Err(_) => Err(Dismissal::Told),
        }
    }

    /// Refuses a worker that trains something else.
    fn turn_away(&mut self, peer: Member, difference: &str, out: &mut dyn Outbox) -> Dismissal {
        out.to_worker(sender(peer), &FromServer::OtherTraining { difference });
        let words = format!("worker {} trains something else: {difference}", peer.rank);
        out.to_controller(&ToController::Notice {
            subject: Subject::OtherTraining,
            words: &words,
        });
        Dismissal::Told
    }

    /// A peer's connection is closed, because of what it sent.
    pub(super) fn on_breach(&self, peer: Member, error: &ProtocolError, out: &mut dyn Outbox) {
        let server = self.rank;
        notify(
            &format!("server {server} closed the connection of {peer}, which sent {error}"),
            out,
        );
    }

    /// Takes what the controller says.
    ///
    /// # Errors
    /// If a server has no business with it.
    pub(super) fn on_controller(
        &mut self,
        message: &FromController<'_>,
        now: Instant,
        out: &mut dyn Outbox,
    ) -> Result<(), ProtocolError> {
        let tick = self.tick(now);
        let rules = self.shard.rules_mut();
        match *message {
            FromController::SnapshotTaken { .. } => rules.seen(&mut self.events),
            FromController::SnapshotWaived => rules.waived(&mut self.events),
            FromController::EndAt { step } => rules.end_at(Some(step), &mut self.events),
            FromController::EndSoon => rules.end_at(None, &mut self.events),
            FromController::ShowSnapshot { steps } => rules.show_as(steps, &mut self.events),
            FromController::WorkerGone { worker } => {
                self.shard.on_worker_gone(worker, tick, &mut self.events);
            }
            FromController::Stop => self.stop(now, out),
            FromController::Begin { .. }
            | FromController::Snapshot(_)
            | FromController::FormGroup(_)
            | FromController::DissolveGroup { .. }
            | FromController::OtherTraining { .. } => return Err(message.out_of_place()),
        }
        self.tell(out);
        Ok(())
    }

    /// A worker's connection broke.
    pub(super) fn on_disconnect(&mut self, peer: Member, now: Instant, out: &mut dyn Outbox) {
        let tick = self.tick(now);
        self.shard
            .on_disconnect(sender(peer), tick, &mut self.events);
        self.tell(out);
    }

    /// Now and then: looks for losses and hangs, and reports; says whether it
    /// was time to.
    pub(super) fn on_tick(&mut self, now: Instant, out: &mut dyn Outbox) -> bool {
        if now.saturating_duration_since(self.looked_around) < PROGRESS_EVERY {
            return false;
        }
        self.looked_around = now;
        let tick = self.tick(now);
        self.shard.on_tick(tick, &mut self.events);
        self.tell(out);
        if now.saturating_duration_since(self.beaten) >= HEARTBEAT_EVERY {
            self.beaten = now;
            self.send_workers(|_, _| FromServer::Heartbeat, out);
        }
        if self.rank == 0 && !self.shard.rules().is_over() {
            self.report(false, out);
            self.name_holdups(now, out);
        } else {
            out.to_controller(&ToController::Heartbeat);
        }
        true
    }

    /// Since when workers have been told that the training is over.
    pub(super) fn stopped(&self) -> Option<Instant> {
        self.stopped
    }

    /// Says what there is left to say.
    pub(super) fn take_leave(&mut self, out: &mut dyn Outbox) {
        if self.rank == 0 {
            self.report(true, out);
        }
    }

    fn stop(&mut self, now: Instant, out: &mut dyn Outbox) {
        self.shard.rules_mut().end();
        self.stopped = Some(now);
        self.send_workers(
            |server, worker| FromServer::End {
                is_late: server.shard.rules_mut().take_lateness(worker),
            },
            out,
        );
    }

    /// Says something to every worker that takes part.
    fn send_workers(
        &mut self,
        mut message: impl FnMut(&mut Self, u32) -> FromServer<'static>,
        out: &mut dyn Outbox,
    ) {
        let members: Vec<_> = self.shard.rules().coordinator().members().collect();
        for view in members {
            if let Some(incarnation) = view.incarnation {
                let message = message(self, view.worker.0);
                let to = Sender {
                    worker: view.worker,
                    incarnation,
                };
                out.to_worker(to, &message);
            }
        }
    }

    /// Passes on what the shard wants done.
    fn tell(&mut self, out: &mut dyn Outbox) {
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            self.act(event, out);
        }
        self.events = events;
    }

    fn act(&mut self, event: ShardEvent, out: &mut dyn Outbox) {
        match event {
            ShardEvent::Welcome { to, clock } => {
                let generation = self.generation;
                let clock = clock.0;
                out.to_worker(to, &FromServer::Welcome { clock, generation });
                let worker = to.worker.0;
                out.to_controller(&ToController::WorkerJoined { worker });
            }
            ShardEvent::Proceed {
                to,
                clock,
                version,
                waited_for,
                is_late,
            } => {
                let grant = Grant {
                    clock: clock.0,
                    version: version.0,
                    waited_for,
                    is_late,
                    // Who has the clock says it.
                    waited: Duration::ZERO,
                    queued: Duration::ZERO,
                };
                self.send_parameters(to, grant, out);
            }
            ShardEvent::Lost {
                worker,
                cause,
                clock,
                doing,
            } => {
                let who = WorkerId(worker);
                let words = format!("{who} is lost ({cause}) at clock {clock}, {doing}");
                out.to_controller(&ToController::WorkerLost {
                    worker,
                    is_silent: cause == LossCause::Silent,
                    words: &words,
                });
            }
            ShardEvent::Replace {
                worker,
                incarnation,
            } => out.to_controller(&ToController::ReplaceWorker {
                worker,
                incarnation: incarnation.0,
            }),
            ShardEvent::Required { worker } => {
                out.to_controller(&ToController::WorkerRequired { worker });
            }
            ShardEvent::Show(shown) => self.show(shown, out),
            ShardEvent::Diverged => out.to_controller(&ToController::Diverged),
        }
    }

    fn send_parameters(&mut self, to: Sender, grant: Grant, out: &mut dyn Outbox) {
        let parameters = self.shard.store().parameters();
        let is_half = self.session.cluster.compress == Compression::Half;
        if is_half && self.halves.is_empty() {
            to_half(self.kernels, parameters, &mut self.halves, &mut self.room);
        }
        let values = match is_half {
            false => Payload::Dense(parameters),
            true => Payload::Half(&self.halves),
        };
        out.to_worker(to, &FromServer::Parameters { grant, values });
    }

    fn tick(&self, now: Instant) -> Tick {
        Tick::after(now.saturating_duration_since(self.began))
    }
}

/// What is said of an update that stays where it arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldPush {
    clock: u64,
    is_last: bool,
    then_read: bool,
}

impl HeldPush {
    /// None if the message is no update, or one that has to be decoded.
    pub(super) fn of(message: &ToServer<'_>) -> Option<Self> {
        match *message {
            ToServer::Push {
                clock,
                values: Payload::Dense(_),
                is_last,
                then_read,
            } => Some(Self {
                clock,
                is_last,
                then_read,
            }),
            _ => None,
        }
    }
}

/// Words for the user about a connection.
pub(super) fn notify(words: &str, out: &mut dyn Outbox) {
    out.to_controller(&ToController::Notice {
        subject: Subject::Connection,
        words,
    });
}

/// A worker as the rules know it.
pub(super) fn sender(peer: Member) -> Sender {
    debug_assert_eq!(peer.role, Role::Worker);
    Sender {
        worker: WorkerId(peer.rank),
        incarnation: Incarnation(peer.incarnation),
    }
}
