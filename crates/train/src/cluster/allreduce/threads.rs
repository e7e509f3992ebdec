//! Workers that are threads of this process.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use paceline_wire::ThreadGroup;

use super::collective::Collective;
use super::replica::{Replica, StepResult};
use super::status::SharedStatus;
use crate::cluster::evaluator::Evaluator;
use crate::cluster::notice::Notice;
use crate::cluster::session::ClusterSession;
use crate::cluster::snapshot::Snapshot;
use crate::cluster::thread_reports::WorkerReports;
use crate::cluster::totals::WorkerTotals;
use crate::cluster::worker_log::WorkerLog;
use crate::session::{Ending, TrainError};

/// Trains on threads until the goal is met.
pub(in crate::cluster) fn train(
    session: &ClusterSession,
    evaluator: &mut Evaluator<'_>,
    stop: &AtomicBool,
) -> Result<(Ending, Vec<WorkerTotals>), TrainError> {
    let workers = session.cluster.workers.get() as usize;
    let shared = SharedState {
        session,
        status: SharedStatus::default(),
        steps: AtomicU64::new(session.progress.steps),
        reports: WorkerReports::new(workers),
        left: Mutex::new(None),
        unwritten: Mutex::new(Vec::new()),
    };
    let logs = WorkerLog::of_all(session.record.as_ref(), session.cluster.workers)?;
    let (snapshots, heard) = sync_channel(1);
    let ending = std::thread::scope(|scope| {
        let groups = ThreadGroup::new(workers);
        for ((worker, mut log), group) in (0..).zip(logs).zip(groups) {
            let (shared, snapshots) = (&shared, snapshots.clone());
            std::thread::Builder::new()
                .name(format!("worker{worker}"))
                .spawn_scoped(scope, move || {
                    shared.work(worker, Collective::Threads(group), &mut log, &snapshots);
                    if let Err(source) = log.close() {
                        let mut unwritten = shared.unwritten.lock();
                        unwritten.push(Notice::Unwritten { worker, source });
                    }
                })
                .expect("the system starts a thread");
        }
        drop(snapshots);
        let steps = || shared.steps.load(Ordering::Relaxed);
        let ending = shared
            .reports
            .conduct(evaluator, heard, stop, steps, || None);
        shared.status.stop();
        ending
    })?;
    let unwritten = shared.unwritten.into_inner();
    for notice in unwritten {
        evaluator.watch.noticed(&notice);
    }
    let left = shared.left.into_inner();
    let ending = match (ending, &left) {
        (Some(ending), _) => ending,
        (None, None) => Ending::Diverged,
        (None, Some(_)) => Ending::Interrupted,
    };
    if let (Ending::Time | Ending::Interrupted, Some(mut left)) = (ending, left) {
        left.due.evaluation = ending == Ending::Time;
        left.due.end = false;
        evaluator.hear(left)?;
    }
    Ok((ending, shared.reports.totals()))
}

/// What the workers share besides their sums.
struct SharedState<'a> {
    session: &'a ClusterSession,
    status: SharedStatus,
    steps: AtomicU64,
    reports: WorkerReports,
    /// What the first worker had when all were called off.
    left: Mutex<Option<Snapshot>>,
    /// What could not be recorded.
    unwritten: Mutex<Vec<Notice>>,
}

impl SharedState<'_> {
    fn work(
        &self,
        worker: u32,
        mut collective: Collective,
        log: &mut WorkerLog,
        snapshots: &SyncSender<Snapshot>,
    ) {
        let speaks = worker == 0;
        let mut replica = Replica::new(self.session, worker);
        loop {
            match replica.stride(&mut collective, &self.status) {
                Ok(StepResult::Taken(step)) => {
                    let due = step.due;
                    let row = step.row(log);
                    {
                        let mut report = self.reports.of(worker as usize);
                        report.pulse.add(step.own);
                        report.totals.enter(&row);
                    }
                    log.enter(&row);
                    if speaks {
                        self.steps.store(replica.step(), Ordering::Relaxed);
                        if due.is_any() && snapshots.send(replica.snapshot(due)).is_err() {
                            self.status.stop();
                        }
                    }
                    if due.end {
                        return;
                    }
                }
                Ok(StepResult::Stopped) => {
                    if speaks {
                        let mut left = self.left.lock();
                        *left = Some(replica.last_snapshot());
                    }
                    return;
                }
                Ok(StepResult::Diverged) | Err(_) => return,
            }
        }
    }
}
