//! Which rows a worker computes in an iteration.

use std::ops::Range;

use paceline_data::{epoch_order_into, shard};
use paceline_sync::Strategy;

use super::config::Cluster;
use crate::session::Settings;

/// The partition of the training rows among workers.
///
/// An epoch's order is drawn from the seed and cut into batches for all workers
/// together, and each of those into one share per worker. The partition is thus
/// drawn anew in every epoch, what a worker computes in an iteration depends on
/// its number and the iteration alone (a worker that comes back needs no
/// history), and the shares of one iteration are the batch that a single worker
/// with all the rows would have computed.
pub(crate) struct Partition {
    seed: u64,
    rows: usize,
    workers: usize,
    batch_size: usize,
    epoch: Option<u64>,
    order: Vec<u32>,
}

/// A worker's part of an iteration.
pub(crate) struct Share<'a> {
    /// The worker's rows; none if fewer rows are left in the epoch than there
    /// are workers.
    pub(crate) rows: &'a [u32],
    /// The rows of all workers.
    pub(crate) batch_rows: usize,
}

impl Partition {
    pub(crate) fn new(seed: u64, rows: usize, workers: usize, batch_size: usize) -> Self {
        Self {
            seed,
            rows,
            workers,
            batch_size,
            epoch: None,
            order: Vec::new(),
        }
    }

    /// How a cluster divides `rows` rows. In a dataflow every worker computes on
    /// all of its rows before the model changes.
    pub(crate) fn of(cluster: &Cluster, settings: &Settings, rows: usize) -> Self {
        let workers = cluster.workers.get() as usize;
        let batch_size = match cluster.strategy {
            Strategy::Dataflow => rows.div_ceil(workers).max(1),
            _ => settings.batch_size,
        };
        Self::new(settings.seed, rows, workers, batch_size)
    }

    /// Iterations of an epoch.
    pub(crate) fn iterations(&self) -> u64 {
        self.rows.div_ceil(self.workers * self.batch_size).max(1) as u64
    }

    /// What `worker` computes in iteration `clock`.
    pub(crate) fn share(&mut self, worker: usize, clock: u64) -> Share<'_> {
        let epoch = clock / self.iterations();
        if self.epoch != Some(epoch) {
            epoch_order_into(self.seed, epoch, self.rows, &mut self.order);
            self.epoch = Some(epoch);
        }
        let batch = self.batch(clock % self.iterations());
        let own = shard(batch.len(), self.workers, worker);
        Share {
            rows: &self.order[batch.start + own.start..batch.start + own.end],
            batch_rows: batch.len(),
        }
    }

    fn batch(&self, number: u64) -> Range<usize> {
        let start = number as usize * self.workers * self.batch_size;
        start..self.rows.min(start + self.workers * self.batch_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_gives_every_row_to_one_worker() {
        for (rows, workers, batch_size) in [(100, 3, 7), (10, 4, 1), (5, 8, 2), (64, 2, 32)] {
            let mut partition = Partition::new(9, rows, workers, batch_size);
            for epoch in 0..2 {
                let mut seen = Vec::new();
                for iteration in 0..partition.iterations() {
                    for worker in 0..workers {
                        let clock = epoch * partition.iterations() + iteration;
                        let share = partition.share(worker, clock);
                        assert!(share.rows.len() <= batch_size);
                        seen.extend_from_slice(share.rows);
                    }
                }
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..rows as u32));
            }
        }
    }

    #[test]
    fn a_partition_is_drawn_anew_in_each_epoch() {
        let mut partition = Partition::new(9, 100, 2, 50);
        let first = partition.share(0, 0).rows.to_vec();
        assert_ne!(first, partition.share(0, 1).rows);
        assert_eq!(first, partition.share(0, 0).rows);
    }
}
