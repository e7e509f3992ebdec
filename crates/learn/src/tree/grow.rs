//! Growing a tree, breadth first.

use super::columns::{Columns, sort};
use super::criterion::Criterion;
use super::flat::{Node, Tree};
use super::shape::CheckedShape;
use crate::order_statistics::midpoint;
use paceline_numeric::Chance;
use std::ops::Range;

/// A tree whose leaves have no values yet, and the rows in each leaf.
pub(crate) struct Grown {
    nodes: Vec<Node>,
    rows: Vec<u32>,
    leaves: Vec<Leaf>,
}

struct Leaf {
    node: usize,
    rows: Range<usize>,
}

impl Grown {
    /// The rows of each leaf, in the order in which they were given to [`grow`].
    pub(crate) fn leaves(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.leaves.iter().map(|leaf| &self.rows[leaf.rows.clone()])
    }

    /// Gives each leaf its value, in the order of [`Grown::leaves`].
    pub(crate) fn with_values(self, leaf_values: &[f64]) -> Tree {
        let mut values = vec![0.0; self.nodes.len()];
        for (leaf, &value) in self.leaves.iter().zip(leaf_values) {
            values[leaf.node] = value;
        }
        Tree::new(self.nodes, values)
    }
}

/// Grows a tree from the rows that take part, each named once.
///
/// The order of `rows` is kept within every node, so a criterion may rely on
/// it. Feature draws come from `draws` unless every feature is considered.
pub(crate) fn grow(
    columns: &Columns,
    rows: Vec<u32>,
    shape: &CheckedShape,
    criterion: &mut impl Criterion,
    draws: &mut Chance,
) -> Grown {
    let mut growth = Growth::new(columns, rows, shape);
    let mut next = 0;
    while next < growth.open.len() {
        let open = growth.open[next].clone();
        next += 1;
        if !growth.may_cut(&open, criterion) {
            growth.close(open);
            continue;
        }
        match growth.best_cut(&open, criterion, draws) {
            Some(found) => growth.cut(open, &found),
            None => growth.close(open),
        }
    }
    Grown {
        nodes: growth.nodes,
        rows: growth.rows,
        leaves: growth.leaves,
    }
}

/// A node that is not yet cut nor closed.
#[derive(Clone)]
struct Open {
    node: usize,
    rows: Range<usize>,
    depth: usize,
}

struct Found {
    column: usize,
    threshold: f64,
    left: usize,
    gain: f64,
}

struct Growth<'a> {
    columns: &'a Columns,
    shape: &'a CheckedShape,
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// Every node was open once; the list is read front to back.
    open: Vec<Open>,
    /// The rows of all nodes; a node owns a range.
    rows: Vec<u32>,
    /// The same for each feature, in its ascending order within each node;
    /// empty if orders are not kept.
    ascending: Vec<u32>,
    /// The rows of a node in the order of one feature, if orders are not kept.
    sorted: Vec<u32>,
    goes_left: Vec<bool>,
    scratch: Vec<u32>,
    features: Vec<usize>,
}

impl<'a> Growth<'a> {
    fn new(columns: &'a Columns, rows: Vec<u32>, shape: &'a CheckedShape) -> Self {
        let mut takes_part = vec![false; columns.rows()];
        for &row in &rows {
            takes_part[row as usize] = true;
        }
        let mut ascending = Vec::new();
        for column in 0..columns.count() {
            let Some(all) = columns.ascending(column) else {
                break;
            };
            if rows.len() == columns.rows() {
                ascending.extend(all);
            } else {
                ascending.extend(all.iter().filter(|&&row| takes_part[row as usize]));
            }
        }
        Self {
            columns,
            shape,
            nodes: vec![Node::leaf(0)],
            leaves: Vec::new(),
            open: vec![Open {
                node: 0,
                rows: 0..rows.len(),
                depth: 0,
            }],
            ascending,
            sorted: Vec::new(),
            goes_left: takes_part,
            scratch: vec![0; rows.len()],
            features: (0..columns.count()).collect(),
            rows,
        }
    }

    fn may_cut(&self, open: &Open, criterion: &mut impl Criterion) -> bool {
        self.shape.allows_cut(open.rows.len(), open.depth)
            && !criterion.enter(&self.rows[open.rows.clone()])
    }

    /// The best cut over the features that the node considers; the first one
    /// drawn wins a tie.
    fn best_cut(
        &mut self,
        open: &Open,
        criterion: &mut impl Criterion,
        draws: &mut Chance,
    ) -> Option<Found> {
        let count = self.features.len();
        let considered = self.shape.max_features(count);
        let mut best: Option<Found> = None;
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
            let values = self.columns.values(column);
            let ascending = if self.ascending.is_empty() {
                self.sorted.clear();
                self.sorted.extend(&self.rows[open.rows.clone()]);
                sort(&mut self.sorted, values);
                &self.sorted
            } else {
                &self.ascending[column * self.rows.len()..][open.rows.clone()]
            };
            let smallest = values[ascending[0] as usize];
            let largest = values[ascending[ascending.len() - 1] as usize];
            if smallest == largest {
                continue;
            }
            varied = true;
            let cut = criterion.best_cut(ascending, values, self.shape.min_samples_leaf());
            if let Some(cut) = cut
                && best.as_ref().is_none_or(|best| cut.gain > best.gain)
            {
                let below = values[ascending[cut.left - 1] as usize];
                let above = values[ascending[cut.left] as usize];
                best = Some(Found {
                    column,
                    threshold: between(below, above),
                    left: cut.left,
                    gain: cut.gain,
                });
            }
        }
        best
    }

    fn close(&mut self, open: Open) {
        self.leaves.push(Leaf {
            node: open.node,
            rows: open.rows,
        });
    }

    fn cut(&mut self, open: Open, found: &Found) {
        let values = self.columns.values(found.column);
        let total = self.rows.len();
        for &row in &self.rows[open.rows.clone()] {
            self.goes_left[row as usize] = values[row as usize] <= found.threshold;
        }
        let middle = open.rows.start + found.left;
        let left = self.nodes.len();
        self.nodes[open.node] = Node::cut(found.column, found.threshold, left);
        let children = [open.rows.start..middle, middle..open.rows.end];
        partition(
            &mut self.rows[open.rows.clone()],
            &self.goes_left,
            &mut self.scratch,
        );
        let depth = open.depth + 1;
        // Leaves need no order of features: the last level is not partitioned.
        let goes_on = children
            .iter()
            .any(|rows| self.shape.allows_cut(rows.len(), depth));
        if goes_on && !self.ascending.is_empty() {
            for column in (0..self.columns.count()).filter(|&column| column != found.column) {
                let list = &mut self.ascending[column * total..][open.rows.clone()];
                partition(list, &self.goes_left, &mut self.scratch);
            }
        }
        for (rows, node) in children.into_iter().zip(left..) {
            self.nodes.push(Node::leaf(node));
            self.open.push(Open { node, rows, depth });
        }
    }
}

/// A threshold `t` with `below <= t < above`; the midpoint may round up to `above`.
fn between(below: f64, above: f64) -> f64 {
    let middle = midpoint(below, above);
    if middle < above { middle } else { below }
}

/// Moves the rows that go left to the front, keeping the order on both sides.
///
/// Both places are written each time and only one counter moves, so there is no
/// branch to mispredict.
fn partition(list: &mut [u32], goes_left: &[bool], scratch: &mut [u32]) {
    let mut left = 0;
    let mut right = 0;
    for index in 0..list.len() {
        let row = list[index];
        let goes = usize::from(goes_left[row as usize]);
        list[left] = row;
        scratch[right] = row;
        left += goes;
        right += 1 - goes;
    }
    list[left..].copy_from_slice(&scratch[..right]);
}
