//! Trees as flat arrays, for prediction.

use std::ops::Range;

/// A node: rows whose feature is at most the threshold go to `left`, the others
/// to `left + 1`, both counted from the root of the tree. A leaf is its own left
/// child with an infinite threshold, so a walk of fixed length ends in it without
/// a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    pub(super) threshold: f64,
    pub(super) feature: u32,
    pub(super) left: u32,
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
        self.values[walk(&self.nodes, row)]
    }

    pub(crate) fn leaves(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }
}

/// The leaf that a row ends in, by the nodes of one tree.
fn walk(nodes: &[Node], row: &[f64]) -> usize {
    let mut at = 0;
    loop {
        let node = nodes[at];
        let next = child(node, row[node.feature as usize] > node.threshold);
        if next == at {
            return at;
        }
        at = next;
    }
}

fn child(node: Node, goes_right: bool) -> usize {
    // Indices are below 2^32: there is nothing to overflow.
    (node.left as usize).wrapping_add(usize::from(goes_right))
}

/// How many walks go on side by side. A walk waits for memory at every step;
/// eight of them fill the waiting time and keep their places in registers.
const SIDE_BY_SIDE: usize = 8;

/// Many trees in one array, whose values add up.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ensemble {
    pub(super) nodes: Vec<Node>,
    pub(super) values: Vec<f64>,
    pub(super) roots: Vec<u32>,
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
        self.roots.push(index(self.nodes.len()));
        self.nodes.extend(&tree.nodes);
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
        (0..self.trees()).map(|tree| {
            let (nodes, values) = self.tree(tree);
            values[walk(nodes, row)]
        })
    }

    /// The nodes and values of one tree.
    fn tree(&self, tree: usize) -> (&[Node], &[f64]) {
        let range = self.range(tree);
        (&self.nodes[range.clone()], &self.values[range])
    }

    /// Where the nodes of one tree are.
    pub(super) fn range(&self, tree: usize) -> Range<usize> {
        let start = self.roots[tree] as usize;
        let next = self.roots.get(tree + 1);
        let end = next.map_or(self.nodes.len(), |&root| root as usize);
        start..end
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
        let groups = groups(flat_rows, columns);
        for tree in 0..self.trees() {
            let (nodes, values) = self.tree(tree);
            let groups = groups.chunks_exact(columns);
            for (group, sums) in groups.zip(sums.chunks_mut(SIDE_BY_SIDE)) {
                let at = walk_together(nodes, group);
                for (sum, at) in sums.iter_mut().zip(at) {
                    *sum += values[at];
                }
            }
        }
    }
}

/// The features of rows side by side.
type Lanes = [f64; SIDE_BY_SIDE];

/// Eight rows after another, each group feature by feature, so that a step of a
/// walk needs one index and not a row of its own. The last group is filled up
/// with zeros.
fn groups(flat_rows: &[f64], columns: usize) -> Vec<Lanes> {
    let mut groups = Vec::with_capacity(flat_rows.len().div_ceil(SIDE_BY_SIDE));
    for rows in flat_rows.chunks(columns * SIDE_BY_SIDE) {
        groups.extend((0..columns).map(|column| -> Lanes {
            std::array::from_fn(|lane| rows.get(lane * columns + column).copied().unwrap_or(0.0))
        }));
    }
    groups
}

/// Where eight rows end in one tree.
fn walk_together(nodes: &[Node], group: &[Lanes]) -> [usize; SIDE_BY_SIDE] {
    let mut at = [0; SIDE_BY_SIDE];
    loop {
        let mut moved = 0;
        for (lane, at) in at.iter_mut().enumerate() {
            let node = nodes[*at];
            let goes_right = group[node.feature as usize][lane] > node.threshold;
            let next = child(node, goes_right);
            moved |= next ^ *at;
            *at = next;
        }
        if moved == 0 {
            return at;
        }
    }
}
