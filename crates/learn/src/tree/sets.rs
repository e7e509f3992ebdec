//! Predicting many rows by passing sets of rows down the trees.

use super::Ensemble;
use crate::{Features, Threads};
use paceline_kernels::{Kernels, Vectors, Work};

/// An ensemble prepared for batches of rows with continuous features.
///
/// Instead of walking every row through every tree, a block of rows goes down a
/// tree as a set: a node splits the set with one bitwise "and", because the rows
/// of a block that are at most a threshold are a prefix of their order along the
/// feature, and the prefixes are computed once for all trees. (Lucchese et al.,
/// "QuickScorer", SIGIR 2015, evaluate trees by bitwise operations too, on sets of
/// leaves.) Rows that are close to one another share a block, so most of a tree
/// is empty for it and is not visited. Every row adds up its trees in their order,
/// so the sums have the same bits as those of [`Ensemble::sum`].
#[derive(Debug, Clone)]
pub(crate) struct SetWalk {
    nodes: Vec<SetNode>,
    /// The values of the leaves of all trees.
    leaf_values: Vec<f64>,
    /// The distinct thresholds of each feature in ascending order.
    thresholds: Vec<Vec<f64>>,
    /// How much each feature cuts, near the roots above all.
    importance: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct SetNode {
    /// The threshold, counted over all features; `LEAF` for a leaf.
    slot: u32,
    /// The left child, counted from the root; of a leaf, the place of its value.
    left: u32,
}

const LEAF: u32 = u32::MAX;

/// Rows in a block: as many as a cache line has bits.
const BLOCK: usize = 512;
const WORDS: usize = BLOCK / 64;

/// A set of rows of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
struct Set([u64; WORDS]);

impl Set {
    const EMPTY: Self = Self([0; WORDS]);

    /// The first rows.
    #[inline(always)]
    fn first(rows: usize) -> Self {
        Self(std::array::from_fn(|word| {
            match rows.saturating_sub(word * 64) {
                0 => 0,
                some @ 1..64 => (1 << some) - 1,
                _ => u64::MAX,
            }
        }))
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    #[inline(always)]
    fn without(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }

    fn insert(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }
}

impl SetWalk {
    pub(crate) fn new(ensemble: &Ensemble, columns: usize, threads: Threads) -> Self {
        let mut leaf_values = Vec::with_capacity(ensemble.nodes.len() / 2 + 1);
        let mut nodes = Vec::with_capacity(ensemble.nodes.len());
        let mut cuts: Vec<Vec<(f64, u32)>> = vec![Vec::new(); columns];
        let mut importance = vec![0.0; columns];
        for tree in 0..ensemble.trees() {
            let range = ensemble.range(tree);
            let own = ensemble.nodes[range.clone()].iter();
            for ((node, &value), depth) in own.zip(&ensemble.values[range]).zip(1_u32..) {
                let left = if node.threshold.is_finite() {
                    let feature = node.feature as usize;
                    cuts[feature].push((node.threshold, nodes.len() as u32));
                    // Trees are laid out breadth first.
                    importance[feature] += 1.0 / f64::from(depth);
                    node.left
                } else {
                    leaf_values.push(value);
                    (leaf_values.len() - 1) as u32
                };
                nodes.push(SetNode { slot: LEAF, left });
            }
        }
        let sorted = threads.map(columns, |column| {
            let mut cuts = cuts[column].clone();
            cuts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            cuts
        });
        let mut thresholds = Vec::with_capacity(columns);
        let mut slots = 0;
        for cuts in sorted {
            let mut distinct: Vec<f64> = Vec::new();
            for (threshold, node) in cuts {
                if distinct.last() != Some(&threshold) {
                    distinct.push(threshold);
                }
                nodes[node as usize].slot = (slots + distinct.len() - 1) as u32;
            }
            slots += distinct.len();
            thresholds.push(distinct);
        }
        Self {
            nodes,
            leaf_values,
            thresholds,
            importance,
        }
    }

    /// The sum of the trees' values for every row.
    pub(crate) fn sums(
        &self,
        ensemble: &Ensemble,
        features: &Features,
        threads: Threads,
    ) -> Vec<f64> {
        self.sums_with(Kernels::detect(), ensemble, features, threads)
    }

    fn sums_with(
        &self,
        kernels: Kernels,
        ensemble: &Ensemble,
        features: &Features,
        threads: Threads,
    ) -> Vec<f64> {
        let mut order: Vec<u32> = (0..features.rows() as u32).collect();
        arrange(&mut order, features, &mut self.importance.clone());
        let blocks: Vec<&[u32]> = order.chunks(BLOCK).collect();
        let shares = Shares::of(blocks.len(), threads);
        let parts = threads.map(shares.count, |share| {
            let mut own: Vec<Block> = blocks[shares.range(share)]
                .iter()
                .map(|rows| Block {
                    rows: rows.len(),
                    prefixes: Prefixes::of(self, features, rows),
                    sums: [0.0; BLOCK],
                })
                .collect();
            kernels.run(Descent {
                walk: self,
                ensemble,
                blocks: &mut own,
            });
            own
        });
        let mut sums = vec![0.0; features.rows()];
        for (rows, block) in blocks.iter().zip(parts.iter().flatten()) {
            for (&row, &sum) in rows.iter().zip(&block.sums) {
                sums[row as usize] = sum;
            }
        }
        sums
    }
}

/// How blocks are shared out: as evenly as possible, and few at a time, because the
/// prefixes of a share are in memory together.
struct Shares {
    blocks: usize,
    size: usize,
    count: usize,
}

impl Shares {
    const MOST_BLOCKS: usize = 16;

    fn of(blocks: usize, threads: Threads) -> Self {
        let even = blocks.div_ceil(threads.count());
        let rounds = even.div_ceil(Self::MOST_BLOCKS).max(1);
        let size = even.div_ceil(rounds).max(1);
        Self {
            blocks,
            size,
            count: blocks.div_ceil(size),
        }
    }

    fn range(&self, share: usize) -> std::ops::Range<usize> {
        share * self.size..self.blocks.min((share + 1) * self.size)
    }
}

/// Brings rows that are close to one another into one block and into one word of its
/// sets: halves them along the feature that cuts most, which then counts half.
fn arrange(rows: &mut [u32], features: &Features, importance: &mut [f64]) {
    let words = rows.len().div_ceil(64);
    if words < 2 {
        return;
    }
    let largest = (0..importance.len()).max_by(|&a, &b| importance[a].total_cmp(&importance[b]));
    let column = largest.expect("a table has at least one column");
    // Between blocks while there are several, then between words.
    let unit = if words > WORDS { WORDS } else { 1 };
    let middle = words.div_ceil(unit) / 2 * unit * 64;
    let value = |row: u32| features.row(row as usize)[column];
    rows.select_nth_unstable_by(middle, |&a, &b| {
        value(a).total_cmp(&value(b)).then(a.cmp(&b))
    });
    importance[column] *= 0.5;
    let (low, high) = rows.split_at_mut(middle);
    arrange(low, features, importance);
    arrange(high, features, importance);
    importance[column] *= 2.0;
}

/// For each threshold, which rows of a block are at most as large.
struct Prefixes {
    sets: Vec<Set>,
    /// The place in `sets` by threshold, counted over all features.
    set_of: Vec<u32>,
}

impl Prefixes {
    fn of(walk: &SetWalk, features: &Features, rows: &[u32]) -> Self {
        let mut sets = Vec::new();
        let mut set_of = Vec::with_capacity(walk.thresholds.iter().map(Vec::len).sum());
        let mut ascending: Vec<(f64, usize)> = Vec::with_capacity(rows.len());
        for (column, thresholds) in walk.thresholds.iter().enumerate() {
            ascending.clear();
            let values = rows.iter().map(|&row| features.row(row as usize)[column]);
            ascending.extend(values.zip(0..));
            ascending.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let mut taken = 0;
            let mut set = Set::EMPTY;
            sets.push(set);
            for &threshold in thresholds {
                let before = taken;
                while taken < ascending.len() && ascending[taken].0 <= threshold {
                    set.insert(ascending[taken].1);
                    taken += 1;
                }
                if taken > before {
                    sets.push(set);
                }
                set_of.push((sets.len() - 1) as u32);
            }
        }
        if set_of.is_empty() {
            // Leaves look up the first threshold, and do not use what they find.
            set_of.push(0);
        }
        Self { sets, set_of }
    }
}

struct Block {
    rows: usize,
    prefixes: Prefixes,
    sums: [f64; BLOCK],
}

/// So many nodes of consecutive trees stay in the second-level cache while every
/// block goes down those trees.
const CACHED_NODES: usize = 1 << 16;

/// Blocks of rows going down all trees.
struct Descent<'a> {
    walk: &'a SetWalk,
    ensemble: &'a Ensemble,
    blocks: &'a mut [Block],
}

impl Work for Descent<'_> {
    type Output = ();

    /// Plain code: compiled for the instruction set, a set is one or a few vectors.
    #[inline(always)]
    fn run<V: Vectors>(self, _: V) {
        let mut queue = Queue::default();
        let trees = self.ensemble.trees();
        let mut first = 0;
        while first < trees {
            let start = self.ensemble.range(first).start;
            let mut end = first + 1;
            while end < trees && self.ensemble.range(end).end - start <= CACHED_NODES {
                end += 1;
            }
            for block in &mut *self.blocks {
                for tree in first..end {
                    let nodes = &self.walk.nodes[self.ensemble.range(tree)];
                    descend(nodes, &self.walk.leaf_values, block, &mut queue);
                }
            }
            first = end;
        }
    }
}

/// The nodes of a tree that rows of a block come to, first come first served, with
/// those rows. Neighbours in the queue do not depend on each other, so their loads
/// overlap.
#[derive(Default)]
struct Queue {
    sets: Vec<Set>,
    nodes: Vec<u32>,
    /// The places of the leaves in the queue.
    leaves: Vec<u32>,
}

impl Queue {
    /// A node is queued once at most; the last place takes what is not kept.
    fn reserve(&mut self, nodes: usize) {
        if self.sets.len() <= nodes {
            self.sets.resize(nodes + 1, Set::EMPTY);
            self.nodes.resize(nodes + 1, 0);
            self.leaves.resize(nodes + 1, 0);
        }
    }
}

/// Adds the values of one tree to the sums of a block.
///
/// Both children of a node are written to the queue whether or not any row comes to
/// them, and the end of the queue moves if one does: no branch to mispredict.
#[inline(always)]
fn descend(nodes: &[SetNode], leaf_values: &[f64], block: &mut Block, queue: &mut Queue) {
    queue.reserve(nodes.len());
    queue.sets[0] = Set::first(block.rows);
    queue.nodes[0] = 0;
    let (mut at, mut end, mut leaves) = (0, 1, 0);
    while at < end {
        let set = queue.sets[at];
        let node = nodes[queue.nodes[at] as usize];
        let is_cut = node.slot != LEAF;
        queue.leaves[leaves] = at as u32;
        leaves += usize::from(!is_cut);
        let slot = if is_cut { node.slot as usize } else { 0 };
        let prefix = block.prefixes.sets[block.prefixes.set_of[slot] as usize];
        for (set, node) in [
            (set.and(prefix), node.left),
            (set.without(prefix), node.left.wrapping_add(1)),
        ] {
            queue.sets[end] = set;
            queue.nodes[end] = node;
            end += usize::from(is_cut & !set.is_empty());
        }
        at += 1;
    }
    for &leaf in &queue.leaves[..leaves] {
        let node = nodes[queue.nodes[leaf as usize] as usize];
        let value = leaf_values[node.left as usize];
        add(value, queue.sets[leaf as usize], &mut block.sums);
    }
}

#[inline(always)]
fn add(value: f64, set: Set, sums: &mut [f64; BLOCK]) {
    for (word, sums) in set.0.into_iter().zip(sums.as_chunks_mut::<64>().0) {
        let mut left = word;
        while left != 0 {
            let row = left.trailing_zeros() as usize;
            // Below 64: the mask spares the check.
            sums[row & 63] += value;
            left &= left.wrapping_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, RandomForestParams};
    use paceline_numeric::Chance;

    /// Fits a forest on so many rows of a grid and compares both ways to predict.
    #[track_caller]
    fn check(columns: usize, grown_on: usize, levels: usize, rows: usize) {
        let mut draws = Chance::of_learner(columns as u64, 0);
        let mut table = |rows: usize| {
            let cells = (0..rows * columns).map(|_| draws.below(levels) as f64 / 8.0 - 4.0);
            Features::from_flat(cells.collect(), columns).unwrap()
        };
        let features = table(grown_on);
        let target = features.iter().map(|row| row[0] * row[columns - 1]);
        let target = target.collect();
        let data = Dataset::new(features, target).unwrap();
        let forest = RandomForestParams {
            trees: 30,
            ..Default::default()
        };
        let model = forest.check().unwrap().fit(&data, 1, Threads::ONE).unwrap();
        let ensemble = model.ensemble();
        let at = table(rows);
        for threads in [1, 3] {
            let threads = Threads::new(threads);
            let walk = SetWalk::new(ensemble, columns, threads);
            for kernels in Kernels::available() {
                let sums = walk.sums_with(kernels, ensemble, &at, threads);
                for (row, sum) in at.iter().zip(sums) {
                    assert_eq!(ensemble.sum(row), sum, "{kernels:?}");
                }
            }
        }
    }

    #[test]
    fn sets_of_rows_give_the_sums_of_single_walks_to_the_last_bit() {
        // Coarse grids, so that rows lie on thresholds and on one another.
        check(1, 150, 90, 37);
        check(4, 150, 90, 512);
        check(3, 150, 90, 513);
        check(6, 900, 5000, 2300);
        // Trees that are a single leaf.
        check(2, 1, 5, 100);
    }
}
