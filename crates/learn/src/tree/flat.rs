//! Trees as flat arrays, for prediction.

use std::ops::Range;

/// A node: rows whose feature is at most the threshold go to `left`, the others
/// to `left + 1`. A leaf is its own left child with an infinite threshold, so a
/// walk of fixed length ends in it without a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    threshold: f64,
    feature: u32,
    left: u32,
}

impl Node {
    pub(super) fn leaf(itself: usize) -> Self {
        Self {
            threshold: f64::INFINITY,
            feature: 0,
            left: index(itself),
        }
    }

    pub(super) fn cut(feature: usize, threshold: f64, left: usize) -> Self {
        Self {
            threshold,
            feature: index(feature),
            left: index(left),
        }
    }
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("an ensemble has fewer than 2^32 nodes")
}

/// One tree; the root is node zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    values: Vec<f64>,
}

impl Tree {
    pub(super) fn new(nodes: Vec<Node>, values: Vec<f64>) -> Self {
        Self { nodes, values }
    }

    pub(crate) fn predict(&self, row: &[f64]) -> f64 {
        self.values[walk(&self.nodes, 0, row)]
    }

    pub(crate) fn leaves(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }
}

fn walk(nodes: &[Node], root: usize, row: &[f64]) -> usize {
    let mut at = root;
    loop {
        let next = step(nodes[at], row);
        if next == at {
            return at;
        }
        at = next;
    }
}

fn step(node: Node, row: &[f64]) -> usize {
    let goes_right = row[node.feature as usize] > node.threshold;
    node.left as usize + usize::from(goes_right)
}

/// How many walks go on side by side. A walk waits for memory at every step;
/// eight of them fill the waiting time and keep their places in registers.
const SIDE_BY_SIDE: usize = 8;

/// Many trees in one array, whose values add up.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ensemble {
    nodes: Vec<Node>,
    values: Vec<f64>,
    roots: Vec<u32>,
}

impl Ensemble {
    pub(crate) fn new(trees: impl IntoIterator<Item = Tree>) -> Self {
        let mut ensemble = Self::default();
        for tree in trees {
            ensemble.push(&tree);
        }
        ensemble
    }

    pub(crate) fn push(&mut self, tree: &Tree) {
        let base = index(self.nodes.len());
        self.roots.push(base);
        self.nodes.extend(tree.nodes.iter().map(|node| Node {
            left: base + node.left,
            ..*node
        }));
        self.values.extend(&tree.values);
    }

    pub(crate) fn trees(&self) -> usize {
        self.roots.len()
    }

    /// The sum of the trees' values for one row.
    pub(crate) fn sum(&self, row: &[f64]) -> f64 {
        self.values_of(row).sum()
    }

    /// The value of each tree for one row.
    pub(crate) fn values_of<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let roots = self.roots.iter();
        roots.map(|&root| self.values[walk(&self.nodes, root as usize, row)])
    }

    /// The nodes of one tree.
    fn nodes_of(&self, tree: usize) -> Range<usize> {
        let end = self
            .roots
            .get(tree + 1)
            .map_or(self.nodes.len(), |&root| root as usize);
        self.roots[tree] as usize..end
    }

    /// The thresholds of all cuts with their features.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = (usize, f64)> {
        let cuts = self.nodes.iter().filter(|node| node.threshold.is_finite());
        cuts.map(|node| (node.feature as usize, node.threshold))
    }

    /// Adds the trees' values to `sums` for rows that lie one after another.
    ///
    /// The trees are the outer loop, so that a tree stays in the nearest cache
    /// while the rows pass through it. Every row adds up its trees in the same
    /// order as [`Ensemble::sum`], so both give the same bits.
    pub(crate) fn add_sums(&self, flat_rows: &[f64], columns: usize, sums: &mut [f64]) {
        for tree in 0..self.trees() {
            let range = self.nodes_of(tree);
            let base = range.start;
            let nodes = &self.nodes[range.clone()];
            let values = &self.values[range];
            let groups = flat_rows.chunks(columns * SIDE_BY_SIDE);
            for (rows, sums) in groups.zip(sums.chunks_mut(SIDE_BY_SIDE)) {
                if sums.len() == SIDE_BY_SIDE {
                    let at = walk_together(nodes, base, rows, columns);
                    for (sum, at) in sums.iter_mut().zip(at) {
                        *sum += values[at];
                    }
                } else {
                    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(columns)) {
                        *sum += self.values[walk(&self.nodes, base, row)];
                    }
                }
            }
        }
    }
}

/// Where eight rows end in one tree, whose nodes are numbered from `base`.
fn walk_together(
    nodes: &[Node],
    base: usize,
    rows: &[f64],
    columns: usize,
) -> [usize; SIDE_BY_SIDE] {
    let mut at = [0; SIDE_BY_SIDE];
    loop {
        let mut moved = 0;
        for (lane, at) in at.iter_mut().enumerate() {
            let node = nodes[*at];
            let value = rows[lane * columns + node.feature as usize];
            let next = node.left as usize - base + usize::from(value > node.threshold);
            moved |= next ^ *at;
            *at = next;
        }
        if moved == 0 {
            return at;
        }
    }
}
