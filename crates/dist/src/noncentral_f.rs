//! The noncentral F distribution, which gives the power of an F test.

use crate::fisher_f::FisherF;
use crate::incomplete_beta;
use crate::inversion;
use crate::parameter::{ParameterError, not_negative};
use crate::poisson::Poisson;
use crate::tails::Tails;

/// The distribution of an F statistic when the effect is real.
///
/// `lambda` is the sum of squares of the true effect over the error variance.
/// The power of an F test at level α is `sf(critical)` with
/// `critical = FisherF::new(df1, df2)?.upper_quantile(α)`; a two-sided t test is
/// the case `df1 = 1`. The time of a call grows with the square root of `lambda`.
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

    /// `Σ Poisson(j; λ/2) · tails of Beta(df1/2 + j, df2/2)`, Johnson, Kotz and
    /// Balakrishnan, "Continuous Univariate Distributions" II, 30.9. All terms
    /// are positive, so a small tail keeps its digits. They rise to one peak
    /// and fall; the sum starts at the Poisson mode and goes both ways.
    fn tails(self, f: f64) -> Tails {
        if f.is_nan() {
            return Tails::NAN;
        }
        let (x, y) = self.central.shares(f);
        let (a, b) = self.central.shapes();
        let Ok(poisson) = Poisson::new(self.half) else {
            return incomplete_beta::tails(a, b, x, y);
        };
        let term = |j: u64| {
            let share = poisson.pmf(j);
            let tails = incomplete_beta::tails(a + j as f64, b, x, y);
            [share, share * tails.lower, share * tails.upper]
        };
        let mode = self.half as u64;
        let [_, mut lower, mut upper] = term(mode);
        for direction in [1_i64, -1] {
            let mut previous = [lower, upper];
            let mut j = mode;
            while let Some(next) = j.checked_add_signed(direction) {
                j = next;
                let [share, low, high] = term(j);
                lower += low;
                upper += high;
                // A sum of zero means that the tail underflows around the mode;
                // it may still grow until the shares underflow as well.
                let negligible = |value: f64, before: f64, sum: f64| {
                    sum > 0.0 && value <= before && value <= 1e-17 * sum
                };
                if share == 0.0
                    || negligible(low, previous[0], lower) && negligible(high, previous[1], upper)
                {
                    break;
                }
                previous = [low, high];
            }
        }
        Tails {
            lower: lower.min(1.0),
            upper: upper.min(1.0),
        }
    }
}
