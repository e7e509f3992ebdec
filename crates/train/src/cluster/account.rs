//! Where a worker's time goes.

use std::time::Duration;

/// What a worker did since the training began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Iterations it completed.
    pub iterations: u64,
    /// Rows it computed on.
    pub rows: u64,
    /// Time computing gradients.
    pub computing: Duration,
    /// Time waiting until it might start an iteration.
    pub waiting: Duration,
    /// Of the waiting, how much ended with a step of each worker, by number:
    /// whom it waited for.
    pub waited_for: Vec<Duration>,
    /// Time handing over updates.
    pub sending: Duration,
    /// Time fetching parameters.
    pub receiving: Duration,
    /// Bytes of updates handed over.
    pub bytes_sent: u64,
    /// Bytes of parameters fetched.
    pub bytes_received: u64,
    /// The sum over the iterations of how many clocks the parameters lagged.
    pub staleness_sum: u64,
    /// The largest such lag.
    pub staleness_most: u64,
    /// Updates that came too late to count.
    pub dropped: u64,
    /// How often the worker was started anew.
    pub restarts: u32,
}

impl Account {
    /// The account of a worker that has done nothing, among `workers`.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            waited_for: vec![Duration::ZERO; workers],
            ..Self::default()
        }
    }

    /// The share of its time that the worker waits.
    pub fn wait_share(&self) -> f64 {
        let waiting = self.waiting.as_secs_f64();
        let all = waiting
            + self.computing.as_secs_f64()
            + self.sending.as_secs_f64()
            + self.receiving.as_secs_f64();
        if all > 0.0 { waiting / all } else { 0.0 }
    }

    /// The mean lag of the parameters, in clocks.
    pub fn mean_staleness(&self) -> f64 {
        if self.iterations == 0 {
            0.0
        } else {
            self.staleness_sum as f64 / self.iterations as f64
        }
    }
}
