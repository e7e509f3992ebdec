//! What workers that are threads share: a shard under a lock, and how a waiting
//! worker is woken.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use paceline_kernels::AlignedBuffer;
use paceline_sync::{Clock, Consistency, Coordinator, Message, Receipt, Sender, Tick};

use crate::clock::now;
use crate::cluster::milestones::{Due, Milestones};
use crate::cluster::notice::Notice;
use crate::cluster::session::ClusterSession;
use crate::cluster::shard::{
    Arrival, Gathered, ParameterShard, ShardEvent, ShardPlan, ShardRules, Shown, Store,
};
use crate::cluster::snapshot::Snapshot;
use crate::cluster::thread_reports::WorkerReports;
use crate::cluster::update::{Part, Span, Update};
use crate::optimizer::{Optimizer, OptimizerState};
use crate::session::Ending;

/// What the workers share.
pub(super) struct SharedState<'a> {
    pub(super) session: &'a ClusterSession,
    pub(super) plan: ShardPlan,
    began: Instant,
    pub(super) halted: AtomicBool,
    /// By worker: whether it has been told to go on.
    pub(super) called: Vec<AtomicBool>,
    /// By worker: what it sleeps on.
    pub(super) bells: Vec<Condvar>,
    pub(super) state: Mutex<State>,
    /// The parameters by range where updates are applied as they come, each
    /// under a lock of its own: workers seldom meet.
    stores: Vec<Mutex<Store>>,
    pub(super) reports: WorkerReports,
    /// What could not be recorded.
    pub(super) unwritten: Mutex<Vec<Notice>>,
    /// Updates that were applied, of all workers; with gathered updates,
    /// iterations.
    pub(super) counted: AtomicU64,
}

/// What one lock guards.
pub(super) struct State {
    shard: Shard,
    pub(super) told: Vec<Option<Told>>,
    pub(super) asleep: Vec<bool>,
    events: Vec<ShardEvent>,
    fate: Option<Ending>,
}

/// A shard whose values are under the lock, or beside it.
enum Shard {
    Gathering(Box<ParameterShard<Update>>),
    Applying(Box<ShardRules>),
}

/// An iteration that a worker may start.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) clock: Clock,
    pub(super) version: Clock,
    pub(super) waited_for: Option<u32>,
}

impl Gathered for Update {
    fn part<'a>(&'a self, span: &Span) -> Part<'a> {
        self.within(span)
    }
}

impl Shard {
    fn rules(&self) -> &ShardRules {
        match self {
            Self::Gathering(shard) => shard.rules(),
            Self::Applying(rules) => rules,
        }
    }

    fn rules_mut(&mut self) -> &mut ShardRules {
        match self {
            Self::Gathering(shard) => shard.rules_mut(),
            Self::Applying(rules) => rules,
        }
    }
}

/// Nothing is gathered where updates are applied as they come.
fn settle(rules: &mut ShardRules, events: &mut Vec<ShardEvent>) {
    rules.settle(events, |_| unreachable!("nothing is gathered here"));
}

impl State {
    /// A worker joins, or asks for its first iteration.
    fn take(&mut self, from: Sender, message: Message) {
        let start = Tick::default();
        let taken = match &mut self.shard {
            Shard::Gathering(shard) => shard.on_message(from, message, start, &mut self.events),
            Shard::Applying(rules) => {
                let taken = rules.step(from, message, start);
                settle(rules, &mut self.events);
                taken
            }
        };
        taken.expect("there is room for every worker");
    }

    /// An update that counts when its iteration closes, or ends the training
    /// because its loss is not a number.
    pub(super) fn gather(&mut self, arrival: Arrival, update: &mut Update, now: Tick) -> Receipt {
        match &mut self.shard {
            Shard::Gathering(shard) => shard
                .on_update(arrival, update, now, &mut self.events)
                .expect("a worker's thread follows the rules"),
            Shard::Applying(rules) => {
                rules.check_loss(arrival.tally, &mut self.events);
                Receipt::Heard
            }
        }
    }

    /// An update was applied.
    pub(super) fn applied(&mut self, arrival: Arrival, now: Tick) -> Receipt {
        let rules = self.shard.rules_mut();
        if rules.is_over() {
            return Receipt::Heard;
        }
        let follows_rules = "a worker's thread follows the rules";
        let receipt = rules.update(arrival, now).expect(follows_rules);
        rules.applied(arrival.tally, &mut self.events);
        rules.read_next(arrival, now).expect(follows_rules);
        settle(rules, &mut self.events);
        receipt
    }

    pub(super) fn snapshot_taken(&mut self) {
        self.shard.rules_mut().seen(&mut self.events);
    }

    /// The version that all start from, where updates are gathered.
    pub(super) fn version(&self) -> Option<Arc<AlignedBuffer>> {
        match &self.shard {
            Shard::Gathering(shard) => Some(Arc::clone(shard.store().parameters())),
            Shard::Applying(_) => None,
        }
    }
}

impl<'a> SharedState<'a> {
    pub(super) fn new(session: &'a ClusterSession, milestones: Milestones) -> Self {
        let consistency = session.cluster.consistency();
        let workers = session.cluster.workers.get() as usize;
        let steps = session.progress.steps;
        let layout = session.model.layout();
        let optimizer = match consistency {
            Consistency::Local { .. } => OptimizerState {
                steps: session.optimizer.steps,
                ..OptimizerState::new(Optimizer::Sgd, layout.len())
            },
            _ => session.optimizer.clone(),
        };
        let plan = ShardPlan {
            consistency,
            workers,
            milestones,
            settings: session.settings.clone(),
        };
        let coordinator = Coordinator::new(session.rules.resumed_at(Clock(steps)));
        let rules = ShardRules::new(plan.clone(), coordinator, steps);
        let store = |span| Store::new(span, &session.parameters, &optimizer);
        let (shard, stores) = if consistency.gathers() {
            let store = store(Span::whole(layout));
            let shard = ParameterShard::new(rules, store, || Update::none(layout));
            (Shard::Gathering(Box::new(shard)), Vec::new())
        } else {
            let ranges = Span::cut(layout, session.cluster.servers.get() as usize);
            let stores = ranges.into_iter().map(|span| Mutex::new(store(span)));
            (Shard::Applying(Box::new(rules)), stores.collect())
        };
        Self {
            session,
            began: now(),
            halted: AtomicBool::new(false),
            called: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            bells: (0..workers).map(|_| Condvar::new()).collect(),
            state: Mutex::new(State {
                shard,
                told: vec![None; workers],
                asleep: vec![false; workers],
                events: Vec::with_capacity(2 * workers + 2),
                fate: None,
            }),
            stores,
            reports: WorkerReports::new(workers),
            unwritten: Mutex::new(Vec::new()),
            counted: AtomicU64::new(plan.counted_at(steps)),
            plan,
        }
    }

    /// Has every worker join and ask for its first iteration.
    pub(super) fn open(&self) {
        let mut state = self.state.lock();
        let clock = state.shard.rules().coordinator().version();
        for worker in 0..self.plan.workers {
            state.take(sender(worker), Message::Join);
        }
        for worker in 0..self.plan.workers {
            state.take(sender(worker), Message::Read { clock });
        }
        self.carry_out(&mut state);
    }

    /// Does what the shard wants done; gives a snapshot if one is to be looked
    /// at.
    pub(super) fn carry_out(&self, state: &mut State) -> Option<Snapshot> {
        let mut snapshot = None;
        let mut events = std::mem::take(&mut state.events);
        for event in events.drain(..) {
            match event {
                ShardEvent::Proceed {
                    to,
                    clock,
                    version,
                    waited_for,
                    ..
                } => {
                    let told = super::told(clock, version, waited_for);
                    self.tell(state, to.worker.0 as usize, told);
                }
                ShardEvent::Show(shown) => {
                    snapshot = Some(self.snapshot(state, shown));
                    if shown.due.end {
                        state.fate = Some(Ending::Steps);
                        self.halt(state);
                    }
                }
                ShardEvent::Diverged => {
                    state.fate = Some(Ending::Diverged);
                    self.halt(state);
                }
                ShardEvent::Welcome { .. } => {}
                ShardEvent::Lost { .. }
                | ShardEvent::Replace { .. }
                | ShardEvent::Required { .. } => {
                    unreachable!("a thread is not lost without its process")
                }
            }
        }
        state.events = events;
        if let Shard::Gathering(shard) = &state.shard {
            self.counted.store(shard.rules().steps(), Ordering::Relaxed);
        }
        snapshot
    }

    pub(super) fn copy_parameters(&self, me: usize, own: &mut [f32]) {
        self.each_store(me, |store| {
            own[store.span().flat()].copy_from_slice(store.parameters());
        });
    }

    /// Visits every store, each worker beginning at another, so that they
    /// seldom meet.
    pub(super) fn each_store(&self, me: usize, mut visit: impl FnMut(&mut Store)) {
        let count = self.stores.len();
        for place in 0..count {
            visit(&mut self.stores[(me + place) % count].lock());
        }
    }

    fn snapshot(&self, state: &State, shown: Shown) -> Snapshot {
        let Shown { steps, tally, due } = shown;
        let (parameters, optimizer) = match &state.shard {
            Shard::Gathering(shard) => {
                let store = shard.store();
                (Arc::clone(store.parameters()), store.optimizer().clone())
            }
            Shard::Applying(_) => self.whole(),
        };
        let optimizer = match self.plan.consistency {
            // Workers take the optimizer's steps, and keep its memory.
            Consistency::Local { .. } => OptimizerState {
                steps,
                ..OptimizerState::new(self.session.settings.optimizer, parameters.len())
            },
            _ => optimizer,
        };
        Snapshot {
            steps,
            parameters,
            optimizer,
            tally,
            due,
        }
    }

    /// The ranges in one.
    fn whole(&self) -> (Arc<AlignedBuffer>, OptimizerState) {
        // All at once, so that it is one state.
        let stores: Vec<_> = self.stores.iter().map(Mutex::lock).collect();
        let first = stores[0].optimizer();
        if let [only] = &stores[..] {
            return (Arc::clone(only.parameters()), first.clone());
        }
        let len = stores.iter().map(|store| store.span().len()).sum();
        let mut parameters = AlignedBuffer::zeroed(len);
        let mut optimizer = OptimizerState::new(first.optimizer, len);
        optimizer.steps = first.steps;
        for store in &stores {
            let range = store.span().flat();
            parameters[range.clone()].copy_from_slice(store.parameters());
            for (all, own) in optimizer.moments.iter_mut().zip(&store.optimizer().moments) {
                all[range.clone()].copy_from_slice(own);
            }
        }
        (Arc::new(parameters), optimizer)
    }

    /// What the workers left when they were called off.
    pub(super) fn last_snapshot(&self, is_evaluated: bool) -> Snapshot {
        let state = self.state.lock();
        let due = Due {
            evaluation: is_evaluated,
            ..Due::default()
        };
        let shown = Shown {
            steps: self.steps(),
            tally: state.shard.rules().tally(),
            due,
        };
        self.snapshot(&state, shown)
    }

    pub(super) fn steps(&self) -> u64 {
        self.plan.steps(self.counted.load(Ordering::Relaxed))
    }

    pub(super) fn fate(&self) -> Option<Ending> {
        self.state.lock().fate
    }

    /// Calls all workers off.
    pub(super) fn close(&self) {
        self.halt(&self.state.lock());
    }

    /// Under the lock, so that nobody falls asleep meanwhile.
    fn halt(&self, _state: &State) {
        self.halted.store(true, Ordering::Relaxed);
        for bell in &self.bells {
            bell.notify_all();
        }
    }

    pub(super) fn tick(&self) -> Tick {
        Tick::after(self.began.elapsed())
    }
}

pub(super) fn sender(worker: usize) -> Sender {
    Sender::first(u32::try_from(worker).expect("workers are counted by 32 bits"))
}
