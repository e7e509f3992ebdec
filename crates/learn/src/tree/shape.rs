//! What bounds the growth of a tree.

use crate::ParameterError;
use crate::parameter::{require, require_count};

/// How many features a node considers for its cut.
///
/// Features are drawn in random order; those that are constant in the node
/// count, but drawing goes on until one is not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxFeatures {
    /// All of them; the tree is then not random.
    All,
    /// The square root of their number, rounded down.
    Sqrt,
    /// This fraction of their number, rounded down, at least one.
    Fraction(f64),
    /// This many, or all if there are fewer.
    Count(usize),
}

impl MaxFeatures {
    pub(crate) fn of(self, columns: usize) -> usize {
        let count = match self {
            Self::All => columns,
            Self::Sqrt => columns.isqrt(),
            Self::Fraction(fraction) => (fraction * columns as f64) as usize,
            Self::Count(count) => count,
        };
        count.clamp(1, columns)
    }

    fn check(self) -> Result<(), ParameterError> {
        match self {
            Self::All | Self::Sqrt => Ok(()),
            Self::Fraction(fraction) => require(
                "max_features",
                fraction,
                fraction > 0.0 && fraction <= 1.0,
                "a fraction above 0 and at most 1",
            ),
            Self::Count(count) => require_count("max_features", count, 1),
        }
    }
}

/// What bounds the growth of a tree, as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeShape {
    /// The most cuts between the root and a leaf; `None` is unbounded.
    pub max_depth: Option<usize>,
    /// A node of fewer distinct rows is not cut.
    pub min_samples_split: usize,
    /// No leaf has fewer distinct rows.
    pub min_samples_leaf: usize,
    /// How many features a node considers.
    pub max_features: MaxFeatures,
}

impl Default for TreeShape {
    fn default() -> Self {
        Self {
            max_depth: None,
            min_samples_split: 2,
            min_samples_leaf: 1,
            max_features: MaxFeatures::All,
        }
    }
}

impl TreeShape {
    pub(crate) fn check(self) -> Result<CheckedShape, ParameterError> {
        if let Some(depth) = self.max_depth {
            require_count("max_depth", depth, 1)?;
        }
        require_count("min_samples_split", self.min_samples_split, 2)?;
        require_count("min_samples_leaf", self.min_samples_leaf, 1)?;
        self.max_features.check()?;
        Ok(CheckedShape(self))
    }
}

/// A [`TreeShape`] that can be grown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CheckedShape(TreeShape);

impl CheckedShape {
    pub(crate) fn max_features(&self, columns: usize) -> usize {
        self.0.max_features.of(columns)
    }

    pub(crate) fn min_samples_leaf(&self) -> usize {
        self.0.min_samples_leaf
    }

    /// Whether a node of so many rows at that depth may be cut.
    pub(crate) fn allows_cut(&self, rows: usize, depth: usize) -> bool {
        rows >= self.0.min_samples_split
            && rows / 2 >= self.0.min_samples_leaf
            && self.0.max_depth.is_none_or(|most| depth < most)
    }
}
