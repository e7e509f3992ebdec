//! Where a worker's iterations are written down, one by one.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use paceline_model::{Iteration, WorkerId};
use paceline_records::{IterationLog, WriteRecordError};

use super::thread_account::ThreadAccount;
use crate::clock::now;
use crate::session::TrainError;

/// The live record of the run that a training is.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The record's directory.
    pub dir: PathBuf,
    /// When the run started.
    pub started: Instant,
}

impl RunRecord {
    /// The record in `dir` of a run that started so long ago.
    pub fn started_ago(dir: &Path, age: Duration) -> Self {
        let now = now();
        Self {
            dir: dir.to_owned(),
            // A machine that has not run for so long counts from its own start.
            started: now.checked_sub(age).unwrap_or(now),
        }
    }
}

/// One worker's log, if there is a record to keep it in.
pub(crate) struct WorkerLog {
    log: Option<IterationLog>,
    started: Instant,
    /// Of the worker's thread, from its first row on.
    account: Option<ThreadAccount>,
}

impl WorkerLog {
    pub(crate) fn open(record: Option<&RunRecord>, worker: u32) -> Result<Self, WriteRecordError> {
        Ok(match record {
            Some(RunRecord { dir, started }) => Self {
                log: Some(IterationLog::create(dir, WorkerId(worker))?),
                started: *started,
                account: None,
            },
            None => Self {
                log: None,
                started: now(),
                account: None,
            },
        })
    }

    /// The logs of all workers of this process, by number.
    pub(crate) fn of_all(
        record: Option<&RunRecord>,
        workers: NonZeroU32,
    ) -> Result<Vec<Self>, TrainError> {
        let open = |worker| {
            Self::open(record, worker).map_err(|source| TrainError::Record { worker, source })
        };
        (0..workers.get()).map(open).collect()
    }

    /// A moment as the record tells it.
    pub(crate) fn at(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.started)
    }

    /// Writes down a row, with what the kernel says of the thread that calls: the
    /// worker's own.
    pub(crate) fn enter(&mut self, row: &Iteration) {
        let Some(log) = &mut self.log else { return };
        let ended = row.ended();
        let account = self
            .account
            .get_or_insert_with(|| ThreadAccount::open(ended));
        let spent = account.since_last(ended);
        log.append(&Iteration {
            on_cpu: spent.on_cpu,
            runnable: spent.runnable,
            ..*row
        });
    }

    pub(crate) fn close(self) -> Result<(), WriteRecordError> {
        self.log.map_or(Ok(()), IterationLog::close)
    }
}
