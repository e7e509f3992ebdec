//! The beta distribution.

use crate::incomplete_beta::{tails, weight};
use crate::inversion;
use crate::parameter::{ParameterError, positive};
use crate::tails::Tails;

/// The beta distribution on `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beta {
    a: f64,
    b: f64,
}

impl Beta {
    /// A distribution with mean `a / (a + b)`.
    ///
    /// # Errors
    ///
    /// If either parameter is not positive and finite.
    pub fn new(a: f64, b: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            a: positive("a", a)?,
            b: positive("b", b)?,
        })
    }

    /// The density at `x`.
    pub fn pdf(self, x: f64) -> f64 {
        let end = |shape: f64, other: f64| match shape.total_cmp(&1.0) {
            std::cmp::Ordering::Less => f64::INFINITY,
            std::cmp::Ordering::Equal => other,
            std::cmp::Ordering::Greater => 0.0,
        };
        if !(0.0..=1.0).contains(&x) {
            if x.is_nan() { f64::NAN } else { 0.0 }
        } else if x == 0.0 {
            end(self.a, self.b)
        } else if x == 1.0 {
            end(self.b, self.a)
        } else {
            weight(self.a, self.b, x, 1.0 - x) / x / (1.0 - x)
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
        inversion::quantile(p, |x| self.tails(x)).min(1.0)
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        inversion::upper_quantile(p, |x| self.tails(x)).min(1.0)
    }

    fn tails(self, x: f64) -> Tails {
        tails(self.a, self.b, x, 1.0 - x)
    }
}
