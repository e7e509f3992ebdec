//! A host with a trainer and workers that sum among themselves, its network and its
//! clock, as a seed has them.
//!
//! More than 600 lines: one world whose parts share its queue of events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use paceline_wire::Member;

use super::super::host::SimulatedLauncher;
use super::super::network::{Chance, Packet};
use super::super::world::{AT_MOST, MILLIS, Pid, SECONDS, Time};
use super::worker::{ConnectionId, GroupProcess, Wish};
use super::{Fault, Story};
use crate::cluster::allreduce::group_controller::{GroupController, Heard, WorkerLinks};
use crate::cluster::evaluator::Evaluator;
use crate::cluster::launcher::Ended;
use crate::cluster::protocol::{FromController, ToController};
use crate::cluster::session::ClusterSession;
use crate::cluster::snapshot::Snapshot;
use crate::session::{Ending, TrainError};

/// How often the trainer looks after its workers.
const TRAINER_TICKS: Time = 20 * MILLIS;

/// Who is at an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Party {
    Trainer,
    Process(Pid),
}

struct Connection {
    /// Who connected, who listened.
    ends: [Party; 2],
    /// The group that it is for; none if it leads to the trainer.
    group: Option<u32>,
    is_open: bool,
    /// When the last frame arrives at each end: frames of one connection stay in
    /// their order.
    arrives: [Time; 2],
}

struct Process<'a> {
    member: Member,
    program: Option<GroupProcess<'a>>,
    is_stopped: bool,
    missed: VecDeque<Event>,
}

#[derive(Clone, Debug)]
enum Event {
    Boot(Pid),
    Beat(Pid),
    Call(Pid),
    Look(Pid),
    Computed(Pid, u64),
    Opened(ConnectionId),
    Frame(ConnectionId, usize, Packet),
    Closed(ConnectionId, usize),
    Tick,
    Fault(Fault),
    Resume(Member),
}

/// What the trainer wants of its connections.
enum LinkWish {
    Send(usize, Packet),
    Disconnect(ConnectionId),
}

/// The trainer's connections, by worker.
struct Links {
    open: Vec<Option<ConnectionId>>,
    wishes: Vec<LinkWish>,
}

impl WorkerLinks for Links {
    fn is_connected(&self, worker: usize) -> bool {
        self.open[worker].is_some()
    }

    fn say(&mut self, worker: usize, message: &FromController<'_>) -> bool {
        let mut room = Vec::new();
        let packet = Packet::new(message.encode(&mut room));
        self.wishes.push(LinkWish::Send(worker, packet));
        self.is_connected(worker)
    }

    fn give(&mut self, worker: usize, state: &Snapshot) -> bool {
        let sent = state.view().send(|part| {
            let is_said = self.say(worker, &FromController::Snapshot(part));
            is_said.then_some(()).ok_or(())
        });
        sent.is_ok()
    }

    fn disconnect(&mut self, worker: usize) {
        if let Some(connection) = self.open[worker].take() {
            self.wishes.push(LinkWish::Disconnect(connection));
        }
    }
}

/// The world of one seed.
pub(super) struct GroupWorld<'a> {
    session: &'a ClusterSession,
    launcher: SimulatedLauncher,
    chance: Chance,
    base: Instant,
    now: Time,
    serial: u64,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, (Time, Event)>,
    processes: Vec<Process<'a>>,
    /// The process that is a worker now.
    current: BTreeMap<u32, Pid>,
    connections: Vec<Connection>,
    links: Links,
    computing: BTreeMap<Pid, u64>,
    /// Until when no frame passes between two workers, or one and the trainer.
    cuts: Vec<(u32, Option<u32>, Time)>,
    garbled: Option<u64>,
    pub(super) trace: Vec<String>,
}

impl<'a> GroupWorld<'a> {
    pub(super) fn new(
        session: &'a ClusterSession,
        story: &Story,
        launcher: SimulatedLauncher,
        base: Instant,
    ) -> Self {
        let mut world = Self {
            session,
            launcher,
            chance: Chance::of(story.seed ^ 0x7272),
            base,
            now: 0,
            serial: 0,
            agenda: BinaryHeap::new(),
            events: BTreeMap::new(),
            processes: Vec::new(),
            current: BTreeMap::new(),
            connections: Vec::new(),
            links: Links {
                open: vec![None; story.workers as usize],
                wishes: Vec::new(),
            },
            computing: BTreeMap::new(),
            cuts: Vec::new(),
            garbled: story.garbled,
            trace: Vec::new(),
        };
        for (at, fault) in &story.faults {
            world.after(*at, Event::Fault(*fault));
        }
        world.after(TRAINER_TICKS, Event::Tick);
        world
    }

    /// Trains; says how it ended.
    pub(super) fn run(
        &mut self,
        controller: &mut GroupController<'a>,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Ending, String> {
        let failed = |error: TrainError| error.to_string();
        controller.start(self.moment()).map_err(failed)?;
        self.settle();
        while let Some(Reverse((time, serial))) = self.agenda.pop() {
            self.now = time;
            if time > AT_MOST {
                return Err("it hangs".to_owned());
            }
            // The words of somebody who has ended are heard before their time.
            let Some((_, event)) = self.events.remove(&serial) else {
                continue;
            };
            let found = self.happen(event, controller, evaluator)?;
            self.settle();
            if let Some(ending) = found {
                return Ok(ending);
            }
        }
        Err("nothing happens any more".to_owned())
    }

    fn moment(&self) -> Instant {
        self.base + Duration::from_micros(self.now)
    }

    fn after(&mut self, time: Time, event: Event) {
        self.at(self.now + time, event);
    }

    fn at(&mut self, time: Time, event: Event) {
        self.serial += 1;
        self.agenda.push(Reverse((time, self.serial)));
        self.events.insert(self.serial, (time, event));
    }

    fn note(&mut self, words: String) {
        let seconds = self.now as f64 / SECONDS as f64;
        self.trace.push(format!("{seconds:>9.4} {words}"));
    }

    /// Whose event it is, if it is a process's.
    fn owner(&self, event: &Event) -> Option<Pid> {
        let end = |connection: &ConnectionId, end: usize| {
            let ends = self.connections[*connection].ends;
            match ends[end] {
                Party::Process(pid) => Some(pid),
                Party::Trainer => None,
            }
        };
        match event {
            Event::Boot(pid)
            | Event::Beat(pid)
            | Event::Call(pid)
            | Event::Look(pid)
            | Event::Computed(pid, _) => Some(*pid),
            Event::Opened(connection) => end(connection, 1),
            Event::Frame(connection, at, _) | Event::Closed(connection, at) => end(connection, *at),
            Event::Tick | Event::Fault(_) | Event::Resume(_) => None,
        }
    }

    fn happen(
        &mut self,
        event: Event,
        controller: &mut GroupController<'a>,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, String> {
        if let Some(pid) = self.owner(&event) {
            if self.processes[pid].is_stopped {
                self.processes[pid].missed.push_back(event);
            } else {
                self.happen_to(pid, event)?;
            }
            return Ok(None);
        }
        let now = self.moment();
        let failed = |error: TrainError| error.to_string();
        match event {
            Event::Tick => {
                self.after(TRAINER_TICKS, Event::Tick);
                for ended in controller.take_ended() {
                    let worker = ended.member.rank as usize;
                    if let Some(ending) = self.hear_rest(worker, controller, evaluator)? {
                        return Ok(Some(ending));
                    }
                    controller
                        .on_ended(ended, now, &mut self.links, evaluator)
                        .map_err(failed)?;
                }
                return controller
                    .on_tick(false, now, &mut self.links, evaluator)
                    .map_err(failed);
            }
            Event::Opened(connection) => {
                let Party::Process(pid) = self.connections[connection].ends[0] else {
                    unreachable!("the trainer connects to nobody");
                };
                let member = self.processes[pid].member;
                let worker = member.rank as usize;
                if !controller.admits(member) {
                    self.close(connection, 1);
                } else if self.connections[connection].is_open {
                    let before = self.links.open[worker].replace(connection);
                    if let Some(before) = before {
                        self.close(before, 1);
                    }
                    controller.on_connected(worker, before.is_some(), now, &mut self.links);
                }
            }
            Event::Frame(connection, _, packet) => {
                return self.hear(connection, &packet, controller, evaluator);
            }
            Event::Closed(connection, _) => {
                if let Some(worker) = self.linked(connection) {
                    controller
                        .on_disconnected(
                            worker,
                            "its connection broke",
                            now,
                            &mut self.links,
                            evaluator,
                        )
                        .map_err(failed)?;
                }
            }
            Event::Fault(fault) => self.strike(fault),
            Event::Resume(member) => self.resume(member)?,
            _ => unreachable!("it is a process's"),
        }
        Ok(None)
    }

    /// The worker that has this connection to the trainer.
    fn linked(&self, connection: ConnectionId) -> Option<usize> {
        let mut open = self.links.open.iter();
        open.position(|own| *own == Some(connection))
    }

    /// The trainer takes a frame.
    fn hear(
        &mut self,
        connection: ConnectionId,
        packet: &Packet,
        controller: &mut GroupController<'a>,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, String> {
        let Some(worker) = self.linked(connection) else {
            return Ok(None);
        };
        let now = self.moment();
        let (header, payload) = packet.parts();
        let heard = match ToController::from_parts(header, payload) {
            Ok(message) => controller
                .on_message(worker, message, now, &mut self.links, evaluator)
                .map_err(|error| error.to_string())?,
            Err(error) => Heard::Breach(error),
        };
        match heard {
            Heard::Nothing => Ok(None),
            Heard::Ends(ending) => Ok(Some(ending)),
            Heard::Breach(error) if self.garbled.is_none() => Err(error.to_string()),
            Heard::Breach(_) => {
                let how = "it broke the protocol";
                controller
                    .on_disconnected(worker, how, now, &mut self.links, evaluator)
                    .map_err(|error| error.to_string())?;
                Ok(None)
            }
        }
    }

    /// What a process said before it ended lies in the trainer's socket.
    fn hear_rest(
        &mut self,
        worker: usize,
        controller: &mut GroupController<'a>,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, String> {
        let Some(connection) = self.links.open[worker] else {
            return Ok(None);
        };
        let mut rest: Vec<(Time, u64)> = self
            .events
            .iter()
            .filter(
                |(_, (_, event))| matches!(event, Event::Frame(own, 1, _) if *own == connection),
            )
            .map(|(serial, (time, _))| (*time, *serial))
            .collect();
        rest.sort_unstable();
        for (_, serial) in rest {
            if let Some((_, Event::Frame(_, _, packet))) = self.events.remove(&serial)
                && let Some(ending) = self.hear(connection, &packet, controller, evaluator)?
            {
                return Ok(Some(ending));
            }
        }
        Ok(None)
    }

    fn happen_to(&mut self, pid: Pid, event: Event) -> Result<(), String> {
        let member = self.processes[pid].member;
        if self.current.get(&member.rank) != Some(&pid) {
            return Ok(());
        }
        let mut wishes = Vec::new();
        if let Event::Boot(_) = event {
            self.note(format!("{member} is up"));
            self.processes[pid].program = Some(GroupProcess::new(self.session, member));
            self.after(MILLIS, Event::Beat(pid));
            self.grant(pid, vec![Wish::Call(0)]);
            return Ok(());
        }
        let (now, is_garbled) = (self.now, self.garbled.is_some());
        let computing = self.computing.get(&pid).copied();
        let came = match &event {
            Event::Opened(connection) => {
                let connection = &self.connections[*connection];
                match connection.ends[0] {
                    Party::Process(pid) => {
                        Some((self.processes[pid].member.rank, connection.group))
                    }
                    Party::Trainer => None,
                }
            }
            _ => None,
        };
        let Some(program) = &mut self.processes[pid].program else {
            return Ok(());
        };
        match event {
            Event::Beat(_) => {
                program.beat(&mut wishes);
                let every = self.session.cluster.failure_timeout / 4;
                self.after(every.as_micros() as Time, Event::Beat(pid));
            }
            Event::Call(_) => {
                let connection = self.open(pid, Party::Trainer, None);
                if let Some(program) = &mut self.processes[pid].program {
                    program.reached_trainer(connection, &mut wishes);
                }
            }
            Event::Look(_) => program.look(now, &mut wishes),
            Event::Computed(_, serial) if computing == Some(serial) => {
                program.computed(now, &mut wishes);
            }
            Event::Opened(connection) => {
                if let Some((rank, Some(group))) = came {
                    program.peer_came(connection, rank as usize, group, now, &mut wishes);
                }
            }
            Event::Frame(connection, _, packet) => {
                let taken = program.took(connection, packet, now, &mut wishes);
                if !is_garbled {
                    taken?;
                }
            }
            Event::Closed(connection, _) => {
                let taken = program.closed(connection, now, &mut wishes);
                if !is_garbled {
                    taken?;
                }
            }
            _ => {}
        }
        self.grant(pid, wishes);
        Ok(())
    }

    /// Does what a process wants.
    fn grant(&mut self, pid: Pid, wishes: Vec<Wish>) {
        for wish in wishes {
            match wish {
                Wish::Call(after) => self.after(after, Event::Call(pid)),
                Wish::Look(after) => self.after(after, Event::Look(pid)),
                Wish::Dial(rank, address, group) => {
                    let listener = self.current.values().copied().find(|pid| {
                        let process = &self.processes[*pid];
                        process.program.is_some()
                            && !process.is_stopped
                            && GroupProcess::address(process.member) == address
                    });
                    let wants = self.processes[pid].program.as_ref();
                    if !wants.is_some_and(|program| program.wants(rank, group)) {
                        continue;
                    }
                    if let Some(listener) = listener {
                        let connection = self.open(pid, Party::Process(listener), Some(group));
                        if let Some(program) = &mut self.processes[pid].program {
                            program.reached_peer(rank, connection);
                        }
                    }
                }
                Wish::Send(connection, mut packet) => {
                    let from = self.end_of(connection, Party::Process(pid));
                    self.garble(connection, from, &mut packet);
                    self.pass(connection, from, packet);
                }
                Wish::Close(connection) => {
                    let from = self.end_of(connection, Party::Process(pid));
                    self.close(connection, from);
                }
                Wish::Compute => {
                    let time = MILLIS + self.chance.below(10 * MILLIS);
                    self.serial += 1;
                    let serial = self.serial;
                    self.computing.insert(pid, serial);
                    self.after(time, Event::Computed(pid, serial));
                }
                Wish::Exit => self.end(pid, "exit status: 0"),
            }
        }
    }

    /// In a story with garbled frames, now and then makes another of one.
    fn garble(&mut self, connection: ConnectionId, from: usize, packet: &mut Packet) {
        if let Some(often) = self.garbled
            && self.chance.below(often) == 0
        {
            match self.chance.below(5) {
                0 => self.pass(connection, from, packet.clone()),
                _ => packet.garble(&mut self.chance),
            }
        }
    }

    fn end_of(&self, connection: ConnectionId, party: Party) -> usize {
        usize::from(self.connections[connection].ends[1] == party)
    }

    fn open(&mut self, from: Pid, to: Party, group: Option<u32>) -> ConnectionId {
        let arrives = self.now + self.chance.between(50, 3000);
        self.connections.push(Connection {
            ends: [Party::Process(from), to],
            group,
            is_open: true,
            arrives: [self.now, arrives],
        });
        let connection = self.connections.len() - 1;
        let arrives = arrives.max(self.healed_at(connection));
        self.connections[connection].arrives[1] = arrives;
        self.at(arrives, Event::Opened(connection));
        connection
    }

    /// When the next thing that is sent arrives: after what was sent before, and not
    /// while the way is cut.
    fn arrival(&mut self, connection: ConnectionId, to: usize) -> Time {
        let soon = self.now + self.chance.between(20, 2000);
        let arrives = soon
            .max(self.connections[connection].arrives[to] + 1)
            .max(self.healed_at(connection));
        self.connections[connection].arrives[to] = arrives;
        arrives
    }

    fn pass(&mut self, connection: ConnectionId, from: usize, packet: Packet) {
        if self.connections[connection].is_open {
            let to = 1 - from;
            let arrives = self.arrival(connection, to);
            self.at(arrives, Event::Frame(connection, to, packet));
        }
    }

    /// Closes a connection; the other end hears of it after what was sent.
    fn close(&mut self, connection: ConnectionId, from: usize) {
        if std::mem::take(&mut self.connections[connection].is_open) {
            let to = 1 - from;
            let arrives = self.arrival(connection, to);
            self.at(arrives, Event::Closed(connection, to));
        }
    }

    /// When frames pass a connection again.
    fn healed_at(&self, connection: ConnectionId) -> Time {
        let rank = |party: Party| match party {
            Party::Trainer => None,
            Party::Process(pid) => Some(self.processes[pid].member.rank),
        };
        let [one, other] = self.connections[connection].ends.map(rank);
        let cuts = self.cuts.iter().filter(|(worker, peer, until)| {
            let way = (Some(*worker), *peer);
            (way == (one, other) || way == (other, one)) && *until > self.now
        });
        cuts.map(|(_, _, until)| *until).max().unwrap_or(0)
    }

    /// Does what the trainer wants.
    fn settle(&mut self) {
        for wish in std::mem::take(&mut self.links.wishes) {
            match wish {
                LinkWish::Send(worker, mut packet) => {
                    if let Some(connection) = self.links.open[worker] {
                        self.garble(connection, 1, &mut packet);
                        self.pass(connection, 1, packet);
                    }
                }
                LinkWish::Disconnect(connection) => self.close(connection, 1),
            }
        }
        let (started, killed) = {
            let mut processes = self.launcher.0.borrow_mut();
            (
                std::mem::take(&mut processes.started),
                std::mem::take(&mut processes.killed),
            )
        };
        for member in killed {
            if let Some(pid) = self.pid_of(member) {
                self.end(pid, "signal: 9");
            }
        }
        for member in started {
            let pid = self.processes.len();
            self.processes.push(Process {
                member,
                program: None,
                is_stopped: false,
                missed: VecDeque::new(),
            });
            self.current.insert(member.rank, pid);
            let soon = self.chance.between(1, 60) * MILLIS;
            self.after(soon, Event::Boot(pid));
            self.note(format!("{member} is started"));
        }
    }

    fn pid_of(&self, member: Member) -> Option<Pid> {
        let pid = *self.current.get(&member.rank)?;
        (self.processes[pid].member == member).then_some(pid)
    }

    /// A process ends: its connections break.
    fn end(&mut self, pid: Pid, how: &str) {
        let member = self.processes[pid].member;
        if self.current.get(&member.rank) != Some(&pid) {
            return;
        }
        self.note(format!("{member} ends: {how}"));
        self.current.remove(&member.rank);
        self.processes[pid].program = None;
        self.processes[pid].missed.clear();
        self.processes[pid].is_stopped = false;
        for connection in 0..self.connections.len() {
            for end in 0..2 {
                if self.connections[connection].ends[end] == Party::Process(pid) {
                    self.close(connection, end);
                }
            }
        }
        let how = how.to_owned();
        let mut processes = self.launcher.0.borrow_mut();
        processes.stopped.remove(&member);
        processes.ended.push(Ended { member, how });
    }

    /// Something goes wrong.
    fn strike(&mut self, fault: Fault) {
        self.note(format!("{fault:?}"));
        match fault {
            Fault::Kill(worker) => {
                if let Some(pid) = self.current.get(&worker).copied() {
                    self.end(pid, "signal: 9");
                }
            }
            Fault::Stop(worker, time) => {
                if let Some(pid) = self.current.get(&worker).copied() {
                    let member = self.processes[pid].member;
                    self.processes[pid].is_stopped = true;
                    self.launcher.0.borrow_mut().stopped.insert(member);
                    self.after(time, Event::Resume(member));
                }
            }
            Fault::Cut(worker, peer, time) => {
                self.cuts.push((worker, peer, self.now + time));
            }
        }
    }

    /// A process that was stopped goes on with what it has missed.
    fn resume(&mut self, member: Member) -> Result<(), String> {
        self.launcher.0.borrow_mut().stopped.remove(&member);
        let Some(pid) = self.pid_of(member) else {
            return Ok(());
        };
        if std::mem::take(&mut self.processes[pid].is_stopped) {
            self.note(format!("{member} goes on"));
            for event in std::mem::take(&mut self.processes[pid].missed) {
                self.happen_to(pid, event)?;
            }
        }
        Ok(())
    }
}
