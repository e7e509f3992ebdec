//! Probability distributions accurate in the tails, and the special functions
//! behind them.
//!
//! Every distribution offers `cdf(x)` and `sf(x)`, the lower and the upper
//! tail. The smaller of the two is computed directly, never as one minus the
//! other, so a p-value of 1e-200 is as good as one of 0.2. `quantile(p)` and
//! `upper_quantile(p)` invert them. An argument that is not a number, and a
//! probability outside `[0, 1]`, yield NaN, as in the standard library;
//! parameters are checked once, by the constructor.
//!
//! This crate deliberately holds no data, draws no random numbers and fits
//! nothing: it maps parameters and numbers to probabilities.

mod chi_squared;
mod fisher_f;
mod incomplete_beta;
mod incomplete_gamma;
mod inversion;
mod normal;
mod parameter;
mod stirling;
mod student_t;

pub use chi_squared::ChiSquared;
pub use fisher_f::FisherF;
pub use normal::Normal;
pub use parameter::ParameterError;
pub use student_t::StudentT;
