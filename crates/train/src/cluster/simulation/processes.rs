//! What runs in a simulated process.

use std::sync::Arc;

use paceline_kernels::AlignedBuffer;
use paceline_sync::{Clock, Sender, WorkerClock};
use paceline_wire::{Member, Payload, Role};

use super::network::Packet;
use super::world::{MILLIS, Time};
use crate::cluster::protocol::{FromController, FromServer, ToController, ToServer, trailer};
use crate::cluster::server::{Opening, Outbox, Server, sender};
use crate::cluster::session::ClusterSession;
use crate::cluster::update::{Span, Update};
use crate::cluster::welcomes::{Welcomed, Welcomes};
use crate::cluster::worker_compute::WorkerCompute;

/// A connection, by its number.
pub(super) type ConnectionId = usize;

/// What a process wants done.
#[derive(Debug)]
pub(super) enum Wish {
    Send(ConnectionId, Packet),
    Close(ConnectionId),
    /// A worker wants to connect to its servers, some time from now.
    Connect(Time),
    /// A worker computes for so long.
    Compute(Time),
    Exit,
}

/// A server's process.
pub(super) struct ServerProcess<'a> {
    session: &'a ClusterSession,
    rank: u32,
    opening: Opening,
    server: Option<Server<'a>>,
    controller: Option<ConnectionId>,
    workers: Vec<(ConnectionId, Member)>,
    /// What workers said before the controller came.
    early: Vec<(ConnectionId, Member, Packet)>,
}

/// Collects what a server says.
struct Outgoing<'a> {
    controller: Option<ConnectionId>,
    workers: &'a [(ConnectionId, Member)],
    wishes: &'a mut Vec<Wish>,
}

impl Outbox for Outgoing<'_> {
    fn to_worker(&mut self, to: Sender, message: &FromServer<'_>) {
        for (connection, member) in self.workers {
            if sender(*member) == to {
                let packet = Packet::new(message.encode());
                self.wishes.push(Wish::Send(*connection, packet));
            }
        }
    }

    fn to_controller(&mut self, message: &ToController<'_>) {
        if let Some(connection) = self.controller {
            let mut room = Vec::new();
            let packet = Packet::new(message.encode(&mut room));
            self.wishes.push(Wish::Send(connection, packet));
        }
    }
}

/// What the world tells a process of its time.
pub(super) type Moment = std::time::Instant;

impl<'a> ServerProcess<'a> {
    pub(super) fn new(session: &'a ClusterSession, rank: u32) -> Self {
        Self {
            session,
            rank,
            opening: Opening::new(session, rank),
            server: None,
            controller: None,
            workers: Vec::new(),
            early: Vec::new(),
        }
    }

    pub(super) fn opened(
        &mut self,
        connection: ConnectionId,
        peer: Member,
        wishes: &mut Vec<Wish>,
    ) {
        match peer.role {
            Role::Controller if self.controller.is_some() => wishes.push(Wish::Close(connection)),
            Role::Controller => {
                self.controller = Some(connection);
                self.opening = Opening::new(self.session, self.rank);
            }
            _ => self.workers.push((connection, peer)),
        }
    }

    pub(super) fn took(
        &mut self,
        connection: ConnectionId,
        packet: &Packet,
        now: Moment,
        wishes: &mut Vec<Wish>,
    ) -> Result<(), String> {
        if self.controller == Some(connection) {
            return self.heard_controller(packet, now, wishes);
        }
        let worker = self.workers.iter().find(|(own, _)| *own == connection);
        let Some((_, peer)) = worker.copied() else {
            return Ok(());
        };
        if self.server.is_none() {
            self.early.push((connection, peer, packet.clone()));
            return Ok(());
        }
        self.heard_worker(connection, peer, packet, now, wishes)
    }

    fn heard_worker(
        &mut self,
        connection: ConnectionId,
        peer: Member,
        packet: &Packet,
        now: Moment,
        wishes: &mut Vec<Wish>,
    ) -> Result<(), String> {
        let Some(server) = &mut self.server else {
            return Ok(());
        };
        let (header, payload) = packet.parts();
        let message = ToServer::from_parts(header, payload).map_err(|error| error.to_string())?;
        let mut out = Outgoing {
            controller: self.controller,
            workers: &self.workers,
            wishes,
        };
        match server.on_worker(peer, message, now, &mut out) {
            Ok(()) => {}
            Err(dismissal) => {
                if let crate::cluster::server::Dismissal::Breach(error) = dismissal {
                    return Err(format!("server {}: {error}", self.rank));
                }
                wishes.push(Wish::Close(connection));
                self.closed(connection, now, wishes);
            }
        }
        Ok(())
    }

    fn heard_controller(
        &mut self,
        packet: &Packet,
        now: Moment,
        wishes: &mut Vec<Wish>,
    ) -> Result<(), String> {
        let (header, payload) = packet.parts();
        let message =
            FromController::from_parts(header, payload).map_err(|error| error.to_string())?;
        if let Some(server) = &mut self.server {
            let mut out = Outgoing {
                controller: self.controller,
                workers: &self.workers,
                wishes,
            };
            return server
                .on_controller(&message, now, &mut out)
                .map_err(|error| error.to_string());
        }
        let begun = self
            .opening
            .take(message)
            .map_err(|error| format!("{error:?}"))?;
        if let Some(beginning) = begun {
            let span = self.opening.span().clone();
            self.server = Some(Server::new(self.session, self.rank, span, beginning, now));
            for (connection, peer, packet) in std::mem::take(&mut self.early) {
                if self.workers.iter().any(|(open, _)| *open == connection) {
                    self.heard_worker(connection, peer, &packet, now, wishes)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn closed(&mut self, connection: ConnectionId, now: Moment, wishes: &mut Vec<Wish>) {
        if self.controller == Some(connection) {
            // It begins anew when a controller comes, and so do its workers.
            self.controller = None;
            self.server = None;
            self.early.clear();
            for (worker, _) in self.workers.drain(..) {
                wishes.push(Wish::Close(worker));
            }
            return;
        }
        let place = self.workers.iter().position(|(own, _)| *own == connection);
        let Some(place) = place else {
            return;
        };
        let (_, peer) = self.workers.remove(place);
        if let Some(server) = &mut self.server {
            let mut out = Outgoing {
                controller: self.controller,
                workers: &self.workers,
                wishes,
            };
            server.on_disconnect(peer, now, &mut out);
        }
    }

    pub(super) fn tick(&mut self, now: Moment, wishes: &mut Vec<Wish>) {
        if let Some(server) = &mut self.server {
            let mut out = Outgoing {
                controller: self.controller,
                workers: &self.workers,
                wishes,
            };
            server.on_tick(now, &mut out);
        }
    }
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Joining,
    Reading,
    Computing(u64),
    /// It waits for its servers to begin anew.
    Waiting,
}

/// A worker's process.
pub(super) struct WorkerProcess<'a> {
    session: &'a ClusterSession,
    member: Member,
    compute: WorkerCompute,
    spans: Vec<Span>,
    connections: Vec<Option<ConnectionId>>,
    welcomes: Welcomes,
    clock: WorkerClock,
    /// By server: whether its parameters for the next iteration are here.
    has_read: Vec<bool>,
    parameters: AlignedBuffer,
    update: Update,
    phase: Phase,
    /// A connection broke while it computed.
    is_cut: bool,
    /// The largest staleness that an iteration has started with.
    pub(super) staleness: u64,
}

impl<'a> WorkerProcess<'a> {
    pub(super) fn new(session: &'a ClusterSession, member: Member, servers: usize) -> Self {
        let layout = session.model.layout();
        let (welcomes, clock) = Self::fresh(session, servers);
        Self {
            compute: WorkerCompute::new(
                member.rank,
                Arc::clone(&session.model),
                session.data.train.clone(),
                session.settings.clone(),
                &session.cluster,
            ),
            spans: Span::cut(layout, servers),
            connections: vec![None; servers],
            welcomes,
            clock,
            has_read: vec![false; servers],
            parameters: AlignedBuffer::zeroed(layout.len()),
            update: Update::none(layout),
            phase: Phase::Connecting,
            is_cut: false,
            staleness: 0,
            member,
            session,
        }
    }

    fn fresh(session: &ClusterSession, servers: usize) -> (Welcomes, WorkerClock) {
        let consistency = session.cluster.consistency();
        let count = std::num::NonZeroUsize::new(servers).expect("there are servers");
        (
            Welcomes::new(consistency, servers),
            WorkerClock::new(consistency, count),
        )
    }

    /// The worker in its present incarnation.
    pub(super) fn member(&self) -> Member {
        self.member
    }

    /// The servers that are not connected yet.
    pub(super) fn unconnected(&self) -> Vec<usize> {
        let servers = 0..self.connections.len();
        servers
            .filter(|server| self.connections[*server].is_none())
            .collect()
    }

    pub(super) fn connected(
        &mut self,
        server: usize,
        connection: ConnectionId,
        wishes: &mut Vec<Wish>,
    ) {
        self.connections[server] = Some(connection);
        if self.phase == Phase::Connecting && self.connections.iter().all(Option::is_some) {
            self.phase = Phase::Joining;
            let identity = self.session.identity().text();
            for server in 0..self.connections.len() {
                let identity = &identity;
                self.say(server, &ToServer::Join { identity }, wishes);
            }
        }
    }

    pub(super) fn beat(&self, wishes: &mut Vec<Wish>) {
        for server in 0..self.connections.len() {
            self.say(server, &ToServer::Heartbeat, wishes);
        }
    }

    pub(super) fn closed(&mut self, connection: ConnectionId, wishes: &mut Vec<Wish>) {
        if !self.connections.contains(&Some(connection)) {
            return;
        }
        // Who computes notices when it has something to send.
        match self.phase {
            Phase::Computing(_) => self.is_cut = true,
            _ => self.part(0, wishes),
        }
    }

    pub(super) fn took(
        &mut self,
        connection: ConnectionId,
        packet: &Packet,
        chance: u64,
        wishes: &mut Vec<Wish>,
    ) -> Result<(), String> {
        let server = self
            .connections
            .iter()
            .position(|own| *own == Some(connection));
        let Some(server) = server else {
            return Ok(());
        };
        let (header, payload) = packet.parts();
        let message = FromServer::from_parts(header, payload).map_err(|error| error.to_string())?;
        match message {
            FromServer::Welcome { clock, generation } => {
                if self.phase != Phase::Joining {
                    return Ok(());
                }
                self.clock.welcome(server, Clock(clock));
                match self.welcomes.take(server, generation, clock) {
                    Welcomed::NotByAll => {}
                    Welcomed::ByDifferentGenerations => self.part(0, wishes),
                    Welcomed::ByDifferentShards => {
                        self.phase = Phase::Waiting;
                        self.say(0, &ToServer::ShardsDiffer, wishes);
                    }
                    Welcomed::ByAll => {
                        self.phase = Phase::Reading;
                        self.ask(wishes);
                    }
                }
            }
            FromServer::Parameters { grant, values } => {
                let (clock, version) = (Clock(grant.clock), Clock(grant.version));
                let Payload::Dense(values) = values else {
                    return Err("parameters in half precision".to_owned());
                };
                if self.phase != Phase::Reading || !self.clock.proceed(server, clock, version) {
                    return Ok(());
                }
                let range = self.spans[server].flat();
                if values.len() != range.len() {
                    return Err("parameters of another size".to_owned());
                }
                self.parameters[range].copy_from_slice(values);
                self.has_read[server] = true;
                if !self.has_read.iter().all(|is_here| *is_here) {
                    return Ok(());
                }
                self.has_read.fill(false);
                let Some(start) = self.clock.start() else {
                    self.ask(wishes);
                    return Ok(());
                };
                self.staleness = self.staleness.max(start.staleness);
                self.phase = Phase::Computing(start.clock.0);
                wishes.push(Wish::Compute(MILLIS + chance % (10 * MILLIS)));
            }
            FromServer::Refused { join_with, .. } => self.part(join_with, wishes),
            FromServer::OtherTraining { difference } => return Err(difference.to_owned()),
            FromServer::Heartbeat => {}
            FromServer::End { .. } => wishes.push(Wish::Exit),
        }
        Ok(())
    }

    /// The time that it computes has passed.
    pub(super) fn computed(&mut self, wishes: &mut Vec<Wish>) {
        let Phase::Computing(clock) = self.phase else {
            return;
        };
        if self.is_cut {
            return self.part(0, wishes);
        }
        let found = self
            .compute
            .compute(clock, &self.parameters, &mut self.update);
        let mut due = None;
        for _ in 0..self.session.cluster.consistency().iterations_per_update() {
            due = self.clock.finish();
        }
        let clock = due.expect("an update is due after its iterations").0;
        let trailer = trailer(found);
        self.phase = Phase::Reading;
        for (server, span) in self.spans.iter().enumerate() {
            let part = self.update.within(span);
            let push = ToServer::Push {
                clock,
                values: Payload::Joined(part.dense, &trailer),
                is_last: true,
                then_read: true,
            };
            self.say(server, &push, wishes);
        }
    }

    fn ask(&self, wishes: &mut Vec<Wish>) {
        let clock = self.clock.read_clock().0;
        for server in 0..self.connections.len() {
            if self.clock.must_read(server) {
                self.say(server, &ToServer::Read { clock }, wishes);
            }
        }
    }

    /// Leaves all servers, to come again in the next incarnation.
    fn part(&mut self, least: u32, wishes: &mut Vec<Wish>) {
        for connection in self.connections.iter_mut().filter_map(Option::take) {
            wishes.push(Wish::Close(connection));
        }
        self.member.incarnation = least.max(self.member.incarnation + 1);
        (self.welcomes, self.clock) = Self::fresh(self.session, self.connections.len());
        self.has_read.fill(false);
        self.is_cut = false;
        self.phase = Phase::Connecting;
        wishes.push(Wish::Connect(5 * MILLIS));
    }

    fn say(&self, server: usize, message: &ToServer<'_>, wishes: &mut Vec<Wish>) {
        if let Some(connection) = self.connections[server] {
            let mut room = Vec::new();
            wishes.push(Wish::Send(
                connection,
                Packet::new(message.encode(&mut room)),
            ));
        }
    }
}
