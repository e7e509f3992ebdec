//! Least squares under bounds: what service demands and scaling laws are
//! estimated with.

mod levenberg;
mod nnls;

pub(crate) use levenberg::positive_least_squares;
pub use nnls::{NnlsError, NnlsSolution, nnls};
