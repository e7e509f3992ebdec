//! The plain form in which a forest is stored.

use super::RandomForestClassifierModel;
use super::trees::{Node, Trees};
use crate::PartsError;
use crate::parts::{expect_finite, expect_length};

/// The parts of a [`RandomForestClassifierModel`] as plain numbers. The nodes of
/// all trees lie one after another.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomForestClassifierParts {
    /// How many classes there are.
    pub classes: usize,
    /// How many features a row has.
    pub columns: usize,
    /// The first node of each tree.
    pub roots: Vec<u32>,
    /// The feature that a node compares; zero for a leaf.
    pub features: Vec<u32>,
    /// Rows whose feature is at most this go left; infinite for a leaf.
    pub thresholds: Vec<f32>,
    /// The left child of a node, counted from the root of its tree; the right one
    /// follows it. A leaf is its own left child.
    pub lefts: Vec<u32>,
    /// Where the class shares of a leaf are, counted in leaves; zero otherwise.
    pub leaves: Vec<u32>,
    /// The share of each class, leaf after leaf.
    pub shares: Vec<f32>,
}

impl RandomForestClassifierModel {
    /// The model as plain numbers.
    pub fn to_parts(&self) -> RandomForestClassifierParts {
        let nodes = &self.trees.nodes;
        RandomForestClassifierParts {
            classes: self.classes,
            columns: self.columns,
            roots: self.trees.roots.clone(),
            features: nodes.iter().map(|node| node.feature).collect(),
            thresholds: nodes.iter().map(|node| node.threshold).collect(),
            lefts: nodes.iter().map(|node| node.left).collect(),
            leaves: self.trees.leaf.clone(),
            shares: self.trees.shares.clone(),
        }
    }

    /// Checks plain numbers that [`RandomForestClassifierModel::to_parts`] may
    /// have given. Every walk through the trees ends in a leaf.
    pub fn from_parts(parts: RandomForestClassifierParts) -> Result<Self, PartsError> {
        let wrong = |part, entry, value| PartsError::Value { part, entry, value };
        if parts.classes < 2 {
            return Err(wrong("classes", 0, parts.classes as f64));
        }
        if parts.columns == 0 {
            return Err(wrong("columns", 0, 0.0));
        }
        let count = parts.features.len();
        expect_length("thresholds", parts.thresholds.len(), count)?;
        expect_length("lefts", parts.lefts.len(), count)?;
        expect_length("leaves", parts.leaves.len(), count)?;
        expect_finite("shares", &parts.shares)?;
        let leaves = parts.shares.len() / parts.classes;
        expect_length("shares", parts.shares.len(), leaves * parts.classes)?;
        if parts.roots.first() != Some(&0) {
            return Err(wrong(
                "roots",
                0,
                parts.roots.first().map_or(f64::NAN, |&r| f64::from(r)),
            ));
        }
        for (tree, &root) in parts.roots.iter().enumerate() {
            let start = root as usize;
            let next = parts.roots.get(tree + 1);
            let end = next.map_or(count, |&next| next as usize);
            if start >= end || end > count {
                return Err(wrong("roots", tree, f64::from(root)));
            }
            check_tree(&parts, tree, start, end - start, leaves)?;
        }
        let nodes = (0..count).map(|node| Node {
            threshold: parts.thresholds[node],
            feature: parts.features[node],
            left: parts.lefts[node],
        });
        Ok(Self {
            trees: Trees {
                nodes: nodes.collect(),
                leaf: parts.leaves,
                roots: parts.roots,
                shares: parts.shares,
            },
            classes: parts.classes,
            columns: parts.columns,
        })
    }
}

fn check_tree(
    parts: &RandomForestClassifierParts,
    tree: usize,
    start: usize,
    size: usize,
    leaves: usize,
) -> Result<(), PartsError> {
    for node in 0..size {
        let at = start + node;
        let left = parts.lefts[at] as usize;
        let threshold = parts.thresholds[at];
        let is_leaf = left == node && threshold == f32::INFINITY;
        // Children follow their parent, so no walk goes round in a circle.
        let is_cut = left > node && left + 1 < size;
        if !is_leaf && !is_cut {
            return Err(PartsError::Node {
                tree,
                node,
                target: left,
            });
        }
        if is_cut && !threshold.is_finite() {
            return Err(PartsError::Value {
                part: "thresholds",
                entry: at,
                value: f64::from(threshold),
            });
        }
        for (part, value, bound) in [
            ("features", parts.features[at], parts.columns),
            ("leaves", parts.leaves[at], leaves),
        ] {
            if value as usize >= bound {
                return Err(PartsError::Value {
                    part,
                    entry: at,
                    value: f64::from(value),
                });
            }
        }
    }
    Ok(())
}
