//! How long a job takes, as far as anybody knows.

/// The time a job takes with its CPUs to itself, in seconds: the middles of equally
/// probable parts, ascending. Empty if nothing is known.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Belief(Vec<f64>);

/// A job that has outlived everything that was believed of it is taken to need up
/// to so much of what it has had already.
const OVERDUE: f64 = 0.5;

impl Belief {
    /// The parts of a time, in any order. What is no time is left out.
    #[must_use]
    pub fn new(parts: impl IntoIterator<Item = f64>) -> Self {
        let parts = parts.into_iter();
        let mut parts: Vec<f64> = parts.filter(|t| t.is_finite() && *t >= 0.0).collect();
        parts.sort_by(f64::total_cmp);
        Self(parts)
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The time that is not passed with probability `p`: between the parts on the
    /// line through them, at the ends the outermost.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else {
            return 0.0;
        };
        let at = (p * self.0.len() as f64 - 0.5).clamp(0.0, last as f64);
        let below = at.floor() as usize;
        let above = (below + 1).min(last);
        self.0[below] + (at - below as f64) * (self.0[above] - self.0[below])
    }

    /// Half of the runs take at most this.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// What is left of a job that runs and has had its CPUs for `worked_s`.
    ///
    /// If the job has told which share of it is done, its own speed counts as much as
    /// that share, and what was believed before for the rest. If not, only that it has
    /// not ended yet: what would have ended before is ruled out.
    #[must_use]
    pub fn left(&self, worked_s: f64, done: Option<f64>) -> Self {
        let worked_s = worked_s.max(0.0);
        if let Some(done) = done.filter(|done| *done > 0.0 && *done <= 1.0) {
            let observed = worked_s / done;
            let parts: &[f64] = if self.0.is_empty() {
                &[observed]
            } else {
                &self.0
            };
            return Self::new(parts.iter().map(|&part| {
                let total = done * observed + (1.0 - done) * part;
                // Whatever was believed: the share that is left takes its time.
                (total - worked_s).max(0.0)
            }));
        }
        let beyond: Vec<f64> = self.0.iter().copied().filter(|t| *t > worked_s).collect();
        if self.0.is_empty() {
            return Self::default();
        }
        let parts = self.0.len();
        if beyond.is_empty() {
            let step = OVERDUE * worked_s / parts as f64;
            return Self((0..parts).map(|part| (part as f64 + 0.5) * step).collect());
        }
        let beyond = Self(beyond);
        Self::new((0..parts).map(|part| {
            let p = (part as f64 + 0.5) / parts as f64;
            beyond.quantile(p) - worked_s
        }))
    }

    /// The same job on CPUs that do it so many times as fast.
    #[must_use]
    pub fn faster(&self, times: f64) -> Self {
        Self(self.0.iter().map(|part| part / times).collect())
    }

    /// The times themselves, ascending.
    #[must_use]
    pub fn parts(&self) -> &[f64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_parts_and_never_beyond() {
        let belief = Belief::new([3.0, 1.0, 2.0, f64::NAN]);
        for (p, expected) in [(0.0, 1.0), (0.5, 2.0), (1.0, 3.0), (1.0 / 3.0, 1.5)] {
            assert!((belief.quantile(p) - expected).abs() < 1e-12, "{p}");
        }
        assert_eq!(Belief::default().quantile(0.5), 0.0);
    }

    #[test]
    fn a_job_s_own_speed_counts_more_the_further_it_is() {
        let belief = Belief::new([90.0, 100.0, 110.0]);
        // Twice as slow as believed: half done after 100 seconds.
        let left = belief.left(100.0, Some(0.5));
        assert!((left.median() - 50.0).abs() < 1e-9, "{left:?}");
        // Nearly done, hardly anything of the belief is left.
        let left = belief.left(198.0, Some(0.99));
        assert!(left.quantile(1.0) - left.quantile(0.0) < 0.5, "{left:?}");
        assert!((left.median() - 1.0).abs() < 1.1, "{left:?}");
    }

    #[test]
    fn what_would_have_ended_before_is_ruled_out() {
        let belief = Belief::new((1..=40).map(f64::from));
        let left = belief.left(30.0, None);
        assert!(
            left.quantile(0.0) > 0.0 && left.quantile(1.0) <= 10.0,
            "{left:?}"
        );
        assert!((left.median() - 5.5).abs() < 0.6, "{left:?}");
        // Everything believed is over: it is said to last, not to be done.
        let left = belief.left(60.0, None);
        assert!(
            left.median() > 10.0 && left.quantile(1.0) <= 30.0,
            "{left:?}"
        );
        assert!(Belief::default().left(5.0, None).is_empty());
    }
}
