//! The Poisson distribution.

use crate::incomplete_gamma::{tails, weight};
use crate::parameter::{ParameterError, positive};
use crate::tails::Tails;

/// The Poisson distribution: how many events happen when `mean` are expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    mean: f64,
}

impl Poisson {
    /// A distribution with the given mean.
    ///
    /// # Errors
    ///
    /// If `mean` is not positive and finite.
    pub fn new(mean: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            mean: positive("mean", mean)?,
        })
    }

    /// The probability of exactly `count` events.
    pub fn pmf(self, count: u64) -> f64 {
        if count == 0 {
            (-self.mean).exp()
        } else {
            let count = count as f64;
            weight(count, self.mean) / count
        }
    }

    /// The probability of at most `count` events.
    pub fn cdf(self, count: u64) -> f64 {
        self.waiting(count).upper
    }

    /// The probability of more than `count` events.
    pub fn sf(self, count: u64) -> f64 {
        self.waiting(count).lower
    }

    /// More than `count` events happen exactly if the waiting time for the next
    /// one, which has a gamma distribution, is over.
    fn waiting(self, count: u64) -> Tails {
        tails(count as f64 + 1.0, self.mean)
    }
}
