//! Workers as threads that share the parameters' memory.
//!
//! Where updates are gathered, a version of the parameters is shared without a
//! copy and the worker that completes an iteration applies all updates in the
//! order of the workers. Elsewhere every worker applies its own update and takes
//! a copy of the parameters, range by range.

mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use paceline_kernels::AlignedBuffer;
use paceline_model::{Iteration, WorkerId};
use paceline_sync::{Clock, Consistency, Receipt};

use super::evaluator::Evaluator;
use super::milestones::Milestones;
use super::notice::Notice;
use super::session::ClusterSession;
use super::shard::Arrival;
use super::snapshot::Snapshot;
use super::totals::WorkerTotals;
use super::update::Update;
use super::worker_compute::WorkerCompute;
use super::worker_log::WorkerLog;
use crate::clock::now;
use crate::session::{Ending, TrainError};
use state::{SharedState, Told, sender};

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
    // One snapshot is looked at or on its way: nobody waits to hand one over.
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
                        shared
                            .unwritten
                            .lock()
                            .push(Notice::Unwritten { worker, source });
                    }
                })
                .expect("the system starts a thread");
        }
        drop(snapshots);
        let (steps, taken) = (|| shared.steps(), || shared.snapshot_taken());
        let ending = shared.reports.conduct(evaluator, heard, stop, steps, taken);
        shared.close();
        ending
    })?;
    for notice in shared.unwritten.lock().drain(..) {
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

/// Ends the training if a worker's thread panics: others would wait for it.
struct LeavesWithAll<'a, 'b>(&'a SharedState<'b>);

impl Drop for LeavesWithAll<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

impl SharedState<'_> {
    /// One worker's work.
    fn work(
        &self,
        worker: u32,
        mut compute: WorkerCompute,
        log: &mut WorkerLog,
        snapshots: &SyncSender<Snapshot>,
    ) {
        let me = worker as usize;
        let consistency = self.plan.consistency;
        let mut update = Update::none(self.session.model.layout());
        let mut own = AlignedBuffer::zeroed(match consistency.gathers() {
            true => 0,
            false => self.session.model.layout().len(),
        });
        self.copy_parameters(me, &mut own);
        let mut began = now();
        loop {
            let Some((told, version)) = self.wait(me) else {
                return;
            };
            let started = now();
            if !consistency.gathers() && consistency != Consistency::Async {
                self.copy_parameters(me, &mut own);
            }
            let parameters: &[f32] = version.as_ref().map_or(&own, |version| &version[..]);
            let received = now();
            let tally = compute.compute(told.clock.0, parameters, &mut update);
            drop(version);
            let computed = now();
            let arrival = Arrival {
                from: sender(me),
                clock: told.clock,
                tally,
                then_read: true,
            };
            let (receipt, snapshot, queued) = if consistency.gathers() || !tally.loss.is_finite() {
                self.gather(arrival, &mut update)
            } else {
                self.apply(me, arrival, &update, &mut own)
            };
            let sent = now();
            if let Some(snapshot) = snapshot
                && snapshots.send(snapshot).is_err()
            {
                // Nobody looks any more.
                self.close();
            }
            // What it takes to hand over a snapshot, it is idle.
            let iterations = consistency.iterations_per_update();
            let row = Iteration {
                clock: told.clock.0,
                iterations,
                began: log.at(began),
                waiting: started - began,
                waited_for: told.waited_for.map(WorkerId),
                receiving: received - started,
                computing: computed - received,
                sending: (sent - computed).saturating_sub(queued),
                queued,
                rows: tally.rows,
                sent_bytes: 0,
                received_bytes: 0,
                staleness: told.clock.lead(told.version) * iterations,
                dropped: u64::from(receipt == Receipt::Late),
                ..Iteration::default()
            };
            {
                let mut report = self.reports.of(me);
                report.pulse.add(tally);
                report.totals.enter(&row);
            }
            log.enter(&row);
            began = now();
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
        let mut state = self.state.lock();
        loop {
            if self.halted.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(told) = state.told[me].take() {
                self.called[me].store(false, Ordering::Relaxed);
                return Some((told, state.version()));
            }
            state.asleep[me] = true;
            // Whoever lets this worker go on, or ends the training, rings; a
            // thread that panics ends the training.
            self.bells[me].wait(&mut state);
            state.asleep[me] = false;
        }
    }

    /// Hands over an update that counts when its iteration closes.
    fn gather(
        &self,
        arrival: Arrival,
        update: &mut Update,
    ) -> (Receipt, Option<Snapshot>, Duration) {
        let asked = now();
        let mut state = self.state.lock();
        let queued = asked.elapsed();
        let receipt = state.gather(arrival, update, self.tick());
        let snapshot = self.carry_out(&mut state);
        (receipt, snapshot, queued)
    }

    /// Applies an update at once, and under `async` takes the parameters along.
    fn apply(
        &self,
        me: usize,
        arrival: Arrival,
        update: &Update,
        own: &mut [f32],
    ) -> (Receipt, Option<Snapshot>, Duration) {
        // Before the rules hear of it: whoever they let go on reads it.
        let before = self.counted.fetch_add(1, Ordering::Relaxed);
        let rates = self.plan.rates(self.plan.steps(before));
        let is_async = self.plan.consistency == Consistency::Async;
        self.each_store(me, |store| {
            let part = update.within(store.span());
            store.apply(&[part], rates);
            if is_async {
                own[store.span().flat()].copy_from_slice(store.parameters());
            }
        });
        let asked = now();
        let mut state = self.state.lock();
        let queued = asked.elapsed();
        let receipt = state.applied(arrival, self.tick());
        let snapshot = self.carry_out(&mut state);
        (receipt, snapshot, queued)
    }

    /// The snapshot that was handed over has been looked at; gives the next if
    /// one is due.
    fn snapshot_taken(&self) -> Option<Snapshot> {
        let mut state = self.state.lock();
        state.snapshot_taken();
        self.carry_out(&mut state)
    }

    /// What is known when an iteration may start.
    fn tell(&self, state: &mut state::State, worker: usize, told: Told) {
        state.told[worker] = Some(told);
        self.called[worker].store(true, Ordering::Release);
        if state.asleep[worker] {
            self.bells[worker].notify_one();
        }
    }
}

/// The iteration that a worker may start.
fn told(clock: Clock, version: Clock, waited_for: Option<u32>) -> Told {
    Told {
        clock,
        version,
        waited_for,
    }
}
