//! What a worker of a training did in an iteration.

use crate::WorkerId;
use std::time::Duration;

/// One iteration of a worker, or several in one row.
///
/// A worker waits until it may start, receives the parameters, computes, and
/// sends its update, without a break between them from `began` on. (One that
/// sums gradients with others instead of asking a server computes first, then
/// waits, then sums.) What passes between the end of a row and the beginning of
/// the next, the worker was idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Iteration {
    /// The number of the iteration, from zero; of several, of the first.
    pub clock: u64,
    /// How many iterations the row stands for.
    pub iterations: u64,
    /// When it began, since the start of the run.
    pub began: Duration,
    /// Waiting for the other workers until it might start: while its own update
    /// was there, and that of another was not.
    pub waiting: Duration,
    /// Whose step ended the waiting; in a row for several, the longest of it.
    pub waited_for: Option<WorkerId>,
    /// Fetching parameters.
    pub receiving: Duration,
    /// Computing.
    pub computing: Duration,
    /// Handing over the update.
    pub sending: Duration,
    /// Compressing the update.
    pub serialising: Duration,
    /// The update and the answer to it were on their way; where gradients are
    /// summed between processes, the sum.
    pub on_wire: Duration,
    /// The update, or the answer to it, was in the server's queue or being applied;
    /// of workers that are threads, waiting for the lock.
    pub queued: Duration,
    /// How long the worker's thread was executed since the last row that says so:
    /// together with `runnable` a reading of the kernel's, not a part of the sum.
    pub on_cpu: Duration,
    /// How long it could have been executed, but a CPU was not given to it.
    pub runnable: Duration,
    /// Rows of data computed on.
    pub rows: u64,
    /// Bytes of the update.
    pub sent_bytes: u64,
    /// Bytes of the parameters.
    pub received_bytes: u64,
    /// How many clocks the parameters lagged, summed over the iterations.
    pub staleness: u64,
    /// Updates that came too late to count.
    pub dropped: u64,
}

impl Iteration {
    /// How long it took.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.waiting
            + self.receiving
            + self.computing
            + self.sending
            + self.serialising
            + self.on_wire
            + self.queued
    }

    /// When it ended, since the start of the run.
    #[must_use]
    pub fn ended(&self) -> Duration {
        self.began + self.length()
    }
}
