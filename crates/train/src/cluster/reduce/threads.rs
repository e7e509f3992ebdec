//! Workers that are threads of this process.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use paceline_wire::ThreadGroup;

use super::circle::Circle;
use super::signs::Signs;
use super::walk::{Stride, Walk};
use crate::cluster::account::Account;
use crate::cluster::conductor::{Conductor, Snapshot};
use crate::cluster::desk::Desks;
use crate::cluster::ledger::Ledger;
use crate::cluster::notice::Notice;
use crate::cluster::session::ClusterSession;
use crate::session::{Ending, TrainError};

/// Trains on threads until the goal is met.
pub(in crate::cluster) fn train(
    session: &ClusterSession,
    conductor: &mut Conductor<'_>,
    stop: &AtomicBool,
) -> Result<(Ending, Vec<Account>), TrainError> {
    let workers = session.cluster.workers.get() as usize;
    let hall = Hall {
        session,
        signs: Signs::default(),
        steps: AtomicU64::new(session.progress.steps),
        desks: Desks::new(workers),
        left: Mutex::new(None),
        unwritten: Mutex::new(Vec::new()),
    };
    let ledgers = Ledger::of_all(session.record.as_ref(), session.cluster.workers)?;
    let (snapshots, heard) = sync_channel(1);
    let ending = std::thread::scope(|scope| {
        let groups = ThreadGroup::new(workers);
        for ((worker, mut ledger), group) in (0..).zip(ledgers).zip(groups) {
            let (hall, snapshots) = (&hall, snapshots.clone());
            std::thread::Builder::new()
                .name(format!("worker{worker}"))
                .spawn_scoped(scope, move || {
                    hall.work(worker, Circle::Threads(group), &mut ledger, &snapshots);
                    if let Err(source) = ledger.close() {
                        let mut unwritten = hall
                            .unwritten
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner);
                        unwritten.push(Notice::Unwritten { worker, source });
                    }
                })
                .expect("the system starts a thread");
        }
        drop(snapshots);
        let steps = || hall.steps.load(Ordering::Relaxed);
        let ending = hall.desks.conduct(conductor, heard, stop, steps);
        hall.signs.stop();
        ending
    })?;
    let unwritten = hall
        .unwritten
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    for notice in unwritten {
        conductor.watch.noticed(&notice);
    }
    let left = hall
        .left
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let ending = match (ending, &left) {
        (Some(ending), _) => ending,
        (None, None) => Ending::Diverged,
        (None, Some(_)) => Ending::Interrupted,
    };
    if let (Ending::Time | Ending::Interrupted, Some(mut left)) = (ending, left) {
        left.due.evaluation = ending == Ending::Time;
        left.due.end = false;
        conductor.hear(left)?;
    }
    Ok((ending, hall.desks.accounts()))
}

/// What the workers share besides their sums.
struct Hall<'a> {
    session: &'a ClusterSession,
    signs: Signs,
    steps: AtomicU64,
    desks: Desks,
    /// What the first worker had when all were called off.
    left: Mutex<Option<Snapshot>>,
    /// What could not be recorded.
    unwritten: Mutex<Vec<Notice>>,
}

impl Hall<'_> {
    fn work(
        &self,
        worker: u32,
        mut circle: Circle,
        ledger: &mut Ledger,
        snapshots: &SyncSender<Snapshot>,
    ) {
        let speaks = worker == 0;
        let mut walk = Walk::new(self.session, worker);
        loop {
            match walk.stride(&mut circle, &self.signs) {
                Ok(Stride::Taken(step)) => {
                    let due = step.due;
                    let row = step.row(ledger);
                    {
                        let mut desk = self.desks.of(worker as usize);
                        desk.pulse.add(step.own);
                        desk.account.enter(&row);
                    }
                    ledger.enter(&row);
                    if speaks {
                        self.steps.store(walk.step(), Ordering::Relaxed);
                        if due.is_any() && snapshots.send(walk.snapshot(due)).is_err() {
                            self.signs.stop();
                        }
                    }
                    if due.end {
                        return;
                    }
                }
                Ok(Stride::Stopped) => {
                    if speaks {
                        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
                        *left = Some(walk.last_snapshot());
                    }
                    return;
                }
                Ok(Stride::Diverged) | Err(_) => return,
            }
        }
    }
}
