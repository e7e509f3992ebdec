//! The gamma distribution.

use crate::incomplete_gamma::{tails, weight};
use crate::inversion;
use crate::parameter::{ParameterError, positive};
use crate::tails::Tails;

/// The gamma distribution with density `rate^shape x^(shape-1) e^(-rate x) / Γ(shape)`.
///
/// With an integer shape `n` it is the time until the `n`-th event of a Poisson
/// process (Erlang).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gamma {
    shape: f64,
    rate: f64,
}

impl Gamma {
    /// A distribution with mean `shape / rate`.
    ///
    /// # Errors
    ///
    /// If either parameter is not positive and finite.
    pub fn new(shape: f64, rate: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            shape: positive("shape", shape)?,
            rate: positive("rate", rate)?,
        })
    }

    /// The density at `x`.
    pub fn pdf(self, x: f64) -> f64 {
        if x < 0.0 || x == f64::INFINITY {
            0.0
        } else if x == 0.0 {
            match self.shape.total_cmp(&1.0) {
                std::cmp::Ordering::Less => f64::INFINITY,
                std::cmp::Ordering::Equal => self.rate,
                std::cmp::Ordering::Greater => 0.0,
            }
        } else {
            weight(self.shape, self.rate * x) / x
        }
    }

    /// The probability of a value up to `x`.
    pub fn cdf(self, x: f64) -> f64 {
        self.tails(x).lower
    }

    /// The probability of a value above `x`.
    pub fn sf(self, x: f64) -> f64 {
        self.tails(x).upper
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        inversion::quantile(p, |x| self.tails(x))
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        inversion::upper_quantile(p, |x| self.tails(x))
    }

    fn tails(self, x: f64) -> Tails {
        tails(self.shape, self.rate * x)
    }
}
