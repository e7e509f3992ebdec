//! Workers that sum their gradients among themselves, without a server: every
//! worker holds all parameters and takes the same steps.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_nets::{Layout, Tally};
use paceline_wire::ThreadGroup;

use super::account::Account;
use super::conductor::{Conductor, Due, Milestones, PROGRESS_EVERY, Snapshot};
use super::round::Rounds;
use super::session::ClusterSession;
use super::store::{Rates, Store};
use super::update::{Part, Span, Update};
use crate::clock::now;
use crate::session::{Ending, TrainError};

/// Trains on threads until the goal is met.
pub(super) fn train(
    session: &ClusterSession,
    conductor: &mut Conductor<'_>,
    milestones: Milestones,
    stop: &AtomicBool,
) -> Result<(Ending, Vec<Account>), TrainError> {
    let workers = session.cluster.workers.get();
    let circle = Circle {
        session,
        milestones,
        halted: AtomicBool::new(false),
        steps: AtomicU64::new(session.progress.steps),
        last_come: AtomicU32::new(0),
        desks: (0..workers)
            .map(|_| {
                Mutex::new(Desk {
                    account: Account::new(workers as usize),
                    pulse: Tally::default(),
                })
            })
            .collect(),
        left: Mutex::new(None),
    };
    let (snapshots, heard) = sync_channel(1);
    let ending = std::thread::scope(|scope| {
        for (worker, group) in (0..).zip(ThreadGroup::new(workers as usize)) {
            let (circle, snapshots) = (&circle, snapshots.clone());
            std::thread::Builder::new()
                .name(format!("worker{worker}"))
                .spawn_scoped(scope, move || circle.work(worker, group, &snapshots))
                .expect("the system starts a thread");
        }
        drop(snapshots);
        let ending = circle.conduct(conductor, heard, stop);
        circle.halted.store(true, Ordering::Relaxed);
        ending
    })?;
    let left = lock(&circle.left).take();
    let ending = match (ending, &left) {
        (Some(ending), _) => ending,
        (None, None) => Ending::Diverged,
        (None, Some(_)) => Ending::Interrupted,
    };
    if let (Ending::Time | Ending::Interrupted, Some(mut left)) = (ending, left) {
        left.due.evaluation = ending == Ending::Time;
        conductor.hear(left)?;
    }
    let accounts = circle.accounts();
    Ok((ending, accounts))
}

/// What the workers share besides their sums.
struct Circle<'a> {
    session: &'a ClusterSession,
    milestones: Milestones,
    halted: AtomicBool,
    steps: AtomicU64,
    /// Who came last to the present meeting.
    last_come: AtomicU32,
    desks: Vec<Mutex<Desk>>,
    /// What the first worker had when all were called off.
    left: Mutex<Option<Snapshot>>,
}

struct Desk {
    account: Account,
    pulse: Tally,
}

/// Numbers that travel with a gradient: the loss in two parts, since it is of
/// double precision, hits, rows, and whether somebody wants to stop.
const EXTRA: usize = 5;

impl Circle<'_> {
    fn conduct(
        &self,
        conductor: &mut Conductor<'_>,
        heard: Receiver<Snapshot>,
        stop: &AtomicBool,
    ) -> Result<Option<Ending>, TrainError> {
        loop {
            match heard.recv_timeout(PROGRESS_EVERY) {
                Ok(snapshot) => {
                    if let Some(ending) = conductor.hear(snapshot)? {
                        return Ok(Some(ending));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Some(Ending::Interrupted));
            }
            if conductor.is_late() {
                return Ok(Some(Ending::Time));
            }
            let mut pulse = Tally::default();
            for desk in &self.desks {
                pulse.add(std::mem::take(&mut lock(desk).pulse));
            }
            let steps = self.steps.load(Ordering::Relaxed);
            conductor.tell(pulse, steps, || self.accounts());
        }
    }

    fn work(&self, worker: u32, mut group: ThreadGroup, snapshots: &SyncSender<Snapshot>) {
        let session = self.session;
        let layout = session.model.layout();
        let mut store = Store::new(Span::whole(layout), &session.parameters, &session.optimizer);
        let mut rounds = Rounds::new(
            worker,
            Arc::clone(&session.model),
            session.data.train.clone(),
            session.settings.clone(),
            &session.cluster,
        );
        let mut update = Update::none(layout);
        let mut sums = Sums::new(layout);
        let mut since = Tally::default();
        let mut step = session.progress.steps;
        loop {
            let began = now();
            let found = rounds.compute(step, &store.parameters()[..], &mut update);
            let computed = now();
            sums.put(&update, found, self.halted.load(Ordering::Relaxed));
            self.last_come.store(worker, Ordering::Relaxed);
            if group.meet().is_err() {
                return;
            }
            let met = now();
            let last = self.last_come.load(Ordering::Relaxed);
            if group.all_reduce(&mut sums.values).is_err() {
                return;
            }
            let (tally, stops) = sums.take(&mut update);
            if stops || !tally.loss.is_finite() {
                if worker == 0 && stops {
                    *lock(&self.left) = Some(snapshot(&store, step, Due::default(), since));
                }
                return;
            }
            let part = Part {
                dense: &update.dense,
                rows: &update.rows,
                cells: &update.cells,
            };
            store.apply(&[part], self.rates(step));
            since.add(tally);
            let due = self.milestones.between(step, step + 1);
            step += 1;
            {
                let mut desk = lock(&self.desks[worker as usize]);
                let Desk { account, pulse } = &mut *desk;
                pulse.add(found);
                account.iterations += 1;
                account.rows += found.rows;
                account.computing += computed - began;
                account.waiting += met - computed;
                account.waited_for[last as usize] += met - computed;
                account.sending += met.elapsed();
            }
            if worker == 0 {
                self.steps.store(step, Ordering::Relaxed);
                if due.is_any() {
                    let tally = std::mem::take(&mut since);
                    if snapshots.send(snapshot(&store, step, due, tally)).is_err() {
                        self.halted.store(true, Ordering::Relaxed);
                    }
                }
            }
            if due.end {
                return;
            }
        }
    }

    fn rates(&self, step: u64) -> Rates {
        let settings = &self.session.settings;
        let epochs = step as f64 / self.milestones.per_epoch as f64;
        Rates {
            rate: (settings.rate * settings.schedule.factor(epochs)) as f32,
            decay: settings.decay,
            shrink: 1.0,
        }
    }

    fn accounts(&self) -> Vec<Account> {
        self.desks
            .iter()
            .map(|desk| lock(desk).account.clone())
            .collect()
    }
}

/// A gradient laid out for summing: the dense part, the table, a mark for each
/// of its rows that was touched, and [`EXTRA`].
struct Sums {
    values: Vec<f32>,
    dense: usize,
    rows: usize,
    stride: usize,
}

impl Sums {
    fn new(layout: &Layout) -> Self {
        let dense = layout.dense().len();
        let (rows, stride) = layout
            .table()
            .map_or((0, 0), |table| (table.rows, table.stride));
        Self {
            values: vec![0.0; dense + rows * (stride + 1) + EXTRA],
            dense,
            rows,
            stride,
        }
    }

    fn put(&mut self, update: &Update, tally: Tally, stops: bool) {
        let (dense, rest) = self.values.split_at_mut(self.dense);
        dense.copy_from_slice(&update.dense);
        rest.fill(0.0);
        let (table, rest) = rest.split_at_mut(self.rows * self.stride);
        let (marks, extra) = rest.split_at_mut(self.rows);
        let cells = update.cells.chunks_exact(self.stride.max(1));
        for (row, values) in update.rows.iter().zip(cells) {
            let row = *row as usize;
            table[row * self.stride..][..self.stride].copy_from_slice(values);
            marks[row] = 1.0;
        }
        let high = tally.loss as f32;
        extra.copy_from_slice(&[
            high,
            (tally.loss - f64::from(high)) as f32,
            tally.hits as f32,
            tally.rows as f32,
            f32::from(u8::from(stops)),
        ]);
    }

    fn take(&self, update: &mut Update) -> (Tally, bool) {
        let (dense, rest) = self.values.split_at(self.dense);
        update.dense.copy_from_slice(dense);
        let (table, rest) = rest.split_at(self.rows * self.stride);
        let (marks, extra) = rest.split_at(self.rows);
        update.rows.clear();
        update.cells.clear();
        for (row, _) in (0..).zip(marks).filter(|(_, mark)| **mark > 0.0) {
            update.rows.push(row);
            update
                .cells
                .extend_from_slice(&table[row as usize * self.stride..][..self.stride]);
        }
        let tally = Tally {
            loss: f64::from(extra[0]) + f64::from(extra[1]),
            hits: extra[2] as u64,
            rows: extra[3] as u64,
        };
        (tally, extra[4] > 0.0)
    }
}

fn snapshot(store: &Store, steps: u64, due: Due, tally: Tally) -> Snapshot {
    Snapshot {
        steps,
        parameters: Arc::clone(store.parameters()),
        optimizer: store.optimizer().clone(),
        tally,
        due,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
