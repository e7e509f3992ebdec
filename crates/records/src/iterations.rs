//! The iterations of a training's workers, written by the workers themselves.
//!
//! Each worker appends to a log of its own in `live/`; when the record is closed
//! they become one table. A worker that is started anew begins another log.

use crate::close::end_notice;
use crate::disk::WriteRecordError;
use crate::layout;
use crate::log::{ScanError, names};
use crate::manifest::Notice;
use crate::wal::{IterationCodec, WalError, WalReader, WalWriter};
use paceline_model::{Iteration, WorkerId};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So many iterations of a worker are kept one by one.
const IN_FULL: u64 = 1 << 20;
/// After these, a row stands for twice as many iterations as before each time
/// that so many rows were written.
const PER_DOUBLING: u64 = 1 << 18;
/// Rows that are written together.
const BLOCK_ROWS: usize = 256;
/// Rows reach the file after this time, however few they are.
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);
/// A worker that has been started more often than this does not run.
const MOST_LOGS: u32 = 10_000;

/// Writes down what one worker does, iteration by iteration.
///
/// The first 1,048,576 iterations are kept one by one. Then a row stands for
/// two, after another 262,144 rows for four, and so on, with sums instead of
/// single values: a log grows with the logarithm of the iterations, and its sums
/// stay those of all of them.
///
/// A worker that is killed loses the rows of its last second, at most 256.
pub struct IterationLog {
    log: WalWriter<IterationCodec>,
    block: Vec<Iteration>,
    /// A row that does not stand for enough iterations yet.
    pending: Option<Pending>,
    rows: u64,
    flushed: Duration,
    /// The first failure; nothing is written after it.
    failure: Option<WriteRecordError>,
}

struct Pending {
    row: Iteration,
    appended: u64,
    longest_wait: Duration,
}

impl IterationLog {
    /// Begins a log of `worker` in the record in `dir`, which must be live.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(dir: &Path, worker: WorkerId) -> Result<Self, WriteRecordError> {
        let mut number = 0;
        let log = loop {
            match WalWriter::create(&layout::iterations_wal(dir, worker, number)) {
                Err(WriteRecordError::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists && number < MOST_LOGS =>
                {
                    number += 1;
                }
                other => break other?,
            }
        };
        Ok(Self {
            log,
            block: Vec::with_capacity(BLOCK_ROWS),
            pending: None,
            rows: 0,
            flushed: Duration::ZERO,
            failure: None,
        })
    }

    /// Appends what the worker did last. A failure to write is told by
    /// [`IterationLog::close`]: training does not wait for it.
    pub fn append(&mut self, iteration: &Iteration) {
        let appended = appended_per_row(self.rows);
        if appended == 1 {
            self.push(*iteration);
            return;
        }
        let pending = match &mut self.pending {
            Some(pending) => {
                pending.add(iteration);
                pending
            }
            None => self.pending.insert(Pending {
                row: *iteration,
                appended: 1,
                longest_wait: iteration.waiting,
            }),
        };
        if pending.appended >= appended {
            let row = pending.row;
            self.pending = None;
            self.push(row);
        }
    }

    /// Writes everything.
    ///
    /// # Errors
    /// If something could not be written, now or before.
    pub fn close(mut self) -> Result<(), WriteRecordError> {
        self.finish();
        self.failure.take().map_or(Ok(()), Err)
    }

    fn push(&mut self, row: Iteration) {
        self.rows += 1;
        self.block.push(row);
        let now = row.ended();
        if self.block.len() == BLOCK_ROWS || now.saturating_sub(self.flushed) >= AT_LEAST_EVERY {
            self.flushed = now;
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.failure.is_none() && !self.block.is_empty() {
            self.failure = self.log.append(&self.block).err();
        }
        self.block.clear();
    }

    fn finish(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.block.push(pending.row);
        }
        self.flush();
    }
}

impl Drop for IterationLog {
    fn drop(&mut self) {
        self.finish();
    }
}

/// How many appended iterations make a row after so many rows.
fn appended_per_row(rows: u64) -> u64 {
    match rows.checked_sub(IN_FULL) {
        None => 1,
        Some(beyond) => 2 << (beyond / PER_DOUBLING).min(61),
    }
}

impl Pending {
    fn add(&mut self, next: &Iteration) {
        let row = &mut self.row;
        row.iterations += next.iterations;
        row.waiting += next.waiting;
        row.receiving += next.receiving;
        row.computing += next.computing;
        row.sending += next.sending;
        row.rows += next.rows;
        row.sent_bytes += next.sent_bytes;
        row.received_bytes += next.received_bytes;
        row.staleness += next.staleness;
        row.dropped += next.dropped;
        row.serialising += next.serialising;
        row.on_wire += next.on_wire;
        row.queued += next.queued;
        row.on_cpu += next.on_cpu;
        row.runnable += next.runnable;
        if next.waiting > self.longest_wait {
            self.longest_wait = next.waiting;
            row.waited_for = next.waited_for;
        }
        self.appended += 1;
    }
}

/// The logs of iterations in `live/`, by worker and number.
pub(crate) fn logs_in_live(dir: &Path) -> Result<Vec<(WorkerId, PathBuf)>, ScanError> {
    let live = dir.join(layout::LIVE);
    let mut found: Vec<(WorkerId, u32, PathBuf)> = names(&live)?
        .iter()
        .filter_map(|(name, _)| {
            let (worker, number) = layout::iterations_of_wal(name)?;
            Some((worker, number, live.join(name)))
        })
        .collect();
    found.sort();
    Ok(found
        .into_iter()
        .map(|(worker, _, path)| (worker, path))
        .collect())
}

/// Passes every row of a log to `each`; says what a crash cut off its end.
pub(crate) fn read_log<E>(
    path: &Path,
    failed: impl Fn(WalError) -> E,
    mut each: impl FnMut(Iteration) -> Result<(), E>,
) -> Result<Option<Notice>, E> {
    let mut log = WalReader::<IterationCodec>::open(path).map_err(&failed)?;
    while let Some(block) = log.next().map_err(&failed)? {
        block.into_iter().try_for_each(&mut each)?;
    }
    end_notice(path, &log).map_err(|error| failed(WalError::Io(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_for_more_and_more_iterations() {
        assert_eq!(appended_per_row(0), 1);
        assert_eq!(appended_per_row(IN_FULL - 1), 1);
        assert_eq!(appended_per_row(IN_FULL), 2);
        assert_eq!(appended_per_row(IN_FULL + PER_DOUBLING - 1), 2);
        assert_eq!(appended_per_row(IN_FULL + PER_DOUBLING), 4);
        assert_eq!(appended_per_row(u64::MAX), 2 << 61);
    }

    #[test]
    fn iterations_in_one_row_are_added_up() {
        let one = Iteration {
            clock: 5,
            iterations: 1,
            began: Duration::from_micros(50),
            waiting: Duration::from_micros(3),
            waited_for: Some(WorkerId(1)),
            computing: Duration::from_micros(2),
            rows: 100,
            sent_bytes: 8,
            staleness: 2,
            ..Iteration::default()
        };
        let other = Iteration {
            clock: 6,
            began: Duration::from_micros(55),
            waiting: Duration::from_micros(9),
            waited_for: Some(WorkerId(2)),
            dropped: 1,
            ..one
        };
        let mut pending = Pending {
            row: one,
            appended: 1,
            longest_wait: one.waiting,
        };
        pending.add(&other);
        let row = pending.row;
        assert_eq!((row.clock, row.iterations, row.began), (5, 2, one.began));
        assert_eq!(row.waiting, Duration::from_micros(12));
        assert_eq!(row.waited_for, Some(WorkerId(2)));
        assert_eq!((row.rows, row.sent_bytes), (200, 16));
        assert_eq!((row.staleness, row.dropped), (4, 1));
    }
}
