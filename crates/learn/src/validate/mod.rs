//! Judging learners on rows that they have not seen.

mod cross;
mod folds;
mod grid;
mod importance;

pub use cross::{CrossValidateError, OutOfFold, cross_validate};
pub use folds::{Fold, FoldError, grouped_k_fold, k_fold, leave_one_group_out};
pub use grid::{GridSearch, GridSearchError, grid_search};
pub use importance::{Importance, ImportanceError, permutation_importance};
