//! Workers as threads that share the parameters' memory.
//!
//! Where updates are gathered, a version of the parameters is shared without a
//! copy and the worker that completes an iteration applies all updates in the
//! order of the workers. External every worker applies its own update and takes
//! a copy of the parameters, server range by server range.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use paceline_kernels::AlignedBuffer;
use paceline_model::{Iteration, WorkerId};
use paceline_nets::Tally;
use paceline_sync::{Action, Clock, Consistency, Coordinator, Receipt, Sender, Tick};

use super::evaluator::{Due, Evaluator, Milestones, Snapshot};
use super::notice::Notice;
use super::session::ClusterSession;
use super::store::{Rates, Store};
use super::thread_reports::WorkerReports;
use super::totals::WorkerTotals;
use super::update::{Span, Update};
use super::worker_compute::WorkerCompute;
use super::worker_log::WorkerLog;
use crate::clock::now;
use crate::optimizer::{Optimizer, OptimizerState};
use crate::session::{Ending, Settings, TrainError};

/// How often a waiting worker looks before it sleeps: workers arrive within
/// microseconds of each other, or something holds one of them up.
const LOOKS: u32 = 400;
/// From this look on the worker gives its core away each time.
const YIELDS_FROM: u32 = 100;

/// Trains until the goal is met.
pub(super) fn train(
    session: &ClusterSession,
    evaluator: &mut Evaluator<'_>,
    milestones: Milestones,
    stop: &AtomicBool,
) -> Result<(Ending, Vec<WorkerTotals>), TrainError> {
    let shared = SharedState::new(session, milestones);
    shared.open();
    let (snapshots, heard) = sync_channel(1);
    let logs = WorkerLog::of_all(session.record.as_ref(), session.cluster.workers)?;
    let ending = std::thread::scope(|scope| {
        for (worker, mut log) in (0..).zip(logs) {
            let (shared, snapshots) = (&shared, snapshots.clone());
            std::thread::Builder::new()
                .name(format!("worker{worker}"))
                .spawn_scoped(scope, move || {
                    let _guard = LeavesWithAll(shared);
                    let compute = WorkerCompute::new(
                        worker,
                        Arc::clone(&session.model),
                        session.data.train.clone(),
                        session.settings.clone(),
                        &session.cluster,
                    );
                    shared.work(worker, compute, &mut log, &snapshots);
                    if let Err(source) = log.close() {
                        lock(&shared.unwritten).push(Notice::Unwritten { worker, source });
                    }
                })
                .expect("the system starts a thread");
        }
        drop(snapshots);
        let steps = || shared.steps();
        let ending = shared.reports.conduct(evaluator, heard, stop, steps);
        shared.close();
        ending
    })?;
    for notice in lock(&shared.unwritten).drain(..) {
        evaluator.watch.noticed(&notice);
    }
    let ending = match ending {
        Some(ending) => ending,
        None => shared.fate().unwrap_or(Ending::Interrupted),
    };
    if matches!(ending, Ending::Time | Ending::Interrupted) {
        // The workers have gone: what they left is the state to go on from.
        evaluator.hear(shared.last_snapshot(ending == Ending::Time))?;
    }
    Ok((ending, shared.reports.totals()))
}

/// Where the workers meet.
struct SharedState<'a> {
    settings: &'a Settings,
    consistency: Consistency,
    workers: usize,
    milestones: Milestones,
    began: Instant,
    halted: AtomicBool,
    /// By worker: whether it has been told to go on.
    called: Vec<AtomicBool>,
    /// By worker: what it sleeps on.
    bells: Vec<Condvar>,
    state: Mutex<State>,
    /// The parameters by server where updates are applied as they come; one
    /// for all where they are gathered, which [`State`] guards as well.
    stores: Vec<Mutex<Store>>,
    reports: WorkerReports,
    /// What could not be recorded.
    unwritten: Mutex<Vec<Notice>>,
    /// Updates that count, of all workers; with gathered updates, iterations.
    counted: AtomicU64,
}

/// What one lock guards.
struct State {
    coordinator: Coordinator,
    told: Vec<Option<Told>>,
    asleep: Vec<bool>,
    /// By worker: its update of the open iteration, once it is there.
    updates: Vec<Update>,
    tallies: Vec<Option<Tally>>,
    /// The training rows since the last snapshot.
    tally: Tally,
    /// The step of the last snapshot.
    looked: u64,
    overdue: Due,
    fate: Option<Ending>,
}

/// An iteration that a worker may start.
#[derive(Clone, Debug)]
struct Told {
    clock: Clock,
    version: Clock,
    waited_for: Option<u32>,
}

/// Ends the training if a worker's thread panics: others would wait for it.
struct LeavesWithAll<'a, 'b>(&'a SharedState<'b>);

impl Drop for LeavesWithAll<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

impl<'a> SharedState<'a> {
    fn new(session: &'a ClusterSession, milestones: Milestones) -> Self {
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
        let spans = if consistency.gathers() {
            vec![Span::whole(layout)]
        } else {
            Span::cut(layout, session.cluster.servers.get() as usize)
        };
        let per_worker = |make: fn() -> Condvar| (0..workers).map(|_| make()).collect();
        Self {
            settings: &session.settings,
            consistency,
            workers,
            milestones,
            began: now(),
            halted: AtomicBool::new(false),
            called: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            bells: per_worker(Condvar::new),
            state: Mutex::new(State {
                coordinator: Coordinator::new(session.rules.resumed_at(Clock(steps))),
                told: vec![None; workers],
                asleep: vec![false; workers],
                updates: vec![Update::none(layout); workers],
                tallies: vec![None; workers],
                tally: Tally::default(),
                looked: steps,
                overdue: Due::default(),
                fate: None,
            }),
            stores: spans
                .into_iter()
                .map(|span| Mutex::new(Store::new(span, &session.parameters, &optimizer)))
                .collect(),
            reports: WorkerReports::new(workers),
            unwritten: Mutex::new(Vec::new()),
            counted: AtomicU64::new(if consistency.gathers() {
                steps
            } else {
                steps * workers as u64
            }),
        }
    }

    /// Has every worker join and ask for its first iteration.
    fn open(&self) {
        let mut state = lock(&self.state);
        let mut actions = Vec::new();
        let first = state.coordinator.version();
        for worker in 0..self.workers {
            let joined = state
                .coordinator
                .join(sender(worker), Tick(0), &mut actions);
            joined.expect("there is room for every worker");
        }
        for worker in 0..self.workers {
            let read = state
                .coordinator
                .read(sender(worker), first, Tick(0), &mut actions);
            read.expect("the worker has joined");
        }
        self.carry_out(&mut state, &mut actions, None);
    }

    /// One worker's life.
    fn work(
        &self,
        worker: u32,
        mut compute: WorkerCompute,
        log: &mut WorkerLog,
        snapshots: &SyncSender<Snapshot>,
    ) {
        let me = worker as usize;
        let mut actions = Vec::with_capacity(2 * self.workers + 2);
        let (mut update, mut own) = {
            let state = lock(&self.state);
            let len = self.stores.iter().map(|store| lock(store).span().len());
            let own = if self.consistency.gathers() {
                0
            } else {
                len.sum()
            };
            (state.updates[me].clone(), AlignedBuffer::zeroed(own))
        };
        self.copy_parameters(me, &mut own);
        let mut began = now();
        loop {
            let Some((told, shared)) = self.wait(me) else {
                return;
            };
            let started = now();
            if !self.consistency.gathers() && self.consistency != Consistency::Async {
                self.copy_parameters(me, &mut own);
            }
            let parameters: &[f32] = shared.as_ref().map_or(&own, |shared| &shared[..]);
            let received = now();
            let tally = compute.compute(told.clock.0, parameters, &mut update);
            drop(shared);
            let computed = now();
            if !tally.loss.is_finite() {
                lock(&self.state).fate = Some(Ending::Diverged);
                self.close();
                return;
            }
            let receipt = if self.consistency.gathers() {
                self.gather(me, told.clock, tally, &mut update, &mut actions, snapshots)
            } else {
                self.apply(
                    me,
                    told.clock,
                    tally,
                    &update,
                    &mut own,
                    &mut actions,
                    snapshots,
                )
            };
            let sent = now();
            let iterations = self.consistency.iterations_per_update();
            let row = Iteration {
                clock: told.clock.0,
                iterations,
                began: log.at(began),
                waiting: started - began,
                waited_for: told.waited_for.map(WorkerId),
                receiving: received - started,
                computing: computed - received,
                sending: sent - computed,
                rows: tally.rows,
                sent_bytes: 0,
                received_bytes: 0,
                staleness: told.clock.lead(told.version) * iterations,
                dropped: u64::from(receipt == Receipt::Late),
            };
            {
                let mut report = self.reports.of(me);
                report.pulse.add(tally);
                report.totals.enter(&row);
            }
            log.enter(&row);
            began = sent;
        }
    }

    /// Waits until worker `me` may start an iteration, and where updates are
    /// gathered takes the version it starts from. None when all is over.
    fn wait(&self, me: usize) -> Option<(Told, Option<Arc<AlignedBuffer>>)> {
        for look in 0..LOOKS {
            if self.called[me].load(Ordering::Acquire) || self.halted.load(Ordering::Relaxed) {
                break;
            }
            if look < YIELDS_FROM {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        let mut state = lock(&self.state);
        loop {
            if self.halted.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(told) = state.told[me].take() {
                self.called[me].store(false, Ordering::Relaxed);
                let shared = self
                    .consistency
                    .gathers()
                    .then(|| Arc::clone(lock(&self.stores[0]).parameters()));
                return Some((told, shared));
            }
            state.asleep[me] = true;
            state = self.bells[me]
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.asleep[me] = false;
        }
    }

    /// Hands over an update that counts when its iteration closes.
    fn gather(
        &self,
        me: usize,
        clock: Clock,
        tally: Tally,
        update: &mut Update,
        actions: &mut Vec<Action>,
        snapshots: &SyncSender<Snapshot>,
    ) -> Receipt {
        let mut state = lock(&self.state);
        let receipt = state
            .coordinator
            .update_and_read(sender(me), clock, self.tick(), actions)
            .expect("a worker's thread follows the rules");
        if receipt == Receipt::Counted {
            std::mem::swap(&mut state.updates[me], update);
            state.tallies[me] = Some(tally);
        }
        self.carry_out(&mut state, actions, Some(snapshots));
        receipt
    }

    /// Applies an update at once, and under `async` takes the parameters along.
    #[expect(
        clippy::too_many_arguments,
        reason = "the counterpart of `gather`, with the worker's own parameters"
    )]
    fn apply(
        &self,
        me: usize,
        clock: Clock,
        tally: Tally,
        update: &Update,
        own: &mut [f32],
        actions: &mut Vec<Action>,
        snapshots: &SyncSender<Snapshot>,
    ) -> Receipt {
        // Before the rules hear of it: whoever they let go on reads it.
        let before = self.counted.fetch_add(1, Ordering::Relaxed);
        let rates = self.rates(before / self.workers as u64);
        let is_async = self.consistency == Consistency::Async;
        self.each_store(me, |store| {
            let part = update.within(store.span());
            store.apply(&[part], rates);
            if is_async {
                own[store.span().flat()].copy_from_slice(store.parameters());
            }
        });
        let mut state = lock(&self.state);
        let receipt = state
            .coordinator
            .update_and_read(sender(me), clock, self.tick(), actions)
            .expect("a worker's thread follows the rules");
        state.tally.add(tally);
        let (was, is) = (
            before / self.workers as u64,
            (before + 1) / self.workers as u64,
        );
        let mut due = self.milestones.between(was, is);
        due.evaluation |= state.overdue.evaluation;
        due.checkpoint |= state.overdue.checkpoint;
        if was != is && due.is_any() && state.fate.is_none() {
            self.look(&mut state, is, due, snapshots);
        }
        self.carry_out(&mut state, actions, None);
        receipt
    }

    /// Hands a snapshot over. The workers' updates that arrive meanwhile wait.
    fn look(&self, state: &mut State, steps: u64, due: Due, snapshots: &SyncSender<Snapshot>) {
        let snapshot = self.snapshot(steps, due, state.tally);
        if self.consistency.gathers() || due.end {
            // Every snapshot of a synchronous training is looked at, so that a
            // repetition finds the same; the end is in any.
            if snapshots.send(snapshot).is_err() {
                self.halted.store(true, Ordering::Relaxed);
            }
        } else {
            match snapshots.try_send(snapshot) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => {
                    // Nobody waits for an evaluation: the next step is as good.
                    state.overdue = due;
                    return;
                }
                Err(TrySendError::Disconnected(_)) => self.halted.store(true, Ordering::Relaxed),
            }
        }
        state.tally = Tally::default();
        state.overdue = Due::default();
        state.looked = steps;
        if due.end {
            state.fate = Some(Ending::Steps);
            self.halted.store(true, Ordering::Relaxed);
            self.wake_all(state);
        }
    }

    fn carry_out(
        &self,
        state: &mut State,
        actions: &mut Vec<Action>,
        snapshots: Option<&SyncSender<Snapshot>>,
    ) {
        for action in actions.drain(..) {
            match action {
                Action::Close {
                    clock,
                    counted,
                    version,
                } => {
                    self.close_iteration(state, clock, counted);
                    self.counted.store(version.0, Ordering::Relaxed);
                    let due = self.milestones.between(state.looked, version.0);
                    if let (true, Some(snapshots)) = (due.is_any(), snapshots) {
                        self.look(state, version.0, due, snapshots);
                    }
                }
                Action::Proceed {
                    to,
                    clock,
                    version,
                    waited_for,
                } => {
                    let worker = to.worker.0 as usize;
                    state.told[worker] = Some(Told {
                        clock,
                        version,
                        waited_for: waited_for.map(|other| other.0),
                    });
                    self.called[worker].store(true, Ordering::Release);
                    if state.asleep[worker] {
                        self.bells[worker].notify_one();
                    }
                }
                Action::Welcome { .. } | Action::Empty => {}
                Action::Lost { .. } | Action::Replace { .. } | Action::Fail { .. } => {
                    unreachable!("a thread is not lost without its process")
                }
            }
        }
    }

    /// Applies the updates of an iteration, in the order of the workers.
    fn close_iteration(&self, state: &mut State, clock: Clock, counted: u32) {
        let mut store = lock(&self.stores[0]);
        let parts: Vec<_> = state
            .tallies
            .iter()
            .zip(&state.updates)
            .filter(|(tally, _)| tally.is_some())
            .map(|(_, update)| update.within(store.span()))
            .collect();
        let mut rates = match self.consistency {
            Consistency::Local { .. } => Rates {
                rate: 1.0,
                decay: 0.0,
                shrink: 1.0,
            },
            _ => self.rates(clock.0),
        };
        rates.shrink = self.workers as f32 / counted as f32;
        store.apply(&parts, rates);
        for tally in state.tallies.iter_mut().filter_map(Option::take) {
            state.tally.add(tally);
        }
    }

    fn rates(&self, steps: u64) -> Rates {
        Rates::at(steps, self.settings, self.milestones.per_epoch)
    }

    fn copy_parameters(&self, me: usize, own: &mut [f32]) {
        if !self.consistency.gathers() {
            self.each_store(me, |store| {
                own[store.span().flat()].copy_from_slice(store.parameters());
            });
        }
    }

    /// Visits every store, each worker beginning at another, so that they
    /// seldom meet.
    fn each_store(&self, me: usize, mut visit: impl FnMut(&mut Store)) {
        let count = self.stores.len();
        for place in 0..count {
            visit(&mut lock(&self.stores[(me + place) % count]));
        }
    }

    fn snapshot(&self, steps: u64, due: Due, tally: Tally) -> Snapshot {
        // All at once, so that it is one state.
        let stores: Vec<_> = self.stores.iter().map(lock).collect();
        let optimizer = match self.consistency {
            Consistency::Local { .. } => {
                let len = stores.iter().map(|store| store.span().len()).sum();
                OptimizerState {
                    steps,
                    ..OptimizerState::new(self.settings.optimizer, len)
                }
            }
            _ => whole_optimizer(&stores),
        };
        let parameters = match &stores[..] {
            [only] => Arc::clone(only.parameters()),
            several => {
                let len = several.iter().map(|store| store.span().len()).sum();
                let mut all = AlignedBuffer::zeroed(len);
                for store in several {
                    all[store.span().flat()].copy_from_slice(store.parameters());
                }
                Arc::new(all)
            }
        };
        Snapshot {
            steps,
            parameters,
            optimizer,
            tally,
            due,
        }
    }

    /// What the workers left when they were called off.
    fn last_snapshot(&self, evaluated: bool) -> Snapshot {
        let state = lock(&self.state);
        let due = Due {
            evaluation: evaluated,
            ..Due::default()
        };
        self.snapshot(self.steps(), due, state.tally)
    }

    fn steps(&self) -> u64 {
        let counted = self.counted.load(Ordering::Relaxed);
        if self.consistency.gathers() {
            counted
        } else {
            counted / self.workers as u64
        }
    }

    fn fate(&self) -> Option<Ending> {
        lock(&self.state).fate
    }

    /// Calls all workers off.
    fn close(&self) {
        self.halted.store(true, Ordering::Relaxed);
        self.wake_all(&lock(&self.state));
    }

    fn wake_all(&self, _state: &State) {
        for bell in &self.bells {
            bell.notify_all();
        }
    }

    fn tick(&self) -> Tick {
        Tick(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The optimizer's memory of all servers in one.
fn whole_optimizer(stores: &[impl std::ops::Deref<Target = Store>]) -> OptimizerState {
    let first = stores[0].optimizer();
    if let [_] = stores {
        return first.clone();
    }
    let len = stores.iter().map(|store| store.span().len()).sum();
    let mut all = OptimizerState::new(first.optimizer, len);
    all.steps = first.steps;
    for store in stores {
        for (all, own) in all.moments.iter_mut().zip(&store.optimizer().moments) {
            all[store.span().flat()].copy_from_slice(own);
        }
    }
    all
}

fn sender(worker: usize) -> Sender {
    Sender::first(u32::try_from(worker).expect("workers are counted by 32 bits"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
