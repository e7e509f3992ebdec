//! Where a worker's time goes.

use std::time::Duration;

use paceline_model::{Iteration, WorkerId};

/// What a worker did since the training began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerTotals {
    /// Iterations it completed.
    pub iterations: u64,
    /// Rows it computed on.
    pub rows: u64,
    /// Time computing gradients.
    pub computing: Duration,
    /// Time waiting for the others until it might start an iteration.
    pub waiting: Duration,
    /// Of the waiting, how much ended with a step of each worker, by number:
    /// whom it waited for.
    pub waited_for: Vec<Duration>,
    /// Time handing over updates.
    pub sending: Duration,
    /// Time fetching parameters.
    pub receiving: Duration,
    /// Time compressing updates.
    pub serialising: Duration,
    /// Time during which updates and parameters were on their way.
    pub on_wire: Duration,
    /// Time in the server's queue.
    pub queued: Duration,
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

impl WorkerTotals {
    /// The totals of a worker that has done nothing, among `workers`.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            waited_for: vec![Duration::ZERO; workers],
            ..Self::default()
        }
    }

    /// Adds what was done in one more row of iterations.
    pub(crate) fn enter(&mut self, row: &Iteration) {
        self.iterations += row.iterations;
        self.rows += row.rows;
        self.computing += row.computing;
        self.waiting += row.waiting;
        if let Some(WorkerId(other)) = row.waited_for
            && let Some(waited) = self.waited_for.get_mut(other as usize)
        {
            *waited += row.waiting;
        }
        self.sending += row.sending;
        self.receiving += row.receiving;
        self.serialising += row.serialising;
        self.on_wire += row.on_wire;
        self.queued += row.queued;
        self.bytes_sent += row.sent_bytes;
        self.bytes_received += row.received_bytes;
        self.staleness_sum += row.staleness;
        let staleness = row.staleness / row.iterations.max(1);
        self.staleness_most = self.staleness_most.max(staleness);
        self.dropped += row.dropped;
    }

    /// Adds what another life of the worker did, as it said itself: no number of
    /// its may be too much.
    pub(crate) fn add(&mut self, other: &Self) {
        let count = |own: &mut u64, other: u64| *own = own.saturating_add(other);
        let time = |own: &mut Duration, other: Duration| *own = own.saturating_add(other);
        count(&mut self.iterations, other.iterations);
        count(&mut self.rows, other.rows);
        time(&mut self.computing, other.computing);
        time(&mut self.waiting, other.waiting);
        for (own, waited) in self.waited_for.iter_mut().zip(&other.waited_for) {
            time(own, *waited);
        }
        time(&mut self.sending, other.sending);
        time(&mut self.receiving, other.receiving);
        time(&mut self.serialising, other.serialising);
        time(&mut self.on_wire, other.on_wire);
        time(&mut self.queued, other.queued);
        count(&mut self.bytes_sent, other.bytes_sent);
        count(&mut self.bytes_received, other.bytes_received);
        count(&mut self.staleness_sum, other.staleness_sum);
        self.staleness_most = self.staleness_most.max(other.staleness_most);
        count(&mut self.dropped, other.dropped);
        self.restarts = self.restarts.max(other.restarts);
    }

    /// The share of its time that the worker waits.
    pub fn wait_share(&self) -> f64 {
        let waiting = self.waiting.as_secs_f64();
        let all = waiting
            + self.computing.as_secs_f64()
            + self.sending.as_secs_f64()
            + self.receiving.as_secs_f64()
            + self.serialising.as_secs_f64()
            + self.on_wire.as_secs_f64()
            + self.queued.as_secs_f64();
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

/// The totals of a worker over all its lifetimes.
#[derive(Clone, Debug)]
pub(crate) struct LifetimeTotals {
    former: WorkerTotals,
    present: WorkerTotals,
}

impl LifetimeTotals {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            former: WorkerTotals::new(workers),
            present: WorkerTotals::new(workers),
        }
    }

    /// Takes what a life reports of itself. Another life is known by how often
    /// the worker was started before it, or where nobody counts, by beginning at
    /// nothing. A report without iterations is that of a server that has heard
    /// of none yet.
    pub(crate) fn hear(&mut self, report: WorkerTotals) {
        let present = &mut self.present;
        if report.restarts < present.restarts || report.iterations == 0 {
            return;
        }
        if report.restarts > present.restarts || report.iterations < present.iterations {
            self.former.add(present);
        }
        *present = report;
    }

    /// The sum of all lifetimes.
    pub(crate) fn sum(&self) -> WorkerTotals {
        let mut sum = self.former.clone();
        sum.add(&self.present);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(restarts: u32, iterations: u64) -> WorkerTotals {
        WorkerTotals {
            restarts,
            iterations,
            waiting: Duration::from_secs(iterations),
            waited_for: vec![Duration::ZERO, Duration::from_secs(iterations)],
            staleness_most: 10 - iterations,
            ..WorkerTotals::new(2)
        }
    }

    #[test]
    fn the_account_of_a_replaced_worker_is_the_sum_of_its_lives() {
        let mut lifetimes = LifetimeTotals::new(2);
        for (restarts, iterations) in [(0, 3), (0, 5), (1, 2), (0, 5), (2, 1), (2, 4)] {
            lifetimes.hear(report(restarts, iterations));
        }
        // From a server that was started anew.
        lifetimes.hear(WorkerTotals::new(2));
        let sum = lifetimes.sum();
        assert_eq!((sum.iterations, sum.restarts), (5 + 2 + 4, 2));
        assert_eq!(sum.waiting, Duration::from_secs(11));
        assert_eq!(sum.waited_for[1], Duration::from_secs(11));
        assert_eq!(sum.staleness_most, 8);
        // Started again by somebody who does not count.
        lifetimes.hear(report(2, 1));
        assert_eq!(lifetimes.sum().iterations, 5 + 2 + 4 + 1);
    }

    #[test]
    fn an_account_is_the_sum_of_its_rows() {
        let row = Iteration {
            iterations: 4,
            waiting: Duration::from_millis(2),
            waited_for: Some(WorkerId(1)),
            computing: Duration::from_millis(5),
            sent_bytes: 12,
            staleness: 12,
            dropped: 1,
            ..Iteration::default()
        };
        let mut totals = WorkerTotals::new(2);
        totals.enter(&row);
        totals.enter(&Iteration {
            waited_for: None,
            ..row
        });
        assert_eq!((totals.iterations, totals.dropped), (8, 2));
        assert_eq!(totals.waiting, Duration::from_millis(4));
        assert_eq!(
            totals.waited_for,
            [Duration::ZERO, Duration::from_millis(2)]
        );
        assert_eq!((totals.staleness_sum, totals.staleness_most), (24, 3));
        assert!((totals.wait_share() - 4.0 / 14.0).abs() < 1e-12);
    }
}
