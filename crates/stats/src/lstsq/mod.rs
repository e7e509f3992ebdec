//! Least squares: one triangle from all rows, then everything from the triangle.

mod double_double;
mod scalar;
mod singular;
mod solve;
mod triangle;

pub(crate) use double_double::DoubleDouble;
pub(crate) use scalar::Scalar;
pub(crate) use singular::singular_values;
pub use solve::Precision;
pub(crate) use solve::{Solution, mean, solve, sum_of_squares};
pub(crate) use triangle::{Triangle, eliminate};
