//! A worker that sums with others, as a simulated process: what it is told, what it
//! computes and the steps it takes are the real ones; how it reaches the others is
//! the world's.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use paceline_nets::Tally;
use paceline_wire::{Address, Header, Kind, Member, Payload};

use super::super::network::Packet;
use super::super::world::{MILLIS, Time};
use super::ring::{Ring, Turn};
use crate::cluster::allreduce::inbox::{End, Inbox};
use crate::cluster::allreduce::replica::{Computed, Replica, StepResult};
use crate::cluster::allreduce::status::SharedStatus;
use crate::cluster::protocol::{Activity, FromController, JoinRequest, Roster, ToController};
use crate::cluster::session::ClusterSession;
use crate::cluster::snapshot::{Assembler, Snapshot};
use crate::cluster::totals::WorkerTotals;

/// A connection, by its number.
pub(super) type ConnectionId = usize;

/// How long a worker tries to connect to the others before it asks anew.
const FORMS_WITHIN: Time = 30_000 * MILLIS;

/// What a process wants done.
pub(super) enum Wish {
    /// It wants to reach the trainer, some time from now.
    Call(Time),
    /// It wants to reach whoever listens at an address, as a member of a group.
    Dial(usize, Address, u32),
    /// It looks again, some time from now, who of its group is there.
    Look(Time),
    Send(ConnectionId, Packet),
    Close(ConnectionId),
    /// It computes for some time.
    Compute,
    Exit,
}

/// What a worker does.
enum Phase {
    Calling,
    Joining,
    Forming(Roster, Time),
    /// All give the source's state to all, buffer by buffer.
    Settling(Roster, Snapshot, usize, Ring),
    Computing,
    Summing(Computed, Ring),
    /// It waits until the trainer has looked at the snapshot before, to show
    /// another; it ends the steps or not.
    Showing(u64, Snapshot, bool),
    Done,
}

/// A peer of the group.
#[derive(Default)]
struct Peer {
    connection: Option<ConnectionId>,
    is_lost: bool,
    inbox: VecDeque<Packet>,
}

/// A worker's process.
pub(super) struct GroupProcess<'a> {
    session: &'a ClusterSession,
    pub(super) member: Member,
    replica: Replica<'a>,
    trainer: Option<ConnectionId>,
    inbox: Inbox,
    arriving: Assembler,
    status: SharedStatus,
    group: u32,
    shown: Option<u64>,
    peers: Vec<Peer>,
    /// Who came and is not yet in a group.
    came: Vec<(ConnectionId, usize, u32)>,
    operation: u64,
    phase: Phase,
}

impl<'a> GroupProcess<'a> {
    pub(super) fn new(session: &'a ClusterSession, member: Member) -> Self {
        let mut process = Self {
            replica: Replica::new(session, member.rank),
            session,
            member,
            trainer: None,
            inbox: Inbox::default(),
            arriving: Assembler::whole(session.settings.optimizer, session.layout().len()),
            status: SharedStatus::default(),
            group: 0,
            shown: None,
            peers: Vec::new(),
            came: Vec::new(),
            operation: 0,
            phase: Phase::Calling,
        };
        process.peers.resize_with(process.size(), Peer::default);
        process
    }

    fn size(&self) -> usize {
        self.session.cluster.workers.get() as usize
    }

    fn rank(&self) -> usize {
        self.member.rank as usize
    }

    /// Where a worker listens.
    pub(super) fn address(member: Member) -> Address {
        Address::Unix(format!("/w/worker{}.{}", member.rank, member.incarnation).into())
    }

    pub(super) fn reached_trainer(&mut self, connection: ConnectionId, wishes: &mut Vec<Wish>) {
        self.trainer = Some(connection);
        self.ask(wishes);
    }

    pub(super) fn beat(&self, wishes: &mut Vec<Wish>) {
        let activity = self.status.activity();
        self.say(&ToController::Working { activity }, wishes);
    }

    /// Takes a frame; an error is a breach, or another training.
    pub(super) fn took(
        &mut self,
        connection: ConnectionId,
        packet: Packet,
        now: Time,
        wishes: &mut Vec<Wish>,
    ) -> Result<(), String> {
        if self.trainer == Some(connection) {
            let (header, payload) = packet.parts();
            let heard =
                FromController::from_parts(header, payload).map_err(|error| error.to_string());
            let taken = heard.and_then(|message| {
                self.inbox
                    .take(message, &mut self.arriving, &self.status)
                    .map_err(|error| error.to_string())
            });
            if let Err(error) = taken {
                // What is no message ends the connection, which is made anew.
                wishes.push(Wish::Close(connection));
                self.inbox.end_with(End::TrainerLost);
                self.react(now, wishes)?;
                return Err(error);
            }
            return self.react(now, wishes);
        }
        let peer = self.peers.iter_mut();
        if let Some(peer) = { peer }.find(|peer| peer.connection == Some(connection)) {
            peer.inbox.push_back(packet);
            self.advance(now, wishes);
        }
        Ok(())
    }

    pub(super) fn closed(
        &mut self,
        connection: ConnectionId,
        now: Time,
        wishes: &mut Vec<Wish>,
    ) -> Result<(), String> {
        self.came.retain(|(own, ..)| *own != connection);
        if self.trainer == Some(connection) {
            self.inbox.end_with(End::TrainerLost);
            return self.react(now, wishes);
        }
        let peer = self.peers.iter_mut();
        if let Some(peer) = { peer }.find(|peer| peer.connection == Some(connection)) {
            peer.is_lost = true;
            self.advance(now, wishes);
        }
        Ok(())
    }

    /// A member of a group has come.
    pub(super) fn peer_came(
        &mut self,
        connection: ConnectionId,
        rank: usize,
        group: u32,
        now: Time,
        wishes: &mut Vec<Wish>,
    ) {
        self.came.push((connection, rank, group));
        self.form(now, wishes);
    }

    /// This worker has reached a member of its group.
    pub(super) fn reached_peer(&mut self, rank: usize, connection: ConnectionId) {
        self.peers[rank] = Peer {
            connection: Some(connection),
            ..Peer::default()
        };
    }

    /// Whether it still wants to reach a member of a group.
    pub(super) fn wants(&self, rank: usize, group: u32) -> bool {
        let forms = matches!(&self.phase, Phase::Forming(roster, _) if roster.generation == group);
        forms && self.peers[rank].connection.is_none()
    }

    /// It looks who of its group is there.
    pub(super) fn look(&mut self, now: Time, wishes: &mut Vec<Wish>) {
        self.form(now, wishes);
    }

    /// The time that it computes has passed.
    pub(super) fn computed(&mut self, now: Time, wishes: &mut Vec<Wish>) {
        if !matches!(self.phase, Phase::Computing) {
            return;
        }
        if self.inbox.stands(self.group).is_err() {
            return self.leave(wishes);
        }
        let computed = self.replica.compute(None, &self.status);
        let values = self.replica.sums().to_vec();
        let ring = self.ring(values);
        self.phase = Phase::Summing(computed, ring);
        self.advance(now, wishes);
    }

    fn ring(&mut self, values: Vec<f32>) -> Ring {
        self.operation += 1;
        Ring::new(self.rank(), self.size(), values)
    }

    /// Does what the trainer's words lead to.
    fn react(&mut self, now: Time, wishes: &mut Vec<Wish>) -> Result<(), String> {
        match self.inbox.end() {
            None => {}
            Some(End::Over) => {
                wishes.push(Wish::Exit);
                return Ok(());
            }
            Some(End::OtherTraining(difference)) => return Err(difference),
            Some(End::TrainerLost) => {
                self.part(wishes);
                self.replica = Replica::new(self.session, self.member.rank);
                (self.group, self.trainer) = (0, None);
                (self.inbox, self.status) = (Inbox::default(), SharedStatus::default());
                self.arriving.clear();
                self.phase = Phase::Calling;
                wishes.push(Wish::Call(50 * MILLIS));
                return Ok(());
            }
        }
        let is_off = self.inbox.stands(self.group).is_err();
        match &self.phase {
            Phase::Joining => {
                if let Some(Ok(roster)) = self.inbox.next_roster(self.group) {
                    self.take_part(roster, now, wishes);
                }
            }
            // Who computes notices when it has something to sum.
            Phase::Calling | Phase::Computing => {}
            _ if is_off => self.leave(wishes),
            Phase::Showing(before, ..) if self.inbox.has_looked(*before) => {
                let phase = std::mem::replace(&mut self.phase, Phase::Done);
                if let Phase::Showing(_, snapshot, ends) = phase {
                    self.send_snapshot(&snapshot, wishes);
                    self.go_on(ends, wishes);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_part(&mut self, roster: Roster, now: Time, wishes: &mut Vec<Wish>) {
        self.group = roster.generation;
        self.shown = None;
        self.operation = 0;
        if let Some(state) = self.inbox.given() {
            self.replica.restore(&state);
        }
        self.replica.follow(roster.milestones);
        for below in 0..self.rank() {
            let address = roster.addresses[below].clone();
            wishes.push(Wish::Dial(below, address, roster.generation));
        }
        self.phase = Phase::Forming(roster, now + FORMS_WITHIN);
        self.form(now, wishes);
    }

    /// Seats whoever has come; begins once all are there.
    fn form(&mut self, now: Time, wishes: &mut Vec<Wish>) {
        let Phase::Forming(roster, until) = &self.phase else {
            return;
        };
        let (roster, until) = (roster.clone(), *until);
        for (connection, rank, group) in std::mem::take(&mut self.came) {
            let is_due = group == roster.generation && rank > self.rank();
            if group < roster.generation {
                wishes.push(Wish::Close(connection));
            } else if is_due && self.peers[rank].connection.is_none() {
                self.reached_peer(rank, connection);
            } else {
                // A stranger: the group is of no use.
                wishes.push(Wish::Close(connection));
                return self.leave(wishes);
            }
        }
        let own = self.rank();
        let mut peers = (0..).zip(&self.peers).filter(|(rank, _)| *rank != own);
        if peers.all(|(_, peer)| peer.connection.is_some()) {
            let mut state = self.replica.contribution_to(&roster);
            let values = Arc::make_mut(&mut state.parameters).to_vec();
            let ring = self.ring(values);
            self.phase = Phase::Settling(roster, state, 0, ring);
            self.advance(now, wishes);
        } else if now >= until {
            self.leave(wishes);
        } else {
            for below in 0..own {
                if self.peers[below].connection.is_none() {
                    let address = roster.addresses[below].clone();
                    wishes.push(Wish::Dial(below, address, roster.generation));
                }
            }
            wishes.push(Wish::Look(20 * MILLIS));
        }
    }

    /// Sends and receives what a sum needs, as far as it goes.
    fn advance(&mut self, now: Time, wishes: &mut Vec<Wish>) {
        loop {
            let (rank, size, operation) = (self.rank(), self.size(), self.operation);
            let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
            let ring = match &mut self.phase {
                Phase::Settling(.., ring) | Phase::Summing(_, ring) => ring,
                _ => return,
            };
            let turn = ring.turn();
            let is_broken = match turn {
                Turn::Send(number) => match self.peers[next].connection {
                    Some(connection) if !self.peers[next].is_lost => {
                        let header = Header::new(Kind::REDUCE).with_fields([
                            operation,
                            number as u64,
                            rank as u64,
                        ]);
                        let values = Payload::Dense(ring.sent());
                        wishes.push(Wish::Send(connection, Packet::new((header, values))));
                        false
                    }
                    _ => true,
                },
                Turn::Receive(number) => match self.peers[before].inbox.pop_front() {
                    None if self.peers[before].is_lost => true,
                    None => return,
                    Some(packet) => {
                        let (header, payload) = packet.parts();
                        let is_due = header.kind == Kind::REDUCE
                            && header.fields[..2] == [operation, number as u64];
                        match payload {
                            Payload::Dense(values) if is_due => !ring.received(values),
                            _ => true,
                        }
                    }
                },
                Turn::Done => false,
            };
            if is_broken {
                return self.leave(wishes);
            }
            if turn == Turn::Done {
                self.summed(now, wishes);
            }
        }
    }

    /// A sum is complete.
    fn summed(&mut self, now: Time, wishes: &mut Vec<Wish>) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Settling(roster, mut state, number, ring) => {
                let sums = ring.into_values();
                match number {
                    0 => Arc::make_mut(&mut state.parameters).copy_from_slice(&sums),
                    _ => state.optimizer.moments[number - 1].copy_from_slice(&sums),
                }
                if let Some(values) = state.optimizer.moments.get(number) {
                    let ring = self.ring(values.to_vec());
                    self.phase = Phase::Settling(roster, state, number + 1, ring);
                    return;
                }
                self.replica.settle_on(&state);
                // What the former first worker did not come to show.
                let overdue = self.replica.due_since(roster.taken);
                if overdue.is_any() {
                    let snapshot = self.replica.snapshot(overdue);
                    self.show(snapshot, overdue.end, wishes);
                } else {
                    self.go_on(false, wishes);
                }
            }
            Phase::Summing(computed, ring) => {
                self.replica.sums().copy_from_slice(&ring.into_values());
                match self.replica.take(computed, true) {
                    StepResult::Taken(step) if step.due.is_any() => {
                        let snapshot = self.replica.snapshot(step.due);
                        self.show(snapshot, step.due.end, wishes);
                    }
                    StepResult::Taken(_) => self.go_on(false, wishes),
                    StepResult::Stopped => {
                        let snapshot = self.replica.last_snapshot();
                        self.show(snapshot, true, wishes);
                    }
                    StepResult::Diverged => {
                        self.say(&ToController::Diverged, wishes);
                        self.phase = Phase::Done;
                    }
                }
                self.report(wishes);
            }
            other => self.phase = other,
        }
        let _ = now;
    }

    /// The first worker shows the trainer a snapshot, once the one before was
    /// looked at.
    fn show(&mut self, snapshot: Snapshot, ends: bool, wishes: &mut Vec<Wish>) {
        if self.rank() != 0 {
            return self.go_on(ends, wishes);
        }
        match self.shown.replace(self.replica.step()) {
            Some(before) if !self.inbox.has_looked(before) => {
                self.phase = Phase::Showing(before, snapshot, ends);
            }
            _ => {
                self.send_snapshot(&snapshot, wishes);
                self.go_on(ends, wishes);
            }
        }
    }

    fn send_snapshot(&self, snapshot: &Snapshot, wishes: &mut Vec<Wish>) {
        let _ = snapshot.view().send(|part| {
            self.say(&ToController::Snapshot(part), wishes);
            Ok::<(), ()>(())
        });
    }

    fn go_on(&mut self, ends: bool, wishes: &mut Vec<Wish>) {
        if ends {
            self.phase = Phase::Done;
            // Somebody may have called the group off meanwhile.
            if self.inbox.stands(self.group).is_err() {
                self.leave(wishes);
            }
            return;
        }
        self.phase = Phase::Computing;
        wishes.push(Wish::Compute);
    }

    fn report(&self, wishes: &mut Vec<Wish>) {
        let totals = [WorkerTotals::new(self.size())];
        let report = ToController::Progress {
            steps: self.replica.step(),
            tally: Tally::default(),
            totals: Cow::Borrowed(&totals),
            is_last: false,
        };
        self.say(&report, wishes);
    }

    /// Leaves the group, and asks for another.
    fn leave(&mut self, wishes: &mut Vec<Wish>) {
        self.part(wishes);
        self.ask(wishes);
    }

    fn part(&mut self, wishes: &mut Vec<Wish>) {
        for peer in &mut self.peers {
            if let Some(connection) = std::mem::take(peer).connection {
                wishes.push(Wish::Close(connection));
            }
        }
    }

    /// Says where this worker stands.
    fn ask(&mut self, wishes: &mut Vec<Wish>) {
        self.phase = Phase::Joining;
        self.status.does(Activity::Joining);
        let caption = self.replica.caption();
        let request = JoinRequest {
            step: caption.steps,
            optimizer_steps: caption.optimizer_steps,
            tally: caption.tally,
            address: Self::address(self.member),
            identity: self.session.identity().text(),
        };
        self.say(&ToController::JoinGroup(request), wishes);
    }

    fn say(&self, message: &ToController<'_>, wishes: &mut Vec<Wish>) {
        if let Some(trainer) = self.trainer {
            let mut room = Vec::new();
            wishes.push(Wish::Send(trainer, Packet::new(message.encode(&mut room))));
        }
    }
}
