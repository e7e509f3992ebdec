//! A Gaussian process averaged over its hyper-parameters.
//!
//! From a few runs the marginal likelihood cannot tell length scales and noise
//! apart, and the kernel of the greatest likelihood is usually too sure of
//! itself. Here the hyper-parameters have priors and are drawn from their
//! posterior, once with equal and once with unequal spread, and the draws are
//! pooled by how well each spread foretells the runs that are left out.

mod cells;
mod chain;
mod density;
mod draw;
mod left_out;
mod model;
#[cfg(test)]
mod tests;

pub use left_out::LeftOut;
pub use model::{AveragedPrediction, AveragedProcess, AveragedProcessModel, AveragedProcessParams};
