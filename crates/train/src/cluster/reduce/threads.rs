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
    };
    let (snapshots, heard) = sync_channel(1);
    let ending = std::thread::scope(|scope| {
        for (worker, group) in (0..).zip(ThreadGroup::new(workers)) {
            let (hall, snapshots) = (&hall, snapshots.clone());
            std::thread::Builder::new()
                .name(format!("worker{worker}"))
                .spawn_scoped(scope, move || {
                    hall.work(worker, Circle::Threads(group), &snapshots);
                })
                .expect("the system starts a thread");
        }
        drop(snapshots);
        let steps = || hall.steps.load(Ordering::Relaxed);
        let ending = hall.desks.conduct(conductor, heard, stop, steps);
        hall.signs.stop();
        ending
    })?;
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
}

impl Hall<'_> {
    fn work(&self, worker: u32, mut circle: Circle, snapshots: &SyncSender<Snapshot>) {
        let speaks = worker == 0;
        let mut walk = Walk::new(self.session, worker);
        loop {
            match walk.stride(&mut circle, &self.signs) {
                Ok(Stride::Taken(step)) => {
                    let due = step.due;
                    {
                        let mut desk = self.desks.of(worker as usize);
                        desk.pulse.add(step.own);
                        step.enter(&mut desk.account);
                    }
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
