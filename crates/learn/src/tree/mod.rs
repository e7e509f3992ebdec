//! Decision trees: exact growth over presorted features and a flat layout.
//!
//! Growing ([`grow`]) knows nothing of what is predicted: a [`criterion::Criterion`] scores
//! the cuts of one feature, and the caller computes the values of the leaves
//! from the rows that fell into them. Regression, classification and boosting
//! share it.

mod absolute;
mod columns;
mod criterion;
mod flat;
mod grow;
mod regressor;
mod sets;
mod shape;
mod squared;

pub(crate) use absolute::Absolute;
pub(crate) use columns::Columns;
pub(crate) use flat::{Ensemble, Tree};
pub(crate) use grow::{Grown, grow};
pub use regressor::{DecisionTree, DecisionTreeModel, DecisionTreeParams, SplitCriterion};
pub(crate) use regressor::{grow_regression, leaf_values, rows_by_target};
pub(crate) use sets::SetWalk;
pub(crate) use shape::CheckedShape;
pub use shape::{MaxFeatures, TreeShape};
pub(crate) use squared::Squared;
