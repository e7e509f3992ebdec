//! The chi-squared distribution.

use crate::incomplete_gamma::{GammaTails, weight};
use crate::inversion;
use crate::parameter::{ParameterError, positive};

/// The chi-squared distribution; the degrees of freedom need not be an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquared {
    df: f64,
}

impl ChiSquared {
    /// A distribution with `df` degrees of freedom.
    ///
    /// # Errors
    ///
    /// If `df` is not positive and finite.
    pub fn new(df: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            df: positive("df", df)?,
        })
    }

    /// The density at `x`.
    pub fn pdf(self, x: f64) -> f64 {
        if x < 0.0 || x == f64::INFINITY {
            0.0
        } else if x == 0.0 {
            match self.df.total_cmp(&2.0) {
                std::cmp::Ordering::Less => f64::INFINITY,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 0.0,
            }
        } else {
            weight(0.5 * self.df, 0.5 * x) / x
        }
    }

    /// The probability of a value up to `x`.
    pub fn cdf(self, x: f64) -> f64 {
        if x.is_nan() {
            f64::NAN
        } else {
            self.tails(x).lower
        }
    }

    /// The probability of a value above `x`.
    pub fn sf(self, x: f64) -> f64 {
        if x.is_nan() {
            f64::NAN
        } else {
            self.tails(x).upper
        }
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        inversion::quantile(p, |x| self.cdf(x), |x| self.sf(x))
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        inversion::upper_quantile(p, |x| self.cdf(x), |x| self.sf(x))
    }

    fn tails(self, x: f64) -> GammaTails {
        GammaTails::at(0.5 * self.df, 0.5 * x)
    }
}
