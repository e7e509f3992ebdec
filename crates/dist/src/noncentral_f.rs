//! The noncentral F distribution, which gives the power of an F test.

use crate::fisher_f::FisherF;
use crate::incomplete_beta::BetaTails;
use crate::inversion;
use crate::parameter::{ParameterError, not_negative};
use crate::poisson::Poisson;

/// The distribution of an F statistic when the effect is real.
///
/// `lambda` is the sum of squares of the true effect over the error variance.
/// The power of an F test at level α is `sf(critical)` with
/// `critical = FisherF::new(df1, df2)?.upper_quantile(α)`; a two-sided t test is
/// the case `df1 = 1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoncentralF {
    central: FisherF,
    /// Half the noncentrality: the mean of the Poisson mixture.
    half: f64,
}

impl NoncentralF {
    /// A distribution with `df1` and `df2` degrees of freedom and noncentrality
    /// `lambda`; zero gives the central distribution.
    ///
    /// # Errors
    ///
    /// If a degree of freedom is not positive and finite, or `lambda` is
    /// negative or not finite.
    pub fn new(df1: f64, df2: f64, lambda: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            central: FisherF::new(df1, df2)?,
            half: 0.5 * not_negative("lambda", lambda)?,
        })
    }

    /// The probability of a value up to `f`.
    pub fn cdf(self, f: f64) -> f64 {
        self.mixture(f, |tails| tails.lower)
    }

    /// The probability of a value above `f`.
    pub fn sf(self, f: f64) -> f64 {
        self.mixture(f, |tails| tails.upper)
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        inversion::quantile(p, |f| self.cdf(f), |f| self.sf(f))
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        inversion::upper_quantile(p, |f| self.cdf(f), |f| self.sf(f))
    }

    /// `Σ Poisson(j; λ/2) · tail of Beta(df1/2 + j, df2/2)`, Johnson, Kotz and
    /// Balakrishnan, "Continuous Univariate Distributions" II, 30.9. All terms
    /// are positive, so a small tail keeps its digits. They rise to one peak
    /// and fall; the sum starts at the Poisson mode and goes both ways.
    fn mixture(self, f: f64, tail: impl Fn(BetaTails) -> f64) -> f64 {
        if f.is_nan() {
            return f64::NAN;
        }
        let f = f.max(0.0);
        let (x, y) = self.central.shares(f);
        let (a, b) = self.central.shapes();
        let Ok(poisson) = Poisson::new(self.half) else {
            return tail(BetaTails::at(a, b, x, y));
        };
        let mode = self.half as u64;
        let tail_at = |j: u64| tail(BetaTails::at(a + j as f64, b, x, y));
        let mut sum = poisson.pmf(mode) * tail_at(mode);
        for direction in [1_i64, -1] {
            let mut previous = sum;
            let mut j = mode;
            while let Some(next) = j.checked_add_signed(direction) {
                j = next;
                let share = poisson.pmf(j);
                let value = share * tail_at(j);
                sum += value;
                // A sum of zero means that the tail underflows around the mode;
                // it may still grow until the shares underflow as well.
                if share == 0.0 || (sum > 0.0 && value <= previous && value <= 1e-17 * sum) {
                    break;
                }
                previous = value;
            }
        }
        sum.min(1.0)
    }
}
