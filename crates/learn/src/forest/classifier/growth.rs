//! Growing one classification tree over coded features.

use super::codes::{Bins, Code};
use super::cuts::{CodeCut, CutSearch, Offer, Tag};
use super::trees::Node;
use crate::tree::CheckedShape;
use paceline_numeric::Chance;
use std::ops::Range;

/// The features of all rows and what bounds the trees grown from them.
pub(super) struct Ground<'a, C> {
    /// Column after column.
    pub(super) codes: &'a [C],
    /// The same row after row, if there is such a table.
    pub(super) by_row: Option<&'a [C]>,
    pub(super) bins: &'a [Bins],
    /// How many rows a column has.
    pub(super) rows: usize,
    pub(super) classes: usize,
    pub(super) shape: &'a CheckedShape,
}

impl<C> Ground<'_, C> {
    fn column(&self, column: u32) -> &[C] {
        &self.codes[column as usize * self.rows..][..self.rows]
    }
}

/// A grown tree; the class shares of the leaves come one after another, in the
/// order in which `leaf` counts them.
pub(super) struct GrownTree {
    pub(super) nodes: Vec<Node>,
    /// The number of the leaf of each node; zero for others.
    pub(super) leaf: Vec<u32>,
    pub(super) shares: Vec<f32>,
}

/// When the codes of a node's rows fit into so many bytes, they are copied side by
/// side, where they stay in the second-level cache until the whole subtree is
/// grown. Otherwise nearly every code of a small node is a cache line of its own.
const SUBTREE_BYTES: usize = 1 << 20;

struct Open {
    node: usize,
    rows: Range<usize>,
    depth: usize,
}

/// Grows a tree from rows that were drawn at least once.
pub(super) fn grow<C: Code>(
    ground: &Ground<'_, C>,
    rows: Vec<u32>,
    tags: Vec<Tag>,
    draws: &mut Chance,
) -> GrownTree {
    let mut open = vec![Open {
        node: 0,
        rows: 0..rows.len(),
        depth: 0,
    }];
    let min_leaf = ground.shape.min_samples_leaf();
    let mut growth = Growth {
        ground,
        search: CutSearch::new(ground.classes, min_leaf),
        spare_rows: vec![0; rows.len()],
        spare_tags: vec![Tag::default(); rows.len()],
        rows,
        tags,
        subtree: Subtree {
            codes: Vec::new(),
            rows: 0..0,
        },
        features: (0..ground.bins.len() as u32).collect(),
        tree: GrownTree {
            nodes: vec![Node::leaf(0)],
            leaf: vec![0],
            shares: Vec::new(),
        },
    };
    // Depth first, the left child before the right one: a node's rows are still
    // near when its children are searched.
    while let Some(next) = open.pop() {
        let range = next.rows.clone();
        let found = if growth.may_cut(&next) {
            growth.gather(range.clone());
            growth.best_cut(range.clone(), draws)
        } else {
            None
        };
        let Some((column, cut)) = found else {
            growth.close(&next);
            continue;
        };
        let left = growth.cut(&next, column, &cut);
        let middle = range.start + cut.left;
        let depth = next.depth + 1;
        for (node, rows) in [(left + 1, middle..range.end), (left, range.start..middle)] {
            open.push(Open { node, rows, depth });
        }
    }
    growth.tree
}

/// The rows of a small node, row after row.
struct Subtree<C> {
    codes: Vec<C>,
    /// The range of the node. Within it, `Growth::rows` counts from its start.
    rows: Range<usize>,
}

struct Growth<'a, C> {
    ground: &'a Ground<'a, C>,
    search: CutSearch<C>,
    /// The rows of all nodes and their tags; a node owns a range of both.
    rows: Vec<u32>,
    tags: Vec<Tag>,
    spare_rows: Vec<u32>,
    spare_tags: Vec<Tag>,
    subtree: Subtree<C>,
    features: Vec<u32>,
    tree: GrownTree,
}

impl<C: Code> Growth<'_, C> {
    fn may_cut(&mut self, open: &Open) -> bool {
        let shape = self.ground.shape;
        shape.allows_cut(open.rows.len(), open.depth)
            && !self.search.enter(&self.tags[open.rows.clone()])
    }

    /// Copies the rows of a node that is small enough, unless a node above it was
    /// copied already.
    fn gather(&mut self, range: Range<usize>) {
        let Some(by_row) = self.ground.by_row else {
            return;
        };
        let columns = self.ground.bins.len();
        let is_small = range.len() * columns * size_of::<C>() <= SUBTREE_BYTES;
        if !is_small || range.end <= self.subtree.rows.end {
            return;
        }
        self.subtree.codes.clear();
        for (row, place) in self.rows[range.clone()].iter_mut().zip(0..) {
            let line = &by_row[*row as usize * columns..][..columns];
            self.subtree.codes.extend_from_slice(line);
            *row = place;
        }
        self.subtree.rows = range;
    }

    /// The best cut over the features that the node considers; the first one
    /// drawn wins a tie.
    fn best_cut(&mut self, range: Range<usize>, draws: &mut Chance) -> Option<(u32, CodeCut)> {
        let count = self.features.len();
        let considered = self.ground.shape.max_features(count);
        let mut best: Option<(u32, CodeCut)> = None;
        let mut varied = false;
        for visited in 0..count {
            if visited >= considered && varied {
                break;
            }
            if considered < count {
                let chosen = visited + draws.below(count - visited);
                self.features.swap(visited, chosen);
            }
            let column = self.features[visited];
            let rows = self.rows[range.clone()].iter();
            let tags = &self.tags[range.clone()];
            let offer = if range.end <= self.subtree.rows.end {
                let codes = &self.subtree.codes[column as usize..];
                let codes = rows.map(|&row| codes[(row as usize).wrapping_mul(count)]);
                self.search.best(codes, tags)
            } else {
                let codes = self.ground.column(column);
                self.search.best(rows.map(|&row| codes[row as usize]), tags)
            };
            match offer {
                Offer::Constant => {}
                Offer::Nothing => varied = true,
                Offer::Cut(cut) => {
                    varied = true;
                    if best.is_none_or(|(_, best)| cut.gain > best.gain) {
                        best = Some((column, cut));
                    }
                }
            }
        }
        best
    }

    /// Cuts a node and returns the first of its two children.
    fn cut(&mut self, open: &Open, column: u32, cut: &CodeCut) -> usize {
        let is_small = open.rows.end <= self.subtree.rows.end;
        let (codes, stride) = if is_small {
            (&self.subtree.codes[column as usize..], self.features.len())
        } else {
            (self.ground.column(column), 1)
        };
        let rows = &mut self.rows[open.rows.clone()];
        let tags = &mut self.tags[open.rows.clone()];
        let mut left = 0;
        let mut right = 0;
        for index in 0..rows.len() {
            let (row, tag) = (rows[index], tags[index]);
            // Both places are written and one counter moves: no branch to
            // mispredict.
            let goes = usize::from(codes[(row as usize).wrapping_mul(stride)].index() <= cut.below);
            rows[left] = row;
            tags[left] = tag;
            self.spare_rows[right] = row;
            self.spare_tags[right] = tag;
            left = left.wrapping_add(goes);
            right = right.wrapping_add(1 - goes);
        }
        rows[left..].copy_from_slice(&self.spare_rows[..right]);
        tags[left..].copy_from_slice(&self.spare_tags[..right]);
        debug_assert_eq!(left, cut.left);
        let child = self.tree.nodes.len();
        let threshold = self.ground.bins[column as usize].threshold(cut.below, cut.above);
        self.tree.nodes[open.node] = Node::cut(column, threshold, child);
        for node in [child, child + 1] {
            self.tree.nodes.push(Node::leaf(node));
            self.tree.leaf.push(0);
        }
        child
    }

    fn close(&mut self, open: &Open) {
        let classes = self.ground.classes;
        let start = self.tree.shares.len();
        self.tree.leaf[open.node] = (start / classes) as u32;
        let mut weights = vec![0_u32; classes];
        let mut total = 0_u64;
        for tag in &self.tags[open.rows.clone()] {
            weights[tag.class as usize] += tag.weight;
            total += u64::from(tag.weight);
        }
        let shares = weights
            .iter()
            .map(|&w| (f64::from(w) / total as f64) as f32);
        self.tree.shares.extend(shares);
    }
}
