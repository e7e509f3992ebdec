//! What a worker of a training did in an iteration.

use crate::WorkerId;
use std::time::Duration;

/// One iteration of a worker, or several in one row.
///
/// A worker waits until it may start, receives the parameters, computes, and
/// sends its update, without a break between them from `began` on. (One that
/// sums gradients with others instead of asking a server computes first, then
/// waits, then sends.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Iteration {
    /// The number of the iteration, from zero; of several, of the first.
    pub clock: u64,
    /// How many iterations the row stands for.
    pub iterations: u64,
    /// When it began, since the start of the run.
    pub began: Duration,
    /// Waiting until it might start.
    pub waiting: Duration,
    /// Whose step ended the waiting; in a row for several, the longest of it.
    pub waited_for: Option<WorkerId>,
    /// Fetching parameters.
    pub receiving: Duration,
    /// Computing.
    pub computing: Duration,
    /// Handing over the update.
    pub sending: Duration,
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
        self.waiting + self.receiving + self.computing + self.sending
    }

    /// When it ended, since the start of the run.
    #[must_use]
    pub fn ended(&self) -> Duration {
        self.began + self.length()
    }
}
