//! Servers, workers and what must hold at every moment.
//!
//! The checks keep their own books: a ledger of counted updates per server and
//! the clocks of the workers themselves. They use the coordinator's view only to
//! know who takes part.
//!
//! More than 600 lines: the simulated cluster and the properties that it is held to.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use paceline_model::WorkerId;
use std::time::Duration;

use paceline_sync::{
    Action, Clock, Consistency, Coordinator, Message, OnWorkerLoss, Presence, Receipt, Refusal,
    Sender, Settings, Tick, WorkerClock,
};

use crate::network::{Agenda, Random, Weather};
use crate::problem::Problem;

/// A run to simulate.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) consistency: Consistency,
    pub(crate) workers: u32,
    pub(crate) servers: usize,
    pub(crate) iterations: u64,
    pub(crate) weather: Weather,
    /// An iteration takes a worker 1 to this long; worker 0 three times that.
    pub(crate) compute: u64,
    pub(crate) on_worker_loss: OnWorkerLoss,
    pub(crate) faults: Vec<Fault>,
}

/// What befalls a worker, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) at: u64,
    pub(crate) worker: u32,
    pub(crate) kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// It dies and comes back by itself.
    Restart,
    /// It dies; only a replacement takes its place.
    Death,
    /// Nothing it says or should hear arrives for this long, so that it is
    /// declared lost while it lives.
    Cut(u64),
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) servers: Vec<Server>,
    pub(crate) failed: bool,
    /// Iterations started with parameters older than the iteration.
    pub(crate) stale_starts: u64,
    /// The largest staleness any worker started with.
    pub(crate) most_stale: u64,
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) coordinator: Coordinator,
    pub(crate) parameter: f64,
    /// Every update counted, ever.
    pub(crate) ledger: BTreeSet<(u32, u64)>,
    /// What the open iteration gathered, in the order of the workers.
    gathered: Vec<Option<f64>>,
    /// How many updates each closed iteration counted.
    pub(crate) closed: Vec<(u64, u32)>,
    /// How many updates were delivered and not refused, and which.
    delivered: u64,
    heard: BTreeSet<(u32, u64)>,
}

#[derive(Debug, Clone)]
enum Event {
    ToServer(usize, Sender, Message, f64),
    ToWorker(usize, Sender, Reply),
    Computed(Sender),
    Repeat(Sender),
    Fault(Fault),
    Restart(u32),
    Ticks,
}

#[derive(Debug, Clone)]
enum Reply {
    Welcome(Clock),
    /// The parameters travel with the clock, the version and the ledger.
    Proceed(Clock, Clock, f64, BTreeSet<(u32, u64)>),
    Settled(Clock),
    Left,
    Refused(Refusal),
}

#[derive(Debug)]
struct Worker {
    sender: Sender,
    alive: bool,
    finished: bool,
    computing: bool,
    clock: WorkerClock,
    parameters: Vec<f64>,
    seen: Vec<BTreeSet<(u32, u64)>>,
    /// What every server has not settled yet.
    unsettled: Vec<BTreeSet<u64>>,
    updates: Vec<(u64, Vec<f64>)>,
    left: Vec<bool>,
}

const REPEAT: u64 = 40;
const FAILURE: u64 = 400;
const TICKS: u64 = 50;
const LONGEST: u64 = 400_000;

pub(crate) fn simulate(plan: &Plan) -> Outcome {
    let mut simulation = Simulation::new(plan);
    simulation.run();
    simulation.check_books();
    Outcome {
        servers: simulation.servers,
        failed: simulation.failed,
        stale_starts: simulation.stale_starts,
        most_stale: simulation.most_stale,
    }
}

struct Simulation<'a> {
    plan: &'a Plan,
    random: Random,
    problem: Problem,
    agenda: Agenda<Event>,
    servers: Vec<Server>,
    workers: Vec<Worker>,
    /// Workers that died and that nobody replaces.
    given_up: BTreeSet<u32>,
    cut_until: Vec<u64>,
    anyone_lost: bool,
    failed: bool,
    stale_starts: u64,
    most_stale: u64,
}

impl<'a> Simulation<'a> {
    fn new(plan: &'a Plan) -> Self {
        let settings = Settings::new(plan.consistency, plan.workers)
            .expect("the plan suits the model")
            .on_worker_loss(plan.on_worker_loss)
            .failure_timeout(Duration::from_nanos(FAILURE))
            .join_timeout(Duration::from_nanos(4 * FAILURE));
        let problem = Problem::new(plan.seed, plan.servers);
        let server = |parameter| Server {
            coordinator: Coordinator::new(settings),
            parameter,
            ledger: BTreeSet::new(),
            gathered: vec![None; plan.workers as usize],
            closed: Vec::new(),
            delivered: 0,
            heard: BTreeSet::new(),
        };
        let mut simulation = Self {
            plan,
            random: Random::new(plan.seed),
            agenda: Agenda::new(),
            servers: problem.start().into_iter().map(server).collect(),
            workers: (0..plan.workers)
                .map(|id| Worker::new(plan, Sender::first(id)))
                .collect(),
            problem,
            given_up: BTreeSet::new(),
            cut_until: vec![0; plan.workers as usize],
            anyone_lost: false,
            failed: false,
            stale_starts: 0,
            most_stale: 0,
        };
        for id in 0..plan.workers {
            simulation.agenda.after(0, Event::Repeat(Sender::first(id)));
        }
        for fault in &plan.faults {
            simulation.agenda.after(fault.at, Event::Fault(*fault));
        }
        simulation.agenda.after(TICKS, Event::Ticks);
        simulation
    }

    fn run(&mut self) {
        while !self.failed && !self.is_over() {
            assert!(
                self.agenda.now() < LONGEST,
                "nothing goes on any more: {:#?}\n{:?}",
                self.plan,
                self.servers
                    .iter()
                    .map(|server| server.coordinator.members().collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            );
            let event = self.agenda.next().expect("ticks never end");
            self.take(event);
        }
    }

    fn is_over(&self) -> bool {
        self.workers.iter().all(|worker| {
            let id = worker.sender.worker;
            // It may crash after its leave arrived and before it knows.
            let left = || {
                let mut members = self.servers.iter().flat_map(|s| s.coordinator.members());
                !members.any(|member| member.worker == id)
            };
            worker.finished || (!worker.alive && (self.given_up.contains(&id.0) || left()))
        })
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::ToServer(_, who, ..) | Event::ToWorker(_, who, _)
                if self.agenda.now() < self.cut_until[who.worker.0 as usize] => {}
            Event::ToServer(server, from, message, value) => {
                self.serve(server, from, message, value);
            }
            Event::ToWorker(server, to, reply) => self.hear(server, to, reply),
            Event::Computed(sender) => self.computed(sender),
            Event::Repeat(sender) => self.repeat(sender),
            Event::Fault(fault) => self.strike(fault),
            Event::Restart(id) => {
                if !self.workers[id as usize].alive {
                    self.new_life(id);
                }
            }
            Event::Ticks => {
                let now = Tick(self.agenda.now());
                for server in 0..self.servers.len() {
                    let mut actions = Vec::new();
                    self.servers[server].coordinator.tick(now, &mut actions);
                    self.act(server, &actions);
                }
                self.agenda.after(TICKS, Event::Ticks);
            }
        }
    }

    fn strike(&mut self, fault: Fault) {
        let id = fault.worker % self.plan.workers;
        let worker = &mut self.workers[id as usize];
        if !worker.alive || worker.finished {
            return;
        }
        match fault.kind {
            FaultKind::Cut(length) => self.cut_until[id as usize] = self.agenda.now() + length,
            FaultKind::Restart => {
                worker.alive = false;
                let pause = 1 + self.random.below(2 * FAILURE);
                self.agenda.after(pause, Event::Restart(id));
            }
            FaultKind::Death => {
                worker.alive = false;
                if self.plan.on_worker_loss == OnWorkerLoss::Continue {
                    self.given_up.insert(id);
                }
            }
        }
    }

    fn new_life(&mut self, id: u32) {
        let former = self.workers[id as usize].sender;
        let sender = Sender {
            worker: former.worker,
            incarnation: former.incarnation.next(),
        };
        self.workers[id as usize] = Worker::new(self.plan, sender);
        self.agenda.after(0, Event::Repeat(sender));
    }

    fn serve(&mut self, index: usize, from: Sender, message: Message, value: f64) {
        let now = Tick(self.agenda.now());
        let server = &mut self.servers[index];
        let mut actions = Vec::new();
        let result = server.coordinator.step(from, message, now, &mut actions);
        if let (Message::Update { clock }, Ok(receipt)) = (message, result) {
            server.delivered += 1;
            server.heard.insert((from.worker.0, clock.0));
            if receipt == Receipt::Counted {
                assert!(
                    server.ledger.insert((from.worker.0, clock.0)),
                    "update {clock} of {} counts twice: {:#?}",
                    from.worker,
                    self.plan
                );
                if self.plan.consistency.gathers() {
                    let slot = &mut server.gathered[from.worker.0 as usize];
                    assert!(slot.is_none(), "an iteration counts a worker twice");
                    *slot = Some(value);
                } else {
                    server.parameter = Problem::step(server.parameter, [value]);
                }
            }
        }
        self.act(index, &actions);
        let reply = match (result, message) {
            (Err(refusal), _) => Reply::Refused(refusal),
            (Ok(_), Message::Update { clock }) => Reply::Settled(clock),
            (Ok(_), Message::Leave) => Reply::Left,
            (Ok(_), _) => return,
        };
        self.reply(index, from, reply);
    }

    fn reply(&mut self, server: usize, to: Sender, reply: Reply) {
        self.agenda.send(
            self.plan.weather,
            &mut self.random,
            Event::ToWorker(server, to, reply),
        );
    }

    fn act(&mut self, index: usize, actions: &[Action]) {
        for action in actions {
            let server = &mut self.servers[index];
            match *action {
                Action::Welcome { to, clock } => self.reply(index, to, Reply::Welcome(clock)),
                Action::Proceed {
                    to, clock, version, ..
                } => {
                    let parameters = (server.parameter, server.ledger.clone());
                    let reply = Reply::Proceed(clock, version, parameters.0, parameters.1);
                    self.reply(index, to, reply);
                }
                Action::Close { clock, counted, .. } => {
                    let gathered = server.gathered.iter_mut().filter_map(Option::take);
                    let gathered: Vec<f64> = gathered.collect();
                    assert_eq!(gathered.len(), counted as usize, "the divisor is wrong");
                    server.parameter = Problem::step(server.parameter, gathered);
                    server.closed.push((clock.0, counted));
                    self.check_close(index, clock, counted);
                }
                Action::Replace {
                    worker,
                    incarnation,
                } => {
                    // Every server asks; the first to do so is obeyed.
                    let known = &self.workers[worker.0 as usize];
                    if !known.alive || known.sender.incarnation < incarnation {
                        self.new_life(worker.0);
                    }
                }
                Action::Fail { .. } => self.failed = true,
                Action::Lost { .. } => self.anyone_lost = true,
                Action::Empty => {}
            }
        }
    }

    /// Every live worker has its update in the iteration, except the spare
    /// ones, and each update is of this iteration.
    fn check_close(&self, index: usize, clock: Clock, counted: u32) {
        let server = &self.servers[index];
        let spare = match self.plan.consistency {
            Consistency::Backup { spare } => spare as usize,
            _ => 0,
        };
        let missing = server
            .coordinator
            .members()
            .filter(|member| !server.ledger.contains(&(member.worker.0, clock.0)))
            .count();
        assert!(missing <= spare, "{missing} are missing: {:#?}", self.plan);
        if !self.group_changed() {
            assert_eq!(counted as usize, self.plan.workers as usize - spare);
        }
    }

    /// Whether the group changed: somebody was lost, or left.
    fn group_changed(&self) -> bool {
        let left =
            |server: &Server| server.coordinator.members().count() < self.plan.workers as usize;
        self.anyone_lost || self.servers.iter().any(left)
    }

    fn hear(&mut self, server: usize, to: Sender, reply: Reply) {
        let worker = &mut self.workers[to.worker.0 as usize];
        if worker.sender != to || !worker.alive || worker.finished {
            return;
        }
        match reply {
            Reply::Welcome(clock) => worker.clock.welcome(server, clock),
            Reply::Proceed(clock, version, parameter, ledger) => {
                if !worker.computing && worker.clock.proceed(server, clock, version) {
                    worker.parameters[server] = parameter;
                    worker.seen[server] = ledger;
                }
            }
            Reply::Settled(clock) => {
                worker.unsettled[server].remove(&clock.0);
            }
            Reply::Left => worker.left[server] = true,
            Reply::Refused(Refusal::NotAMember { .. }) if worker.is_leaving(self.plan) => {
                worker.left[server] = true;
            }
            Reply::Refused(refusal) => {
                // A refused worker joins anew, as the crate's docs ask of it.
                assert!(
                    !matches!(refusal, Refusal::OffRound { .. }),
                    "{refusal}: {:#?}",
                    self.plan
                );
                self.new_life(to.worker.0);
                return;
            }
        }
        self.go_on(to);
    }

    /// Starts an iteration, or asks for what it needs, or leaves.
    fn go_on(&mut self, sender: Sender) {
        let id = sender.worker.0 as usize;
        let worker = &mut self.workers[id];
        if worker.computing || !worker.clock.is_welcome() {
            return;
        }
        if worker.is_leaving(self.plan) {
            worker.finished = worker.left.iter().all(|left| *left);
            return;
        }
        if worker.clock.clock().0 >= self.plan.iterations {
            return;
        }
        let Some(start) = worker.clock.start() else {
            return;
        };
        worker.computing = true;
        self.stale_starts += u64::from(start.staleness > 0);
        self.most_stale = self.most_stale.max(start.staleness);
        let slowness = if id == 0 { 3 } else { 1 };
        let time = 1 + self.random.below(self.plan.compute * slowness);
        self.agenda.after(time, Event::Computed(sender));
        self.check_start(sender.worker, start.clock);
    }

    fn check_start(&self, worker: WorkerId, clock: Clock) {
        let Some(most) = self.plan.consistency.most_lead() else {
            return;
        };
        let bound = clock.0.saturating_sub(u64::from(most));
        // Whoever takes part at every server has contributed as much.
        for other in &self.workers {
            let takes_part = other.alive
                && other.clock.is_welcome()
                && self.servers.iter().all(|server| {
                    server.coordinator.members().any(|member| {
                        member.worker == other.sender.worker
                            && member.presence == Presence::Live
                            && member.incarnation == Some(other.sender.incarnation)
                    })
                });
            // A new life repeats iterations that its former life contributed to
            // before it died, where servers differ in how far that was.
            let id = other.sender.worker.0;
            let contributed = (other.clock.clock().0..bound).all(|clock| {
                let counts = |server: &Server| server.ledger.contains(&(id, clock));
                self.servers.iter().all(counts)
            });
            assert!(
                !takes_part || contributed,
                "{worker} starts {clock} while {} is at {}: {:#?}",
                other.sender.worker,
                other.clock.clock(),
                self.plan
            );
        }
        // Ho et al. (2013): a read at clock c sees every update of every
        // worker up to c − s − 1. Lost workers leave gaps.
        if !self.group_changed() {
            let seen = &self.workers[worker.0 as usize].seen;
            let per_update = self.plan.consistency.iterations_per_update() as usize;
            for other in 0..self.plan.workers {
                for before in (0..bound).step_by(per_update) {
                    assert!(
                        seen.iter().all(|ledger| ledger.contains(&(other, before))),
                        "{worker} starts {clock} without update {before} of worker{other}: {:#?}",
                        self.plan
                    );
                }
            }
        }
    }

    fn computed(&mut self, sender: Sender) {
        let worker = &mut self.workers[sender.worker.0 as usize];
        if worker.sender != sender || !worker.alive {
            return;
        }
        worker.computing = false;
        if let Some(clock) = worker.clock.finish() {
            let id = sender.worker.0 as usize;
            let gradient = self.problem.gradient(id, clock.0, &worker.parameters);
            worker.updates.push((clock.0, gradient));
            for unsettled in &mut worker.unsettled {
                unsettled.insert(clock.0);
            }
            self.speak(sender);
        }
        self.go_on(sender);
    }

    /// Says again whatever was not answered, and that it lives.
    fn repeat(&mut self, sender: Sender) {
        let worker = &self.workers[sender.worker.0 as usize];
        if worker.sender != sender || !worker.alive || worker.finished {
            return;
        }
        self.speak(sender);
        self.agenda.after(REPEAT, Event::Repeat(sender));
    }

    fn speak(&mut self, sender: Sender) {
        let worker = &self.workers[sender.worker.0 as usize];
        let mut messages = Vec::new();
        for server in 0..self.servers.len() {
            let mut say = |message, value| messages.push((server, message, value));
            if !worker.clock.is_welcome() {
                say(Message::Join, 0.0);
                continue;
            }
            for (clock, gradient) in &worker.updates {
                if worker.unsettled[server].contains(clock) {
                    let clock = Clock(*clock);
                    say(Message::Update { clock }, gradient[server]);
                }
            }
            if worker.is_leaving(self.plan) {
                if !worker.left[server] {
                    say(Message::Leave, 0.0);
                }
            } else if !worker.computing && worker.clock.must_read(server) {
                let clock = worker.clock.read_clock();
                say(Message::Read { clock }, 0.0);
            } else {
                say(Message::Heartbeat, 0.0);
            }
        }
        for (server, message, value) in messages {
            self.agenda.send(
                self.plan.weather,
                &mut self.random,
                Event::ToServer(server, sender, message, value),
            );
        }
    }

    /// Every update that was delivered and not refused is accounted for once.
    fn check_books(&self) {
        for server in &self.servers {
            let total = server.coordinator.total();
            assert_eq!(total.counted, server.ledger.len() as u64);
            assert_eq!(
                total.counted + total.late + total.duplicate,
                server.delivered
            );
            let dropped = server.heard.difference(&server.ledger).count();
            // Where nothing closes, nothing is late: what a returning worker
            // sends from before its welcome is ignored.
            if self.plan.consistency.gathers() || !self.anyone_lost {
                assert_eq!(total.late, dropped as u64, "{:#?}", self.plan);
            }
            // A worker that comes back joins the server that is furthest behind,
            // so others may have closed its first iteration without it.
            let backup = matches!(self.plan.consistency, Consistency::Backup { .. });
            if !backup && !self.anyone_lost {
                assert_eq!(total.late, 0, "only backup drops: {:#?}", self.plan);
            }
        }
    }
}

impl Worker {
    fn new(plan: &Plan, sender: Sender) -> Self {
        let servers = NonZeroUsize::new(plan.servers).expect("a run has a server");
        Self {
            sender,
            alive: true,
            finished: false,
            computing: false,
            clock: WorkerClock::new(plan.consistency, servers),
            parameters: vec![0.0; plan.servers],
            seen: vec![BTreeSet::new(); plan.servers],
            unsettled: vec![BTreeSet::new(); plan.servers],
            updates: Vec::new(),
            left: vec![false; plan.servers],
        }
    }

    /// It has computed all and everything it sent is settled.
    fn is_leaving(&self, plan: &Plan) -> bool {
        self.clock.is_welcome()
            && self.clock.clock().0 >= plan.iterations
            && self.unsettled.iter().all(BTreeSet::is_empty)
    }
}
