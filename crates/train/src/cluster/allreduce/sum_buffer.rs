//! What workers sum: a gradient, and what travels with it.

use std::time::Duration;

use paceline_kernels::AlignedBuffer;
use paceline_nets::{Layout, Tally};
use paceline_wire::Buckets;

use crate::cluster::update::{Part, Update};

/// A gradient laid out for summing: the dense part, the table, a mark for each
/// of its rows that was touched, [`EXTRA`], and a time for each worker.
pub(super) struct SumBuffer {
    values: AlignedBuffer,
    dense: usize,
    table: usize,
    rows: usize,
    stride: usize,
    /// From where on the dense part is on its way to the others.
    sent: usize,
    /// The rows of the summed table that somebody touched.
    touched: Vec<u32>,
    cells: Vec<f32>,
}

/// What the sums say besides the gradient.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The rows of all workers.
    pub(super) tally: Tally,
    /// Whether somebody wants to stop.
    pub(super) stops: bool,
    /// What was voted, by all together.
    pub(super) votes: f32,
    /// Who came last: the worker that was busy for longest since the last sum.
    pub(super) last: usize,
    /// For how long.
    pub(super) longest: Duration,
}

/// What a worker says along with its gradient.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contribution {
    pub(super) worker: usize,
    /// What was found on its rows.
    pub(super) tally: Tally,
    /// Whether it wants to stop.
    pub(super) stops: bool,
    pub(super) vote: f32,
    /// How long it was busy since the last sum.
    pub(super) busy: Duration,
}

/// Numbers that travel with a gradient: the loss in two parts, since it is of
/// double precision, hits, rows, whether somebody wants to stop, and a vote.
const EXTRA: usize = 6;

/// Dense values of a bucket: 1 MB. Of 784-1024-1024-10 and batches of 1000 rows,
/// over connections of 1 Gbit/s, two workers computed 14,400 rows a second with
/// buckets of 1 MB that left early, 13,600 with 256 KB, 12,000 with buckets that
/// left late.
const BUCKET: usize = 256 * 1024;

/// A gradient of fewer values is summed at once: a single bucket has nothing to
/// overlap with.
const WORTH_BUCKETS: usize = 2 * BUCKET;

impl SumBuffer {
    pub(super) fn new(layout: &Layout, workers: usize) -> Self {
        let dense = layout.dense().len();
        let (rows, stride) = layout
            .table()
            .map_or((0, 0), |table| (table.rows, table.stride));
        let table = rows * stride;
        Self {
            values: AlignedBuffer::zeroed(dense + table + rows + EXTRA + workers),
            dense,
            table,
            rows,
            stride,
            sent: dense,
            touched: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// All values, for a sum at once.
    pub(super) fn values(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Whether the values are summed bucket by bucket. That depends on their
    /// number alone: the buckets decide in which order numbers are added, and
    /// a training must not depend on whether they are sent early.
    pub(super) fn has_buckets(&self) -> bool {
        self.dense >= WORTH_BUCKETS
    }

    /// The buckets in the order in which they are summed: the dense part from
    /// its end to its beginning, then the rest.
    pub(super) fn buckets(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let (dense, rest) = self.values.split_at_mut(self.dense);
        dense.rchunks_mut(BUCKET).chain([rest])
    }

    /// Lays the dense part down.
    pub(super) fn put_dense(&mut self, values: &[f32]) {
        self.values[..self.dense].copy_from_slice(values);
        self.sent = self.dense;
    }

    /// Lays the dense part from `start` on down, and starts the buckets that
    /// are complete. Parts come from the end to the beginning.
    pub(super) fn put_part(&mut self, start: usize, values: &[f32], buckets: &mut Buckets) {
        if start + values.len() == self.dense {
            self.sent = self.dense;
        }
        self.values[start..start + values.len()].copy_from_slice(values);
        while self.sent > 0 {
            let first = self.sent.saturating_sub(BUCKET);
            if first < start {
                break;
            }
            buckets.start(first, &self.values[first..self.sent]);
            self.sent = first;
        }
    }

    /// Starts what has not been started, and waits for all sums.
    pub(super) fn finish(
        &mut self,
        buckets: &mut Buckets,
    ) -> Result<(), paceline_wire::ReduceError> {
        debug_assert_eq!(self.sent, 0, "every part was put down");
        buckets.start(self.dense, &self.values[self.dense..]);
        buckets.finish(&mut self.values)
    }

    /// Lays down everything but the dense part.
    pub(super) fn put_rest(&mut self, update: &Update, words: Contribution) {
        let rest = &mut self.values[self.dense..];
        rest.fill(0.0);
        let (table, rest) = rest.split_at_mut(self.table);
        let (marks, rest) = rest.split_at_mut(self.rows);
        let (extra, times) = rest.split_at_mut(EXTRA);
        let cells = update.cells.chunks_exact(self.stride.max(1));
        for (row, values) in update.rows.iter().zip(cells) {
            let row = *row as usize;
            table[row * self.stride..][..self.stride].copy_from_slice(values);
            marks[row] = 1.0;
        }
        let tally = words.tally;
        let high = tally.loss as f32;
        extra.copy_from_slice(&[
            high,
            (tally.loss - f64::from(high)) as f32,
            tally.hits as f32,
            tally.rows as f32,
            f32::from(u8::from(words.stops)),
            words.vote,
        ]);
        times[words.worker] = words.busy.as_secs_f32();
    }

    /// What the sums say, once they are sums.
    pub(super) fn found(&self) -> Found {
        let rest = &self.values[self.dense + self.table + self.rows..];
        let (extra, times) = rest.split_at(EXTRA);
        let (last, longest) = times
            .iter()
            .copied()
            .enumerate()
            .max_by(|(_, one), (_, other)| one.total_cmp(other))
            .unwrap_or_default();
        Found {
            tally: Tally {
                loss: f64::from(extra[0]) + f64::from(extra[1]),
                hits: extra[2] as u64,
                rows: extra[3] as u64,
            },
            stops: extra[4] > 0.0,
            votes: extra[5],
            last,
            longest: Duration::try_from_secs_f32(longest).unwrap_or_default(),
        }
    }

    /// The summed gradient, once it is summed.
    pub(super) fn gradient(&mut self) -> Part<'_> {
        let (dense, rest) = self.values.split_at(self.dense);
        let (table, rest) = rest.split_at(self.table);
        self.touched.clear();
        self.cells.clear();
        for (row, _) in (0..)
            .zip(&rest[..self.rows])
            .filter(|(_, mark)| **mark > 0.0)
        {
            self.touched.push(row);
            let start = row as usize * self.stride;
            self.cells.extend_from_slice(&table[start..][..self.stride]);
        }
        Part {
            dense,
            rows: &self.touched,
            cells: &self.cells,
        }
    }
}
