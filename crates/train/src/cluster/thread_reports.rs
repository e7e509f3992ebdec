//! What workers that are threads lay out for the evaluator, and how it looks.

use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use paceline_nets::Tally;

use super::evaluator::{Evaluator, PROGRESS_EVERY};
use super::snapshot::Snapshot;
use super::totals::WorkerTotals;
use crate::session::{Ending, TrainError};

/// What a worker reports of itself.
pub(crate) struct WorkerReport {
    pub(crate) totals: WorkerTotals,
    /// Its rows since the evaluator looked.
    pub(crate) pulse: Tally,
}

/// Everybody's report, by worker.
pub(crate) struct WorkerReports(Vec<Mutex<WorkerReport>>);

impl WorkerReports {
    pub(crate) fn new(workers: usize) -> Self {
        let empty = || WorkerReport {
            totals: WorkerTotals::new(workers),
            pulse: Tally::default(),
        };
        Self((0..workers).map(|_| Mutex::new(empty())).collect())
    }

    pub(crate) fn of(&self, worker: usize) -> MutexGuard<'_, WorkerReport> {
        self.0[worker].lock()
    }

    pub(crate) fn totals(&self) -> Vec<WorkerTotals> {
        (0..self.0.len())
            .map(|worker| self.of(worker).totals.clone())
            .collect()
    }

    /// Looks at snapshots until one ends the training; none if the workers
    /// ended it. `steps` says how far they are, and `taken` hears that a snapshot was
    /// looked at and may give the next. On return nobody hears
    /// snapshots any more: a worker does not wait to hand one over.
    pub(crate) fn conduct(
        &self,
        evaluator: &mut Evaluator<'_>,
        heard: Receiver<Snapshot>,
        stop: &AtomicBool,
        steps: impl Fn() -> u64,
        taken: impl Fn() -> Option<Snapshot>,
    ) -> Result<Option<Ending>, TrainError> {
        loop {
            match heard.recv_timeout(PROGRESS_EVERY) {
                Ok(snapshot) => {
                    let mut next = Some(snapshot);
                    while let Some(snapshot) = next {
                        if let Some(ending) = evaluator.hear(snapshot)? {
                            return Ok(Some(ending));
                        }
                        next = taken();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Some(Ending::Interrupted));
            }
            if evaluator.is_late() {
                return Ok(Some(Ending::Time));
            }
            let mut pulse = Tally::default();
            for worker in 0..self.0.len() {
                pulse.add(std::mem::take(&mut self.of(worker).pulse));
            }
            evaluator.tell(pulse, steps(), || self.totals());
        }
    }
}
