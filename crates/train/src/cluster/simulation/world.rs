//! A host, its network and its clock, as a seed has them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use paceline_wire::{Member, Role};

use super::host::{LinkWish, Links, SimulatedLauncher};
use super::network::{Chance, Packet};
use super::processes::{ConnectionId, ServerProcess, Wish, WorkerProcess};
use super::{Fault, Story};
use crate::cluster::controller::{Controller, Heard};
use crate::cluster::evaluator::Evaluator;
use crate::cluster::protocol::ToController;
use crate::cluster::session::ClusterSession;
use crate::session::{Ending, TrainError};

/// Microseconds since the beginning.
pub(super) type Time = u64;
pub(super) const MILLIS: Time = 1000;
pub(super) const SECONDS: Time = 1000 * MILLIS;

/// How often members are given the time.
const SERVER_TICKS: Time = 100 * MILLIS;
const CONTROLLER_TICKS: Time = 50 * MILLIS;

/// Nothing that ends takes so long.
pub(super) const AT_MOST: Time = 1200 * SECONDS;

/// A process, by the order of its start.
pub(super) type Pid = usize;

/// Who is at an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    Controller,
    Process(Pid),
}

pub(super) struct Connection {
    /// Who connected, who listened.
    pub(super) ends: [Party; 2],
    is_open: bool,
    /// When the last frame arrives at each end: frames of one connection stay in
    /// their order.
    arrives: [Time; 2],
}

pub(super) enum Program<'a> {
    Server(Box<ServerProcess<'a>>),
    Worker(Box<WorkerProcess<'a>>),
}

pub(super) struct Process<'a> {
    pub(super) member: Member,
    pub(super) program: Option<Program<'a>>,
    pub(super) is_stopped: bool,
    /// What happens to it while it is stopped.
    pub(super) missed: VecDeque<Event>,
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A process has started up.
    Boot(Pid),
    /// A connection was made; its listening end hears of it.
    Opened(ConnectionId, Member),
    Frame(ConnectionId, usize, Packet),
    Closed(ConnectionId, usize),
    Tick(Pid),
    Beat(Pid),
    Connect(Pid, u32),
    Computed(Pid, u64),
    ControllerTick,
    /// The controller tries to reach a server, for the so-manieth time.
    Dial(usize, u64),
    Reached(usize, ConnectionId, u64),
    Fault(Fault),
    Resume(Member),
}

/// The world of one seed.
pub(super) struct World<'a> {
    session: &'a ClusterSession,
    pub(super) launcher: SimulatedLauncher,
    pub(super) chance: Chance,
    base: Instant,
    pub(super) now: Time,
    serial: u64,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, Event>,
    pub(super) processes: Vec<Process<'a>>,
    /// The process that is a member now.
    pub(super) current: BTreeMap<(Role, u32), Pid>,
    pub(super) connections: Vec<Connection>,
    links: Links,
    /// By server: the controller's connection, or how it is being reached: by
    /// when, and which attempt that is.
    linked: Vec<Option<ConnectionId>>,
    dialing: Vec<Option<Time>>,
    attempt: u64,
    attempts: Vec<u64>,
    computing: BTreeMap<Pid, u64>,
    /// Until when no frame passes between a server and another member; the
    /// controller is worker none.
    pub(super) cuts: Vec<(usize, Option<u32>, Time)>,
    pub(super) trace: Vec<String>,
    pub(super) staleness: u64,
    pub(super) garbled: Option<u64>,
}

impl<'a> World<'a> {
    pub(super) fn new(
        session: &'a ClusterSession,
        story: &Story,
        launcher: SimulatedLauncher,
        base: Instant,
    ) -> Self {
        let servers = story.servers as usize;
        let mut world = Self {
            session,
            launcher,
            chance: Chance::of(story.seed ^ 0x5151),
            base,
            now: 0,
            serial: 0,
            agenda: BinaryHeap::new(),
            events: BTreeMap::new(),
            processes: Vec::new(),
            current: BTreeMap::new(),
            connections: Vec::new(),
            links: Links {
                is_open: vec![false; servers],
                wishes: Vec::new(),
            },
            linked: vec![None; servers],
            dialing: vec![None; servers],
            attempt: 0,
            attempts: vec![0; servers],
            computing: BTreeMap::new(),
            cuts: Vec::new(),
            trace: Vec::new(),
            staleness: 0,
            garbled: story.garbled,
        };
        for (at, fault) in &story.faults {
            world.after(*at, Event::Fault(*fault));
        }
        world.after(CONTROLLER_TICKS, Event::ControllerTick);
        world
    }

    /// Trains; says how it ended.
    pub(super) fn run(
        &mut self,
        controller: &mut Controller<'a>,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Ending, String> {
        let ended = controller.start(self.moment(), &mut self.links);
        ended.map_err(|error| error.to_string())?;
        self.settle();
        while let Some(Reverse((time, serial))) = self.agenda.pop() {
            self.now = time;
            if time > AT_MOST {
                return Err("it hangs".to_owned());
            }
            let event = self.events.remove(&serial).expect("what is due is there");
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

    pub(super) fn after(&mut self, time: Time, event: Event) {
        self.at(self.now + time, event);
    }

    fn at(&mut self, time: Time, event: Event) {
        self.serial += 1;
        self.agenda.push(Reverse((time, self.serial)));
        self.events.insert(self.serial, event);
    }

    pub(super) fn note(&mut self, words: String) {
        let seconds = self.now as f64 / SECONDS as f64;
        self.trace.push(format!("{seconds:>9.4} {words}"));
    }

    /// Whose event it is, if it is a process's.
    fn owner(&self, event: &Event) -> Option<Pid> {
        let end =
            |connection: &ConnectionId, end: usize| match self.connections[*connection].ends[end] {
                Party::Process(pid) => Some(pid),
                Party::Controller => None,
            };
        match event {
            Event::Boot(pid)
            | Event::Tick(pid)
            | Event::Beat(pid)
            | Event::Connect(pid, _)
            | Event::Computed(pid, _) => Some(*pid),
            Event::Opened(connection, _) => end(connection, 1),
            Event::Frame(connection, at, _) | Event::Closed(connection, at) => end(connection, *at),
            _ => None,
        }
    }

    fn happen(
        &mut self,
        event: Event,
        controller: &mut Controller<'a>,
        evaluator: &mut Evaluator<'_>,
    ) -> Result<Option<Ending>, String> {
        if let Some(pid) = self.owner(&event) {
            if self.processes[pid].is_stopped {
                self.processes[pid].missed.push_back(event);
                return Ok(None);
            }
            self.happen_to(pid, event)?;
            return Ok(None);
        }
        let now = self.moment();
        let failed = |error: TrainError| error.to_string();
        match event {
            Event::ControllerTick => {
                self.after(CONTROLLER_TICKS, Event::ControllerTick);
                return controller
                    .on_tick(false, now, &mut self.links, evaluator)
                    .map_err(failed);
            }
            Event::Frame(connection, _, packet) => {
                let server = self.linked.iter().position(|own| *own == Some(connection));
                let Some(server) = server else {
                    return Ok(None);
                };
                let (header, payload) = packet.parts();
                let message =
                    ToController::from_parts(header, payload).map_err(|error| error.to_string())?;
                let heard = controller
                    .on_message(server, message, now, &mut self.links, evaluator)
                    .map_err(failed)?;
                match heard {
                    Heard::Nothing => {}
                    Heard::Ends(ending) => return Ok(Some(ending)),
                    Heard::OtherTraining => return Err("another training".to_owned()),
                    Heard::Breach(error) => return Err(error.to_string()),
                }
            }
            Event::Closed(connection, _) => {
                let server = self.linked.iter().position(|own| *own == Some(connection));
                if let Some(server) = server {
                    self.linked[server] = None;
                    self.links.is_open[server] = false;
                    controller
                        .on_disconnected(server, now, &mut self.links, evaluator)
                        .map_err(failed)?;
                }
            }
            Event::Dial(server, attempt) => self.dial(server, attempt, controller, evaluator),
            Event::Reached(server, connection, attempt) => {
                let is_wanted = attempt == self.attempts[server] && self.dialing[server].is_some();
                if !is_wanted {
                    self.close(connection, 0);
                } else if !self.connections[connection].is_open {
                    // The server has another controller yet.
                    self.after(5 * MILLIS, Event::Dial(server, attempt));
                } else {
                    self.dialing[server] = None;
                    self.linked[server] = Some(connection);
                    self.links.is_open[server] = true;
                    controller
                        .on_connected(server, now, &mut self.links, evaluator)
                        .map_err(failed)?;
                }
            }
            Event::Fault(fault) => self.strike(fault),
            Event::Resume(member) => self.resume(member)?,
            _ => unreachable!("it is a process's"),
        }
        Ok(None)
    }

    pub(super) fn happen_to(&mut self, pid: Pid, event: Event) -> Result<(), String> {
        let now = self.moment();
        let chance = self.chance.next();
        let mut wishes = Vec::new();
        if let Event::Boot(_) = event {
            self.boot(pid, &mut wishes);
            self.grant(pid, wishes);
            return Ok(());
        }
        let ends = |connection: ConnectionId| self.connections[connection].is_open;
        let is_stale = match &event {
            Event::Frame(connection, ..) | Event::Opened(connection, _) => !ends(*connection),
            _ => false,
        };
        let computing = self.computing.get(&pid).copied();
        let Some(program) = &mut self.processes[pid].program else {
            return Ok(());
        };
        // What was on its way when a connection was closed is lost.
        if is_stale && matches!(event, Event::Opened(..)) {
            return Ok(());
        }
        match (program, event) {
            (Program::Server(server), Event::Opened(connection, peer)) => {
                server.opened(connection, peer, &mut wishes);
            }
            (Program::Server(server), Event::Frame(connection, _, packet)) => {
                let taken = server.took(connection, &packet, now, &mut wishes);
                if self.garbled.is_some() && taken.is_err() {
                    // As a server does with whoever breaches the protocol.
                    wishes.push(Wish::Close(connection));
                    server.closed(connection, now, &mut wishes);
                } else {
                    taken?;
                }
            }
            (Program::Server(server), Event::Closed(connection, _)) => {
                server.closed(connection, now, &mut wishes);
            }
            (Program::Server(server), Event::Tick(_)) => {
                server.tick(now, &mut wishes);
                self.after(SERVER_TICKS, Event::Tick(pid));
            }
            (Program::Worker(worker), Event::Frame(connection, _, packet)) => {
                let taken = worker.took(connection, &packet, chance, &mut wishes);
                if self.garbled.is_some() && taken.is_err() {
                    worker.closed(connection, &mut wishes);
                } else {
                    taken?;
                }
                self.staleness = self.staleness.max(worker.staleness);
            }
            (Program::Worker(worker), Event::Closed(connection, _)) => {
                worker.closed(connection, &mut wishes);
            }
            (Program::Worker(worker), Event::Beat(_)) => {
                worker.beat(&mut wishes);
                let every = self.session.cluster.failure_timeout / 4;
                self.after(every.as_micros() as Time, Event::Beat(pid));
            }
            (Program::Worker(worker), Event::Computed(_, serial)) if computing == Some(serial) => {
                worker.computed(&mut wishes);
            }
            (Program::Worker(worker), Event::Connect(_, incarnation)) => {
                let member = worker.member();
                if member.incarnation == incarnation {
                    let missing = worker.unconnected();
                    self.connect_worker(pid, member, &missing, &mut wishes);
                }
            }
            _ => {}
        }
        self.grant(pid, wishes);
        Ok(())
    }

    fn boot(&mut self, pid: Pid, wishes: &mut Vec<Wish>) {
        let member = self.processes[pid].member;
        if self.current.get(&(member.role, member.rank)) != Some(&pid) {
            return;
        }
        self.note(format!("{member} is up"));
        let servers = self.linked.len();
        let program = match member.role {
            Role::Server => {
                self.after(SERVER_TICKS, Event::Tick(pid));
                Program::Server(Box::new(ServerProcess::new(self.session, member.rank)))
            }
            _ => {
                self.after(MILLIS, Event::Beat(pid));
                wishes.push(Wish::Connect(0));
                Program::Worker(Box::new(WorkerProcess::new(self.session, member, servers)))
            }
        };
        self.processes[pid].program = Some(program);
    }

    /// Connects a worker to the servers that listen; it tries the others again.
    fn connect_worker(
        &mut self,
        pid: Pid,
        member: Member,
        missing: &[usize],
        wishes: &mut Vec<Wish>,
    ) {
        for server in missing {
            let rank = u32::try_from(*server).expect("servers are few");
            let Some(listener) = self.listener(rank) else {
                let again = self.chance.between(5, 20) * MILLIS;
                wishes.push(Wish::Connect(again));
                return;
            };
            let connection = self.open(Party::Process(pid), listener, member);
            if let Some(Program::Worker(worker)) = &mut self.processes[pid].program {
                worker.connected(*server, connection, wishes);
            }
        }
    }

    /// The process of a server that answers.
    fn listener(&self, rank: u32) -> Option<Pid> {
        let pid = *self.current.get(&(Role::Server, rank))?;
        let process = &self.processes[pid];
        (process.program.is_some() && !process.is_stopped).then_some(pid)
    }

    fn open(&mut self, from: Party, to: Pid, member: Member) -> ConnectionId {
        let arrives = self.now + self.chance.between(50, 3000);
        self.connections.push(Connection {
            ends: [from, Party::Process(to)],
            is_open: true,
            arrives: [self.now, arrives],
        });
        let connection = self.connections.len() - 1;
        self.at(arrives, Event::Opened(connection, member));
        connection
    }

    fn dial(
        &mut self,
        server: usize,
        attempt: u64,
        controller: &mut Controller<'a>,
        evaluator: &mut Evaluator<'_>,
    ) {
        let Some(until) = self.dialing[server].filter(|_| attempt == self.attempts[server]) else {
            return;
        };
        let rank = u32::try_from(server).expect("servers are few");
        if let Some(listener) = self.listener(rank) {
            let me = Member {
                role: Role::Controller,
                rank: 0,
                incarnation: 0,
            };
            let connection = self.open(Party::Controller, listener, me);
            let soon = self.chance.between(100, 4000);
            self.after(soon, Event::Reached(server, connection, attempt));
        } else if self.now >= until {
            self.dialing[server] = None;
            controller.on_unreached(server, "it does not answer", evaluator);
        } else {
            let again = self.chance.between(2, 250) * MILLIS;
            self.after(again, Event::Dial(server, attempt));
        }
    }

    /// Sends a frame; it arrives after those before it, and not while its way is
    /// cut.
    pub(super) fn pass(&mut self, connection: ConnectionId, from: usize, packet: Packet) {
        let link = &self.connections[connection];
        if !link.is_open {
            return;
        }
        let to = 1 - from;
        let soon = self.now + self.chance.between(20, 2000);
        let arrives = soon
            .max(link.arrives[to] + 1)
            .max(self.healed_at(connection));
        self.connections[connection].arrives[to] = arrives;
        self.at(arrives, Event::Frame(connection, to, packet));
    }

    /// Closes a connection; the other end hears of it after what was sent.
    pub(super) fn close(&mut self, connection: ConnectionId, from: usize) {
        let link = &mut self.connections[connection];
        if !std::mem::take(&mut link.is_open) {
            return;
        }
        let to = 1 - from;
        let soon = self.now + self.chance.between(20, 2000);
        let arrives = soon
            .max(self.connections[connection].arrives[to] + 1)
            .max(self.healed_at(connection));
        self.at(arrives, Event::Closed(connection, to));
    }

    /// When frames pass a connection again.
    fn healed_at(&self, connection: ConnectionId) -> Time {
        let [client, server] = self.connections[connection].ends;
        let Party::Process(server) = server else {
            return 0;
        };
        let server = self.processes[server].member.rank as usize;
        let client = match client {
            Party::Controller => None,
            Party::Process(pid) => Some(self.processes[pid].member.rank),
        };
        self.cuts
            .iter()
            .filter(|(at, who, until)| (*at, *who) == (server, client) && *until > self.now)
            .map(|(_, _, until)| *until)
            .max()
            .unwrap_or(0)
    }

    /// Does what a process wants.
    fn grant(&mut self, pid: Pid, wishes: Vec<Wish>) {
        for wish in wishes {
            match wish {
                Wish::Send(connection, packet) => {
                    let from = self.end_of(connection, Party::Process(pid));
                    self.send(connection, from, packet);
                }
                Wish::Close(connection) => {
                    let from = self.end_of(connection, Party::Process(pid));
                    self.close(connection, from);
                }
                Wish::Connect(after) => {
                    if let Some(Program::Worker(worker)) = &self.processes[pid].program {
                        let incarnation = worker.member().incarnation;
                        self.after(after, Event::Connect(pid, incarnation));
                    }
                }
                Wish::Compute(time) => {
                    self.serial += 1;
                    let serial = self.serial;
                    self.computing.insert(pid, serial);
                    self.after(time, Event::Computed(pid, serial));
                }
                Wish::Exit => self.end(pid, "exit status: 0"),
            }
        }
    }

    fn end_of(&self, connection: ConnectionId, party: Party) -> usize {
        usize::from(self.connections[connection].ends[1] == party)
    }

    /// Does what the controller wants.
    fn settle(&mut self) {
        for wish in std::mem::take(&mut self.links.wishes) {
            match wish {
                LinkWish::Send(server, packet) => {
                    if let Some(connection) = self.linked[server] {
                        self.send(connection, 0, packet);
                    }
                }
                LinkWish::Connect(server, within) => {
                    let within = within.map_or(AT_MOST, |time| time.as_micros() as Time);
                    self.dialing[server] = Some(self.now + within);
                    self.attempt += 1;
                    self.attempts[server] = self.attempt;
                    let soon = self.chance.between(1, 20) * MILLIS;
                    self.after(soon, Event::Dial(server, self.attempt));
                }
                LinkWish::Disconnect(server) => {
                    self.dialing[server] = None;
                    if let Some(connection) = self.linked[server].take() {
                        self.close(connection, 0);
                    }
                }
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
            self.current.insert((member.role, member.rank), pid);
            let soon = self.chance.between(1, 60) * MILLIS;
            self.after(soon, Event::Boot(pid));
            self.note(format!("{member} is started"));
        }
    }

    pub(super) fn pid_of(&self, member: Member) -> Option<Pid> {
        let pid = *self.current.get(&(member.role, member.rank))?;
        (self.processes[pid].member == member).then_some(pid)
    }
}
