//! What the classifiers learn from: rows of single-precision features, borrowed
//! from whoever holds the data, with the class of each row.
//!
//! A data set for classification may have millions of rows, so it is never
//! copied into a type of this crate: [`DenseRows`] and [`SparseRows`] are checked
//! views.

mod labelled;
mod rows;

pub use labelled::{Labelled, LabelledError};
pub use rows::{DenseRows, Rows, RowsError, SparseRows};
