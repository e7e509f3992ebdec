//! How long an iteration computes.

use paceline_numeric::Chance;

/// The seconds that one core computes for an iteration of one worker.
#[derive(Debug, Clone, PartialEq)]
pub enum Compute {
    /// Log-normal, by mean and coefficient of variation; a variation of zero is a
    /// constant.
    Varying {
        /// The mean, in seconds.
        mean_s: f64,
        /// The standard deviation over the mean.
        variation: f64,
    },
    /// Drawn with replacement from what was measured.
    Measured(Vec<f64>),
}

impl Compute {
    /// The mean, in seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        match self {
            Self::Varying { mean_s, .. } => *mean_s,
            Self::Measured(seconds) => seconds.iter().sum::<f64>() / seconds.len() as f64,
        }
    }

    /// Whether every draw is a time.
    pub(crate) fn is_usable(&self) -> bool {
        let is_time = |seconds: f64| seconds.is_finite() && seconds >= 0.0;
        match self {
            Self::Varying { mean_s, variation } => is_time(*mean_s) && is_time(*variation),
            Self::Measured(seconds) => {
                !seconds.is_empty() && seconds.iter().all(|seconds| is_time(*seconds))
            }
        }
    }

    pub(crate) fn draw(&self, chance: &mut Chance) -> f64 {
        match self {
            Self::Varying { mean_s, variation } if *variation > 0.0 => {
                let variance = (variation * variation).ln_1p();
                let normal = chance.normal();
                mean_s * (variance.sqrt() * normal - variance / 2.0).exp()
            }
            Self::Varying { mean_s, .. } => *mean_s,
            Self::Measured(seconds) => seconds[chance.below(seconds.len())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_mean_and_the_variation_that_were_asked_for() {
        let compute = Compute::Varying {
            mean_s: 0.02,
            variation: 0.5,
        };
        let mut chance = Chance::new(7, 0);
        let draws: Vec<f64> = (0..200_000).map(|_| compute.draw(&mut chance)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        // Four standard errors of either.
        assert!((mean / 0.02 - 1.0).abs() < 0.005, "{mean}");
        assert!((variance.sqrt() / mean - 0.5).abs() < 0.01, "{variance}");
    }
}
