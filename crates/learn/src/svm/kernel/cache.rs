//! Rows of the kernel matrix, computed when asked for and kept within a bound.

use super::SvmKernel;
use super::points::Points;
use crate::Threads;

/// How many rows are computed at a time, if the bound allows: the row asked for
/// and others that are likely to be asked for. Computing eight rows reads the
/// data once instead of eight times.
pub(super) const BATCH: usize = 8;

/// Below this many multiplications a block is not worth a second thread.
const PARALLEL_WORK: usize = 8 << 20;

const ABSENT: u32 = u32::MAX;
const WHOLE: u32 = u32::MAX;

/// The kernel matrix of some of the points, of which the most recently used rows
/// are kept.
pub(super) struct RowCache<'a> {
    source: Source<'a>,
    /// The kept rows, one after another.
    kept: Vec<f32>,
    slots: Vec<Slot>,
    slot_of: Vec<u32>,
    most_slots: usize,
    clock: u64,
    generation: u32,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    row: u32,
    last_use: u64,
    /// The generation in which the row was computed, for the columns that were
    /// active then; `WHOLE` if for all.
    computed: u32,
}

/// Where kernel values come from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) points: &'a Points,
    pub(super) kernel: SvmKernel,
    /// The points of the problem, by their place in it.
    pub(super) members: &'a [u32],
    pub(super) threads: Threads,
}

impl Source<'_> {
    fn points_of(&self, rows: &[u32]) -> Vec<u32> {
        rows.iter().map(|&row| self.members[row as usize]).collect()
    }

    /// Kernel values of some rows in some columns, row after row.
    pub(super) fn block(&self, rows: &[u32], columns: &[u32]) -> Vec<f32> {
        let rows = self.points_of(rows);
        let columns = self.points_of(columns);
        let compute = |columns: &[u32]| {
            let mut out = vec![0.0; rows.len() * columns.len()];
            let points = self.points;
            points.kernel_block(self.kernel, &rows, points, columns, &mut out);
            out
        };
        let work = rows.len() * columns.len() * self.points.columns();
        if self.threads == Threads::ONE || work < PARALLEL_WORK {
            return compute(&columns);
        }
        let share = columns.len().div_ceil(self.threads.count());
        let shares: Vec<&[u32]> = columns.chunks(share).collect();
        let parts = self.threads.map(shares.len(), |part| compute(shares[part]));
        let mut out = Vec::with_capacity(rows.len() * columns.len());
        for row in 0..rows.len() {
            for (part, share) in parts.iter().zip(&shares) {
                out.extend_from_slice(&part[row * share.len()..][..share.len()]);
            }
        }
        out
    }
}

impl<'a> RowCache<'a> {
    /// Keeps as many rows as fit into so many bytes, at least two.
    pub(super) fn new(source: Source<'a>, bytes: usize) -> Self {
        let rows = source.members.len();
        let most_slots = (bytes / size_of::<f32>() / rows.max(1)).clamp(2, rows.max(2));
        Self {
            kept: Vec::new(),
            slots: Vec::new(),
            slot_of: vec![ABSENT; rows],
            most_slots,
            clock: 0,
            generation: 0,
            source,
        }
    }

    pub(super) fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// How many rows may be computed together without driving one another out,
    /// or the other row of a pair.
    pub(super) fn batch(&self) -> usize {
        BATCH.min(self.most_slots - 1)
    }

    /// Whether a row is there for all active columns.
    pub(super) fn has(&self, row: u32) -> bool {
        self.slots
            .get(self.slot_of[row as usize] as usize)
            .is_some_and(|slot| slot.computed == WHOLE || slot.computed == self.generation)
    }

    /// Rows computed for active columns only are not whole any more, because
    /// other columns became active again.
    pub(super) fn reactivate(&mut self) {
        self.generation += 1;
    }

    /// Marks a row that is there as used just now.
    pub(super) fn touch(&mut self, row: u32) {
        self.clock += 1;
        self.slots[self.slot_of[row as usize] as usize].last_use = self.clock;
    }

    /// A row that is there; columns that are not active hold no meaning.
    pub(super) fn row(&self, row: u32) -> &[f32] {
        let length = self.slot_of.len();
        &self.kept[self.slot_of[row as usize] as usize * length..][..length]
    }

    /// Computes rows that are not there, at most [`RowCache::batch`] of them, in
    /// the active columns. The least recently used rows make room.
    pub(super) fn compute(&mut self, rows: &[u32], active: &[u32]) {
        let block = self.source.block(rows, active);
        let length = self.slot_of.len();
        let whole = active.len() == length;
        for (&row, values) in rows.iter().zip(block.chunks_exact(active.len())) {
            let slot = self.free_slot(row);
            let kept = &mut self.kept[slot * length..][..length];
            if whole {
                kept.copy_from_slice(values);
            } else {
                for (&column, &value) in active.iter().zip(values) {
                    kept[column as usize] = value;
                }
            }
            self.clock += 1;
            self.slots[slot] = Slot {
                row,
                last_use: self.clock,
                computed: if whole { WHOLE } else { self.generation },
            };
            self.slot_of[row as usize] = slot as u32;
        }
    }

    fn free_slot(&mut self, row: u32) -> usize {
        let own = self.slot_of[row as usize];
        if own != ABSENT {
            return own as usize;
        }
        if self.slots.len() < self.most_slots {
            let length = self.slot_of.len();
            self.kept.resize(self.kept.len() + length, 0.0);
            self.slots.push(Slot {
                row,
                last_use: 0,
                computed: 0,
            });
            return self.slots.len() - 1;
        }
        let slots = self.slots.iter().enumerate();
        let (oldest, slot) = slots
            .min_by_key(|(_, slot)| slot.last_use)
            .expect("there are at least two slots");
        self.slot_of[slot.row as usize] = ABSENT;
        oldest
    }
}
