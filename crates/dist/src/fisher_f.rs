//! Fisher's F distribution.

use crate::incomplete_beta::{tails, weight};
use crate::inversion;
use crate::parameter::{ParameterError, positive};
use crate::tails::Tails;

/// Fisher's F distribution; the degrees of freedom need not be integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FisherF {
    df1: f64,
    df2: f64,
}

impl FisherF {
    /// A distribution with `df1` degrees of freedom in the numerator and `df2`
    /// in the denominator.
    ///
    /// # Errors
    ///
    /// If either is not positive and finite.
    pub fn new(df1: f64, df2: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            df1: positive("df1", df1)?,
            df2: positive("df2", df2)?,
        })
    }

    /// The density at `f`.
    pub fn pdf(self, f: f64) -> f64 {
        if f < 0.0 || f == f64::INFINITY {
            0.0
        } else if f == 0.0 {
            match self.df1.total_cmp(&2.0) {
                std::cmp::Ordering::Less => f64::INFINITY,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => 0.0,
            }
        } else {
            let (x, y) = self.shares(f);
            let (a, b) = self.shapes();
            weight(a, b, x, y) / f
        }
    }

    /// The probability of a value up to `f`.
    pub fn cdf(self, f: f64) -> f64 {
        self.tails(f).lower
    }

    /// The probability of a value above `f`.
    pub fn sf(self, f: f64) -> f64 {
        self.tails(f).upper
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        inversion::quantile(p, |f| self.tails(f))
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        inversion::upper_quantile(p, |f| self.tails(f))
    }

    fn tails(self, f: f64) -> Tails {
        let (x, y) = self.shares(f);
        let (a, b) = self.shapes();
        tails(a, b, x, y)
    }

    /// The shares of numerator and denominator in their sum, of which the first
    /// has a beta distribution.
    pub(crate) fn shares(self, f: f64) -> (f64, f64) {
        let ratio = if f < 0.0 {
            0.0
        } else {
            f * (self.df1 / self.df2)
        };
        if ratio == f64::INFINITY {
            (1.0, 0.0)
        } else {
            (ratio / (1.0 + ratio), 1.0 / (1.0 + ratio))
        }
    }

    /// The parameters of that beta distribution.
    pub(crate) fn shapes(self) -> (f64, f64) {
        (0.5 * self.df1, 0.5 * self.df2)
    }
}
