//! Student's t distribution.

use std::f64::consts::PI;

use crate::incomplete_beta;
use crate::inversion;
use crate::parameter::{ParameterError, positive};
use crate::stirling::{ln_gamma, stirling_remainder};
use crate::tails::Tails;

/// Student's t distribution; the degrees of freedom need not be an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT {
    df: f64,
}

impl StudentT {
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

    /// The density at `t`.
    pub fn pdf(self, t: f64) -> f64 {
        let half = 0.5 * self.df;
        // Γ(ν/2 + 1/2) / (Γ(ν/2) √(ν/2)), by Stirling's formula on both.
        let ratio = (half * (0.5 / half).ln_1p() - 0.5 + stirling_remainder(half + 0.5)
            - stirling_remainder(half))
        .exp();
        let scaled = t / self.df.sqrt();
        let fall = if scaled.abs() < 1e150 {
            -(half + 0.5) * (scaled * scaled).ln_1p()
        } else {
            -(self.df + 1.0) * scaled.abs().ln()
        };
        ratio * fall.exp() / (2.0 * PI).sqrt()
    }

    /// The probability of a value up to `t`.
    pub fn cdf(self, t: f64) -> f64 {
        self.sf(-t)
    }

    /// The probability of a value above `t`.
    pub fn sf(self, t: f64) -> f64 {
        if t.is_nan() {
            return f64::NAN;
        }
        let beyond = self.beyond(t.abs());
        if t < 0.0 { 1.0 - beyond } else { beyond }
    }

    /// The probability of a value farther from zero than `t`, on either side:
    /// the p-value of a two-sided test.
    pub fn two_sided(self, t: f64) -> f64 {
        if t.is_nan() {
            f64::NAN
        } else {
            2.0 * self.beyond(t.abs())
        }
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        -self.upper_quantile(p)
    }

    /// The value that is exceeded with probability `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        if !(0.0..=1.0).contains(&p) {
            f64::NAN
        } else if p <= 0.5 {
            self.quantile_of_magnitude(2.0 * p)
        } else {
            -self.quantile_of_magnitude(2.0 * (1.0 - p))
        }
    }

    /// The magnitude that is exceeded with probability `p`.
    fn quantile_of_magnitude(self, p: f64) -> f64 {
        inversion::upper_quantile(p, |t| Tails {
            lower: self.tails(t / self.df.sqrt()).lower,
            upper: 2.0 * self.beyond(t),
        })
    }

    /// The upper tail at a non-negative `t`.
    fn beyond(self, t: f64) -> f64 {
        let half = 0.5 * self.df;
        let scaled = t / self.df.sqrt();
        if scaled > 1e150 {
            // The square overflows; there the tail is its leading term.
            let ln_beta = ln_gamma(half) + ln_gamma(0.5) - ln_gamma(half + 0.5);
            return 0.5 * (-self.df * scaled.ln() - half.ln() - ln_beta).exp();
        }
        0.5 * self.tails(scaled).upper
    }

    /// The distribution of `t² / (ν + t²)`, which is beta.
    fn tails(self, scaled: f64) -> Tails {
        let square = scaled * scaled;
        let x = if square.is_finite() {
            square / (1.0 + square)
        } else {
            1.0
        };
        incomplete_beta::tails(0.5, 0.5 * self.df, x, 1.0 / (1.0 + square))
    }
}
