//! The studentised range, which gives Tukey's honest significant differences.

use crate::inversion;
use crate::normal::Normal;
use crate::parameter::{ParameterError, positive};
use crate::stirling::stirling_remainder;
use crate::student_t::StudentT;
use std::f64::consts::{LN_2, PI, SQRT_2};

/// The range of `groups` independent standard normal values, divided by an
/// independent estimate of their standard deviation with `df` degrees of
/// freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentizedRange {
    groups: u32,
    df: f64,
}

impl StudentizedRange {
    /// The range of `groups` values over an estimate with `df` degrees of freedom.
    ///
    /// # Errors
    ///
    /// If there are fewer than two groups, or `df` is below one or not finite.
    pub fn new(groups: u32, df: f64) -> Result<Self, ParameterError> {
        if groups < 2 {
            return Err(ParameterError::TooFewGroups { groups });
        }
        let df = positive("df", df)?;
        if df < 1.0 {
            return Err(ParameterError::BelowOne {
                name: "df",
                value: df,
            });
        }
        Ok(Self { groups, df })
    }

    /// The probability of a value up to `q`, to about 14 decimals: unlike `sf`
    /// it keeps no relative accuracy next to zero.
    pub fn cdf(self, q: f64) -> f64 {
        1.0 - self.sf(q)
    }

    /// The probability of a value above `q`.
    ///
    /// The trapezoidal rule over `u = ln s`, where `s` is the estimated standard
    /// deviation: the integrand is analytic and falls exponentially or faster
    /// on both sides, so the rule converges geometrically (Trefethen and
    /// Weideman, "The exponentially convergent trapezoidal rule", 2014).
    pub fn sf(self, q: f64) -> f64 {
        if q.is_nan() {
            return f64::NAN;
        }
        if q <= 0.0 {
            return 1.0;
        }
        if q == f64::INFINITY {
            return 0.0;
        }
        let half = 0.5 * self.df;
        let ln_scale = LN_2 + 0.5 * half.ln() - 0.5 * (2.0 * PI).ln() - stirling_remainder(half);
        // Around its peak the density of u is normal with this deviation.
        let step = (0.5 / (2.0 * self.df).sqrt()).min(0.1);
        let peak = -0.5 * (q * q / (2.0 * self.df)).ln_1p();
        let smallest = self.typical_smallest();
        let step_of_range = self.range_step();
        let sum = sum_both_ways(peak, step, |u| {
            let deviance = (2.0 * u).exp_m1() - 2.0 * u;
            (ln_scale - half * deviance).exp() * self.range_sf(q * u.exp(), smallest, step_of_range)
        });
        (sum * step).min(1.0)
    }

    /// The value that is not exceeded with probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        self.upper_quantile(1.0 - p)
    }

    /// The value that is exceeded with probability `p`: the critical value of
    /// Tukey's test at level `p`.
    pub fn upper_quantile(self, p: f64) -> f64 {
        if !(0.0..=1.0).contains(&p) {
            return f64::NAN;
        }
        if p == 0.0 {
            return f64::INFINITY;
        }
        if p == 1.0 {
            return 0.0;
        }
        let t = StudentT::new(self.df).expect("the constructor checked df");
        let groups = f64::from(self.groups);
        // One pair is a t test, and no more than all pairs can exceed: two
        // groups bound the quantile from below, Bonferroni from above.
        let below = SQRT_2 * t.upper_quantile(0.5 * p);
        let above = SQRT_2 * t.upper_quantile(p / (groups * (groups - 1.0)));
        inversion::falling_root(below, above, |q| self.sf(q).ln() - p.ln())
    }

    /// About where the smallest of the normal values is.
    fn typical_smallest(self) -> f64 {
        Normal.quantile(1.0 / f64::from(self.groups))
    }

    /// The step of the integral over the smallest value, which is the narrower
    /// the more groups there are. A third of it changes the result by less than
    /// 1e-12.
    fn range_step(self) -> f64 {
        if self.groups <= 200 { 0.15 } else { 0.08 }
    }

    /// The probability that the range of the normal values exceeds `w`.
    ///
    /// Conditional on the smallest value `z`, with `Q` the upper tail of the
    /// normal: `k ∫ φ(z) {Q(z)^(k-1) - [Q(z) - Q(z+w)]^(k-1)} dz`. The braces
    /// are written with `ln_1p` and `exp_m1`, so that they do not cancel when
    /// `Q(z+w)` is tiny.
    fn range_sf(self, w: f64, smallest: f64, step: f64) -> f64 {
        let others = f64::from(self.groups - 1);
        // Near the peak, be it that of the smallest value or of a wide range.
        let start = smallest.min(-0.5 * w);
        let sum = sum_both_ways(start, step, |z| {
            let above = Normal.sf(z);
            if above == 0.0 {
                return 0.0;
            }
            let ratio = Normal.sf(z + w) / above;
            let exceeds = -(others * (-ratio).ln_1p()).exp_m1();
            Normal.pdf(z) * above.powf(others) * exceeds
        });
        (f64::from(self.groups) * sum * step).min(1.0)
    }
}

/// Sums a function with one peak over the points `start + i·step`, both ways,
/// until its values no longer count.
fn sum_both_ways(start: f64, step: f64, f: impl Fn(f64) -> f64) -> f64 {
    let mut sum = f(start);
    for direction in [step, -step] {
        let mut previous = sum;
        for i in 1..100_000 {
            let value = f(start + f64::from(i) * direction);
            sum += value;
            if value <= previous && value <= 1e-16 * sum {
                break;
            }
            previous = value;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finer_step_does_not_change_the_range() {
        for groups in [2, 5, 30, 200, 201, 1_000, 10_000] {
            let range = StudentizedRange::new(groups, 10.0).unwrap();
            let smallest = range.typical_smallest();
            for w in [0.3, 2.0, 4.5, 8.0, 25.0] {
                let (coarse, fine) = (
                    range.range_sf(w, smallest, range.range_step()),
                    range.range_sf(w, smallest, range.range_step() / 3.0),
                );
                assert!(
                    (coarse / fine - 1.0).abs() < 1e-12,
                    "{groups} groups at {w}: {coarse:e} and {fine:e}"
                );
            }
        }
    }
}
