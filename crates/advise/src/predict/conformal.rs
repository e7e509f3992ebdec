//! Intervals and probabilities from out-of-fold residuals.

use paceline_dist::StudentT;

/// Where an interval's width comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalMethod {
    /// Ranks of out-of-fold residuals: no distribution is assumed (Vovk,
    /// Gammerman and Shafer 2005; cross-conformal, Vovk 2015).
    Conformal,
    /// The model itself, averaged over what the runs leave open, and checked by
    /// runs that are left out.
    Posterior,
    /// Student's t: there are too few residuals for ranks to reach the asked
    /// coverage, so they are taken as normal.
    Student,
}

/// Out-of-fold residuals on the response's scale, each divided by how hard its
/// configuration is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Residuals {
    /// Signed and ascending.
    signed: Vec<f64>,
    /// Absolute and ascending.
    absolute: Vec<f64>,
    deviation: f64,
    freedom: f64,
}

impl Residuals {
    /// `freedom` is the number of independent residuals less one; replicates of
    /// a trial share the model's error.
    pub(crate) fn new(mut signed: Vec<f64>, freedom: f64) -> Self {
        signed.sort_by(f64::total_cmp);
        let mut absolute: Vec<f64> = signed.iter().map(|r| r.abs()).collect();
        absolute.sort_by(f64::total_cmp);
        let squares: f64 = signed.iter().map(|r| r * r).sum();
        Self {
            deviation: (squares / signed.len() as f64).sqrt(),
            freedom: freedom.max(1.0),
            signed,
            absolute,
        }
    }

    pub(crate) fn method(&self, coverage: f64) -> IntervalMethod {
        if self.rank(coverage) <= self.absolute.len() {
            IntervalMethod::Conformal
        } else {
            IntervalMethod::Student
        }
    }

    /// Half the width of an interval of that coverage: the residual of rank
    /// `⌈(n + 1) · coverage⌉`, which covers a new exchangeable residual at least
    /// that often (Lei and others 2018, theorem 2.1).
    pub(crate) fn half_width(&self, coverage: f64) -> f64 {
        match self.method(coverage) {
            IntervalMethod::Conformal => self.absolute[self.rank(coverage) - 1],
            IntervalMethod::Student | IntervalMethod::Posterior => {
                self.student_deviation() * self.student().upper_quantile((1.0 - coverage) / 2.0)
            }
        }
    }

    /// The probability that a residual is at most `bound`; never above the
    /// conformal guarantee where there are enough residuals.
    pub(crate) fn at_most(&self, bound: f64) -> f64 {
        self.tail(bound, self.signed.partition_point(|&r| r <= bound), 1.0)
    }

    /// The probability that a residual is at least `bound`.
    pub(crate) fn at_least(&self, bound: f64) -> f64 {
        let below = self.signed.partition_point(|&r| r < bound);
        self.tail(bound, self.signed.len() - below, -1.0)
    }

    fn tail(&self, bound: f64, inside: usize, sign: f64) -> f64 {
        let ranks = inside as f64 / (self.signed.len() + 1) as f64;
        if self.signed.len() >= ENOUGH_FOR_TAILS {
            return ranks;
        }
        if self.deviation == 0.0 {
            return f64::from(sign * bound >= 0.0);
        }
        self.student().cdf(sign * bound / self.student_deviation())
    }

    fn rank(&self, coverage: f64) -> usize {
        // Rounding must not lift 0.95 · 20 above 19.
        (((self.absolute.len() + 1) as f64 * coverage - 1e-9).ceil() as usize).max(1)
    }

    fn student(&self) -> StudentT {
        StudentT::new(self.freedom).expect("the freedom is at least one")
    }

    /// Of a new run: the residuals' own, and that of the estimate.
    fn student_deviation(&self) -> f64 {
        self.deviation * (1.0 + 1.0 / (self.freedom + 1.0)).sqrt()
    }
}

/// With fewer residuals, ranks step by more than two and a half hundredths, and
/// a confidence of 0.95 would rest on the single largest residual.
const ENOUGH_FOR_TAILS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn residuals(count: i32) -> Residuals {
        let signed = (1..=count).map(|i| f64::from(if i % 2 == 0 { i } else { -i }));
        Residuals::new(signed.collect(), f64::from(count - 1))
    }

    #[test]
    fn the_rank_has_its_finite_sample_correction() {
        let many = residuals(99);
        assert_eq!(many.half_width(0.95), 95.0);
        assert_eq!(many.half_width(0.9), 90.0);
        assert_eq!(many.method(0.99), IntervalMethod::Conformal);
        assert_eq!(many.at_most(1000.0), 0.99);
        assert_eq!(residuals(19).half_width(0.95), 19.0);
    }

    #[test]
    fn too_few_residuals_fall_back_to_students_t() {
        let few = residuals(10);
        assert_eq!(few.method(0.95), IntervalMethod::Student);
        assert!(few.half_width(0.95) > 10.0);
        let (low, high) = (few.at_most(-5.0), few.at_most(5.0));
        assert!((low + high - 1.0).abs() < 1e-12);
        assert!((few.at_least(-5.0) - high).abs() < 1e-12);
    }
}
