//! The exponential distribution.

use crate::parameter::{ParameterError, positive};

/// The exponential distribution with the given rate; its mean is `1 / rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exponential {
    rate: f64,
}

impl Exponential {
    /// A distribution with mean `1 / rate`.
    ///
    /// # Errors
    ///
    /// If `rate` is not positive and finite.
    pub fn new(rate: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            rate: positive("rate", rate)?,
        })
    }

    /// The density at `x`.
    pub fn pdf(self, x: f64) -> f64 {
        if x < 0.0 {
            0.0
        } else {
            self.rate * (-self.rate * x).exp()
        }
    }

    /// The probability of a value up to `x`.
    pub fn cdf(self, x: f64) -> f64 {
        if x < 0.0 {
            0.0
        } else {
            -(-self.rate * x).exp_m1()
        }
    }

    /// The probability of a value above `x`.
    pub fn sf(self, x: f64) -> f64 {
        if x < 0.0 { 1.0 } else { (-self.rate * x).exp() }
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        if (0.0..=1.0).contains(&p) {
            -(-p).ln_1p() / self.rate
        } else {
            f64::NAN
        }
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        if (0.0..=1.0).contains(&p) {
            -p.ln() / self.rate
        } else {
            f64::NAN
        }
    }
}
