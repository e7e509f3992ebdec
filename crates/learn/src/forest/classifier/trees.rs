//! Classification trees as flat arrays, for prediction.

use super::growth::GrownTree;

/// A node: rows whose feature is at most the threshold go to `left`, the others
/// to `left + 1`, both counted from the root of the tree. A leaf is its own left
/// child with an infinite threshold, so a walk of fixed length ends in it
/// without a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Node {
    pub(super) threshold: f32,
    pub(super) feature: u32,
    pub(super) left: u32,
}

impl Node {
    pub(super) fn leaf(itself: usize) -> Self {
        Self {
            threshold: f32::INFINITY,
            feature: 0,
            left: itself as u32,
        }
    }

    pub(super) fn cut(feature: u32, threshold: f32, left: usize) -> Self {
        Self {
            threshold,
            feature,
            left: left as u32,
        }
    }
}

/// The trees of a forest in one array.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Trees {
    pub(super) nodes: Vec<Node>,
    /// Where in `shares` the leaf of a node is, counted in leaves.
    pub(super) leaf: Vec<u32>,
    pub(super) roots: Vec<u32>,
    /// The share of each class, leaf after leaf.
    pub(super) shares: Vec<f32>,
}

/// How many walks go on side by side. A walk waits for memory at every step;
/// eight of them fill the waiting time and keep their places in registers.
const SIDE_BY_SIDE: usize = 8;

impl Trees {
    pub(super) fn push(&mut self, tree: GrownTree, classes: usize) {
        let first = (self.shares.len() / classes) as u32;
        self.roots.push(self.nodes.len() as u32);
        self.nodes.extend(tree.nodes);
        self.leaf.extend(tree.leaf.iter().map(|leaf| first + leaf));
        self.shares.extend(tree.shares);
    }

    /// The nodes of one tree and their leaves.
    fn tree(&self, tree: usize) -> (&[Node], &[u32]) {
        let start = self.roots[tree] as usize;
        let next = self.roots.get(tree + 1);
        let end = next.map_or(self.nodes.len(), |&root| root as usize);
        (&self.nodes[start..end], &self.leaf[start..end])
    }

    /// Adds the shares of every tree to the sums of rows that lie one after
    /// another.
    pub(super) fn add_shares(
        &self,
        flat: &[f32],
        columns: usize,
        sums: &mut [f64],
        classes: usize,
    ) {
        let rows = flat.len() / columns;
        for tree in 0..self.roots.len() {
            let (nodes, leaf) = self.tree(tree);
            for first in (0..rows).step_by(SIDE_BY_SIDE) {
                let count = SIDE_BY_SIDE.min(rows - first);
                let group: [&[f32]; SIDE_BY_SIDE] = std::array::from_fn(|lane| {
                    &flat[(first + lane.min(count - 1)) * columns..][..columns]
                });
                let ends = walk_together(nodes, group);
                for (row, &end) in (first..first + count).zip(&ends) {
                    let shares = &self.shares[leaf[end] as usize * classes..][..classes];
                    let sums = &mut sums[row * classes..][..classes];
                    for (sum, &share) in sums.iter_mut().zip(shares) {
                        *sum += f64::from(share);
                    }
                }
            }
        }
    }
}

/// Where eight rows end in one tree.
fn walk_together(nodes: &[Node], group: [&[f32]; SIDE_BY_SIDE]) -> [usize; SIDE_BY_SIDE] {
    let mut at = [0; SIDE_BY_SIDE];
    loop {
        let mut moved = 0;
        for (row, at) in group.iter().zip(&mut at) {
            let node = nodes[*at];
            let right = usize::from(row[node.feature as usize] > node.threshold);
            let next = (node.left as usize).wrapping_add(right);
            moved |= next ^ *at;
            *at = next;
        }
        if moved == 0 {
            return at;
        }
    }
}
