//! The chi-squared distribution.

use crate::gamma::Gamma;
use crate::parameter::{ParameterError, positive};

/// The chi-squared distribution; the degrees of freedom need not be an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquared {
    gamma: Gamma,
}

impl ChiSquared {
    /// A distribution with `df` degrees of freedom.
    ///
    /// # Errors
    ///
    /// If `df` is not positive and finite.
    pub fn new(df: f64) -> Result<Self, ParameterError> {
        let df = positive("df", df)?;
        Ok(Self {
            gamma: Gamma::new(0.5 * df, 0.5)?,
        })
    }

    /// The density at `x`.
    pub fn pdf(self, x: f64) -> f64 {
        self.gamma.pdf(x)
    }

    /// The probability of a value up to `x`.
    pub fn cdf(self, x: f64) -> f64 {
        self.gamma.cdf(x)
    }

    /// The probability of a value above `x`.
    pub fn sf(self, x: f64) -> f64 {
        self.gamma.sf(x)
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        self.gamma.quantile(p)
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        self.gamma.upper_quantile(p)
    }
}
