//! Random forests: many trees on bootstrap samples, averaged.

mod cells;
mod classifier;
mod regressor;
mod sample;

pub use classifier::{
    RandomForestClassifier, RandomForestClassifierModel, RandomForestClassifierParams,
    RandomForestClassifierParts, Splits,
};
pub use regressor::{RandomForest, RandomForestModel, RandomForestParams};

/// Rows predicted in one go by one thread: their features and sums fit in the
/// second-level cache together with a tree.
const BLOCK_ROWS: usize = 1024;
