//! Workers and parameter servers, event by event.
//!
//! More than 600 lines: one world whose events change workers and servers alike.

use crate::agenda::Agenda;
use crate::cluster::Cluster;
use crate::fluid::{ActivityId, Fluid};
use crate::outcome::{Bound, Outcome, Shares};
use crate::topology::{Topology, Way};
use paceline_model::WorkerId;
use paceline_numeric::Chance;
use paceline_sync::{
    Action, Clock, Consistency, Coordinator, Incarnation, Receipt, Sender, Settings, Tick,
    WorkerClock,
};
use std::collections::VecDeque;
use std::num::NonZeroUsize;

/// What happens at a moment. `life` tells a worker from its former self.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A worker has computed an iteration, or those of a round.
    Computed { worker: u32, life: u32 },
    /// The last byte of a message has left the sender.
    Sent(Message),
    /// The last byte has arrived.
    Arrived(Message),
    /// A server has done what it was at.
    Served { server: u32 },
    /// A worker is lost.
    Lost { worker: u32, life: u32 },
    /// A worker is there, for the first time or again.
    Comes { worker: u32 },
}

/// A message between a worker and a server.
#[derive(Debug, Clone, Copy)]
struct Message {
    worker: u32,
    life: u32,
    server: u32,
    content: Content,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    Join,
    Read { clock: Clock },
    Update { clock: Clock },
    Welcome { clock: Clock },
    Parameters { clock: Clock, version: Clock },
}

impl Content {
    fn way(self) -> Way {
        match self {
            Self::Join | Self::Read { .. } | Self::Update { .. } => Way::ToServer,
            Self::Welcome { .. } | Self::Parameters { .. } => Way::ToWorker,
        }
    }
}

/// What a server does, one after another.
#[derive(Debug, Clone, Copy)]
enum Task {
    Take(Message),
    Apply { updates: u32 },
    Send(Message),
}

struct Server {
    coordinator: Coordinator,
    tasks: VecDeque<Task>,
    at: Option<Task>,
    since: f64,
    busy_s: f64,
}

struct Worker {
    clock: WorkerClock,
    life: u32,
    chance: Chance,
    /// Answers that are awaited before the next iteration.
    pending: u32,
    /// When each server took its last question.
    asked: Vec<f64>,
    /// The longest that a server made it wait for others in this round.
    waited: f64,
    computing_since: f64,
    /// What is under way for it on shared resources.
    activities: Vec<ActivityId>,
}

/// Sums since the figures began to count.
#[derive(Debug, Default)]
struct Sums {
    since: f64,
    updates: u64,
    dropped: u64,
    computing_s: f64,
    waiting_s: f64,
    starts: u64,
    staleness: u64,
    staleness_max: u64,
    bytes: f64,
}

struct World<'a> {
    cluster: &'a Cluster,
    settings: Settings,
    now: f64,
    agenda: Agenda<Event>,
    fluid: Fluid<Event>,
    topology: Topology,
    servers: Vec<Server>,
    workers: Vec<Worker>,
    sums: Sums,
    counted: u64,
    losses: u64,
    seed: u64,
    actions: Vec<Action>,
}

pub(crate) fn simulate(
    cluster: &Cluster,
    consistency: Consistency,
    iterations: u32,
    seed: u64,
) -> Outcome {
    let settings = cluster
        .settings(consistency)
        .expect("the cluster was checked");
    let mut world = World::new(cluster, settings, seed);
    let rounds = u64::from(iterations)
        .div_ceil(consistency.iterations_per_update())
        .max(2);
    let spare = match consistency {
        Consistency::Backup { spare } => spare,
        _ => 0,
    };
    let round = u64::from(cluster.workers - spare) * world.servers.len() as u64;
    world.run((rounds / 10).max(1) * round, rounds * round);
    world.outcome()
}

impl<'a> World<'a> {
    fn new(cluster: &'a Cluster, settings: Settings, seed: u64) -> Self {
        let mut fluid = Fluid::new();
        let topology = Topology::new(cluster, cluster.servers, &mut fluid);
        let server = |_| Server {
            coordinator: Coordinator::new(settings),
            tasks: VecDeque::new(),
            at: None,
            since: 0.0,
            busy_s: 0.0,
        };
        let mut world = Self {
            cluster,
            settings,
            now: 0.0,
            agenda: Agenda::new(),
            fluid,
            topology,
            servers: (0..cluster.servers).map(server).collect(),
            workers: Vec::new(),
            sums: Sums::default(),
            counted: 0,
            losses: 0,
            seed,
            actions: Vec::new(),
        };
        for worker in 0..cluster.workers {
            world.agenda.enter(0.0, Event::Comes { worker });
        }
        let mut next = cluster.workers;
        for join in &cluster.joins {
            for worker in next..next.saturating_add(join.workers) {
                world.agenda.enter(join.at_s, Event::Comes { worker });
            }
            next = next.saturating_add(join.workers);
        }
        world
    }

    /// Goes on until so many updates have counted, at all servers together; the
    /// first ones are not part of the figures.
    fn run(&mut self, warm: u64, wanted: u64) {
        let mut is_warm = false;
        while self.counted < wanted {
            let next = match (self.agenda.next_at(), self.fluid.next_at()) {
                (Some(timer), Some(end)) if end < timer => self.fluid.pop(),
                (None, Some(_)) => self.fluid.pop(),
                (Some(_), _) => self.agenda.pop(),
                (None, None) => None,
            };
            let Some((at, event)) = next else { return };
            self.now = at;
            self.happen(event);
            if !is_warm && self.counted >= warm {
                is_warm = true;
                self.begin_to_count();
            }
        }
    }

    fn begin_to_count(&mut self) {
        self.sums = Sums {
            since: self.now,
            ..Sums::default()
        };
        self.fluid.begin_to_count(self.now);
        for server in &mut self.servers {
            server.busy_s = 0.0;
            server.since = self.now;
        }
        for worker in &mut self.workers {
            worker.computing_since = worker.computing_since.max(self.now);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Computed { worker, life } => self.computed(worker, life),
            Event::Sent(message) => {
                let is_local = Topology::is_local(self.cluster, message.worker, message.server);
                let latency = match is_local {
                    true => 0.0,
                    false => self.cluster.network.latency_s,
                };
                self.agenda
                    .enter(self.now + latency, Event::Arrived(message));
            }
            Event::Arrived(message) => match message.content.way() {
                Way::ToServer => self.give(message.server, Task::Take(message)),
                Way::ToWorker => self.hear(message),
            },
            Event::Served { server } => self.served(server),
            Event::Lost { worker, life } => self.lose(worker, life),
            Event::Comes { worker } => self.come(worker),
        }
    }

    /// A worker joins all servers.
    fn come(&mut self, worker: u32) {
        let servers = NonZeroUsize::new(self.servers.len()).expect("there is a server");
        let clock = WorkerClock::new(self.settings.consistency(), servers);
        match self.workers.get_mut(worker as usize) {
            Some(own) => {
                own.clock = clock;
                own.waited = 0.0;
            }
            None => self.workers.push(Worker {
                clock,
                life: 0,
                chance: Chance::new(self.seed, u64::from(worker)),
                pending: 0,
                asked: vec![0.0; servers.get()],
                waited: 0.0,
                computing_since: f64::INFINITY,
                activities: Vec::new(),
            }),
        }
        let own = &mut self.workers[worker as usize];
        own.pending = servers.get() as u32;
        let life = own.life;
        if let Some(failures) = self.cluster.failures {
            let wait = -failures.every_s * (1.0 - own.chance.unit()).ln();
            self.agenda
                .enter(self.now + wait, Event::Lost { worker, life });
        }
        self.tell_all(worker, Content::Join);
    }

    fn tell_all(&mut self, worker: u32, content: Content) {
        let life = self.workers[worker as usize].life;
        for server in 0..self.servers.len() as u32 {
            self.send(Message {
                worker,
                life,
                server,
                content,
            });
        }
    }

    /// Puts a message on its way.
    fn send(&mut self, message: Message) {
        let servers = self.servers.len() as f64;
        let bytes = match message.content {
            Content::Update { .. } => self.cluster.update_bytes / servers,
            Content::Parameters { .. } => self.cluster.parameter_bytes / servers,
            Content::Join | Content::Read { .. } | Content::Welcome { .. } => 0.0,
        };
        self.sums.bytes += bytes;
        let way = message.content.way();
        let route = self.topology.route(
            self.cluster,
            way,
            message.worker,
            message.server,
            &mut self.fluid,
        );
        match route {
            Some(class) if bytes > 0.0 => {
                let id = self
                    .fluid
                    .begin(class, bytes, self.now, Event::Sent(message));
                self.workers[message.worker as usize].activities.push(id);
            }
            _ => self.agenda.enter(self.now, Event::Sent(message)),
        }
    }

    /// A worker has received a message.
    fn hear(&mut self, message: Message) {
        let own = &mut self.workers[message.worker as usize];
        if message.life != own.life {
            return;
        }
        let server = message.server as usize;
        match message.content {
            Content::Welcome { clock } => {
                own.clock.welcome(server, clock);
                own.pending -= 1;
                if own.pending == 0 {
                    own.pending = self.servers.len() as u32;
                    let clock = own.clock.read_clock();
                    self.tell_all(message.worker, Content::Read { clock });
                }
            }
            Content::Parameters { clock, version } => {
                own.clock.proceed(server, clock, version);
                own.pending = own.pending.saturating_sub(1);
                if own.pending == 0 {
                    self.start(message.worker);
                }
            }
            Content::Join | Content::Read { .. } | Content::Update { .. } => {}
        }
    }

    /// All servers have answered: computes, or asks those again that must be.
    fn start(&mut self, worker: u32) {
        let own = &mut self.workers[worker as usize];
        let Some(start) = own.clock.start() else {
            let clock = own.clock.read_clock();
            let life = own.life;
            let asks: Vec<u32> = (0..self.servers.len())
                .filter(|server| own.clock.must_read(*server))
                .map(|server| server as u32)
                .collect();
            own.pending = asks.len() as u32;
            for server in asks {
                self.send(Message {
                    worker,
                    life,
                    server,
                    content: Content::Read { clock },
                });
            }
            return;
        };
        self.sums.waiting_s += std::mem::take(&mut own.waited);
        self.sums.starts += 1;
        self.sums.staleness += start.staleness;
        self.sums.staleness_max = self.sums.staleness_max.max(start.staleness);
        own.computing_since = self.now;
        own.activities.clear();
        let slowness = self.cluster.slowness(worker);
        let iterations = self.settings.consistency().iterations_per_update();
        let mut seconds = self.cluster.worker_overhead_s;
        for _ in 0..iterations {
            seconds += slowness * self.cluster.compute.draw(&mut own.chance);
        }
        let life = own.life;
        let event = Event::Computed { worker, life };
        match self.topology.cores() {
            Some(cores) if seconds > 0.0 => {
                let id = self.fluid.begin(cores, seconds, self.now, event);
                self.workers[worker as usize].activities.push(id);
            }
            _ => self.agenda.enter(self.now + seconds, event),
        }
    }

    fn computed(&mut self, worker: u32, life: u32) {
        let own = &mut self.workers[worker as usize];
        if life != own.life {
            return;
        }
        self.sums.computing_s += (self.now - own.computing_since).max(0.0);
        own.computing_since = f64::INFINITY;
        let mut due = None;
        for _ in 0..self.settings.consistency().iterations_per_update() {
            due = own.clock.finish();
        }
        let clock = due.expect("an update is due after its iterations");
        own.pending = self.servers.len() as u32;
        self.tell_all(worker, Content::Update { clock });
    }

    /// Gives a server a task, after all others.
    fn give(&mut self, server: u32, task: Task) {
        let own = &mut self.servers[server as usize];
        own.tasks.push_back(task);
        if own.at.is_none() {
            self.serve(server);
        }
    }

    /// A server takes its next task, if it has one.
    fn serve(&mut self, server: u32) {
        let Some(task) = self.servers[server as usize].tasks.pop_front() else {
            return;
        };
        let own = &mut self.servers[server as usize];
        own.at = Some(task);
        own.since = self.now;
        let servers = self.servers.len() as f64;
        let cost = &self.cluster.server;
        let update = self.cluster.update_bytes / servers;
        let seconds = match task {
            Task::Take(Message {
                content: Content::Update { .. },
                ..
            }) => cost.message_s + update * cost.byte_s,
            Task::Send(Message {
                content: Content::Parameters { .. },
                ..
            }) => cost.message_s + self.cluster.parameter_bytes / servers * cost.byte_s,
            Task::Take(_) | Task::Send(_) => cost.message_s,
            Task::Apply { updates } => f64::from(updates) * update * cost.apply_byte_s,
        };
        let event = Event::Served { server };
        match self.topology.cores() {
            Some(cores) if seconds > 0.0 => {
                self.fluid.begin(cores, seconds, self.now, event);
            }
            _ => self.agenda.enter(self.now + seconds, event),
        }
    }

    fn served(&mut self, server: u32) {
        let own = &mut self.servers[server as usize];
        own.busy_s += self.now - own.since;
        let task = own
            .at
            .take()
            .expect("a server that has ended a task had one");
        match task {
            Task::Take(message) => self.take(message),
            Task::Apply { .. } => {}
            Task::Send(message) => {
                if self.workers[message.worker as usize].life == message.life {
                    self.send(message);
                }
            }
        }
        if self.servers[server as usize].at.is_none() {
            self.serve(server);
        }
    }

    /// The rules decide about a message.
    fn take(&mut self, message: Message) {
        let from = Sender {
            worker: WorkerId(message.worker),
            incarnation: Incarnation(message.life),
        };
        let tick = tick(self.now);
        let mut actions = std::mem::take(&mut self.actions);
        let coordinator = &mut self.servers[message.server as usize].coordinator;
        self.workers[message.worker as usize].asked[message.server as usize] = self.now;
        let receipt = match message.content {
            Content::Join => coordinator.join(from, tick, &mut actions),
            Content::Read { clock } => coordinator.read(from, clock, tick, &mut actions),
            Content::Update { clock } => {
                coordinator.update_and_read(from, clock, tick, &mut actions)
            }
            Content::Welcome { .. } | Content::Parameters { .. } => Ok(Receipt::Heard),
        };
        let mut applies = 0;
        // A refused message is of a worker's former life.
        if let (Ok(receipt), Content::Update { .. }) = (receipt, message.content) {
            match receipt {
                Receipt::Counted => {
                    self.counted += 1;
                    self.sums.updates += 1;
                    applies = u32::from(!self.settings.consistency().gathers());
                }
                Receipt::Late => self.sums.dropped += 1,
                Receipt::Heard | Receipt::Duplicate => {}
            }
        }
        self.act(message.server, applies, &mut actions);
        self.actions = actions;
    }

    /// Does what the rules want, in their order, before anything that waits.
    fn act(&mut self, server: u32, applies: u32, actions: &mut Vec<Action>) {
        let mut tasks = Vec::with_capacity(actions.len() + 1);
        if applies > 0 {
            tasks.push(Task::Apply { updates: applies });
        }
        for action in actions.drain(..) {
            match action {
                Action::Close { counted, .. } => tasks.push(Task::Apply { updates: counted }),
                Action::Welcome { to, clock } => {
                    tasks.push(Task::Send(reply(to, server, Content::Welcome { clock })));
                }
                Action::Proceed {
                    to, clock, version, ..
                } => {
                    let worker = &mut self.workers[to.worker.0 as usize];
                    let waited = self.now - worker.asked[server as usize];
                    worker.waited = worker.waited.max(waited);
                    let content = Content::Parameters { clock, version };
                    tasks.push(Task::Send(reply(to, server, content)));
                }
                Action::Lost { .. }
                | Action::Replace { .. }
                | Action::Fail { .. }
                | Action::Empty => {}
            }
        }
        let own = &mut self.servers[server as usize];
        for task in tasks.into_iter().rev() {
            own.tasks.push_front(task);
        }
        if own.at.is_none() {
            self.serve(server);
        }
    }

    fn lose(&mut self, worker: u32, life: u32) {
        let own = &mut self.workers[worker as usize];
        let Some(failures) = self.cluster.failures else {
            return;
        };
        if own.life != life {
            return;
        }
        own.life += 1;
        self.losses += 1;
        if own.computing_since.is_finite() {
            self.sums.computing_s += (self.now - own.computing_since).max(0.0);
            own.computing_since = f64::INFINITY;
        }
        for activity in std::mem::take(&mut own.activities) {
            self.fluid.cancel(activity, self.now);
        }
        let who = Sender {
            worker: WorkerId(worker),
            incarnation: Incarnation(life),
        };
        let mut actions = std::mem::take(&mut self.actions);
        for server in 0..self.servers.len() as u32 {
            let coordinator = &mut self.servers[server as usize].coordinator;
            coordinator.disconnect(who, tick(self.now), &mut actions);
            self.act(server, 0, &mut actions);
        }
        self.actions = actions;
        self.agenda
            .enter(self.now + failures.restart_s, Event::Comes { worker });
    }

    fn outcome(&mut self) -> Outcome {
        let elapsed_s = (self.now - self.sums.since).max(f64::MIN_POSITIVE);
        for worker in &self.workers {
            if worker.computing_since.is_finite() {
                self.sums.computing_s += (self.now - worker.computing_since).max(0.0);
            }
        }
        let workers = self.workers.len().max(1) as f64;
        let servers = self.servers.len() as f64;
        let busy = self.topology.busy(&mut self.fluid, self.now);
        let sums = &self.sums;
        let computing = (sums.computing_s / (workers * elapsed_s)).min(1.0);
        let waiting = (sums.waiting_s / (workers * elapsed_s)).min(1.0 - computing);
        let updates = sums.updates as f64 / servers;
        let sent = sums.updates + sums.dropped;
        let server_busy = self
            .servers
            .iter()
            .map(|server| {
                let now = server.at.map_or(0.0, |_| self.now - server.since);
                (server.busy_s + now) / elapsed_s
            })
            .fold(0.0, f64::max);
        let steps = self.settings.consistency().iterations_per_update() as f64;
        let mut outcome = Outcome {
            elapsed_s,
            updates_per_s: updates / elapsed_s,
            iterations_per_s: updates * steps / workers / elapsed_s,
            shares: Shares {
                computing,
                waiting,
                communicating: 1.0 - computing - waiting,
            },
            staleness_mean: sums.staleness as f64 / (sums.starts.max(1)) as f64,
            staleness_max: sums.staleness_max,
            dropped_share: sums.dropped as f64 / sent.max(1) as f64,
            bytes_per_s: sums.bytes / elapsed_s,
            server_busy: server_busy.min(1.0),
            link_busy: busy.link,
            switch_busy: busy.switch,
            cores_busy: busy.cores,
            bound: Bound::Computing,
            losses: self.losses,
        };
        outcome.bound = Bound::of(&outcome, busy.both_ways);
        outcome
    }
}

fn reply(to: Sender, server: u32, content: Content) -> Message {
    Message {
        worker: to.worker.0,
        life: to.incarnation.0,
        server,
        content,
    }
}

fn tick(seconds: f64) -> Tick {
    Tick((seconds * 1e9) as u64)
}
