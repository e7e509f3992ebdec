//! Designed experiments.

mod factor;

pub use factor::{Factor, FactorError, Factors, Scale, Setting};
