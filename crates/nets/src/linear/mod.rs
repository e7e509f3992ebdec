//! Models whose score is linear in the row: logistic regression and linear
//! support vector machines, for dense and for sparse rows.

mod dense;
mod margin_loss;
mod sparse;
mod sparse_softmax;

pub use dense::DenseLinear;
pub use margin_loss::MarginLoss;
pub use sparse::SparseLinear;
pub use sparse_softmax::SparseSoftmax;
