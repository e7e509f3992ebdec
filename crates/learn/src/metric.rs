//! How far predictions are from the truth.

use thiserror::Error;

/// How far predictions are from the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// The mean squared error.
    #[default]
    MeanSquaredError,
    /// The mean absolute error.
    MeanAbsoluteError,
    /// The coefficient of determination R²: one minus the squared error over
    /// that of the truth's own mean. One is perfect; there is no lower bound.
    R2,
    /// The mean absolute error relative to the truth, as a fraction.
    MeanAbsolutePercentageError,
}

/// Why a metric is not defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MetricError {
    /// There are more or fewer predictions than true values.
    #[error("{predicted} predictions for {truth} true values")]
    LengthMismatch {
        /// How many true values there are.
        truth: usize,
        /// How many predictions there are.
        predicted: usize,
    },
    /// There is nothing to compare.
    #[error("a metric needs at least one prediction")]
    Empty,
    /// An error relative to zero has no meaning.
    #[error("the true value of row {row} is zero, so a relative error is not defined")]
    ZeroTruth {
        /// The row, counted from zero.
        row: usize,
    },
}

impl Metric {
    /// Compares predictions with the truth.
    ///
    /// If the truth is constant, R² is one for perfect predictions and zero for
    /// others, as in scikit-learn.
    pub fn of(self, truth: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
        if truth.len() != predicted.len() {
            return Err(MetricError::LengthMismatch {
                truth: truth.len(),
                predicted: predicted.len(),
            });
        }
        if truth.is_empty() {
            return Err(MetricError::Empty);
        }
        let count = truth.len() as f64;
        let pairs = || truth.iter().zip(predicted);
        let squared: f64 = pairs().map(|(y, p)| (y - p) * (y - p)).sum();
        match self {
            Self::MeanSquaredError => Ok(squared / count),
            Self::MeanAbsoluteError => Ok(pairs().map(|(y, p)| (y - p).abs()).sum::<f64>() / count),
            Self::R2 => {
                let mean = truth.iter().sum::<f64>() / count;
                let total: f64 = truth.iter().map(|y| (y - mean) * (y - mean)).sum();
                Ok(match (squared == 0.0, total == 0.0) {
                    (true, _) => 1.0,
                    (false, true) => 0.0,
                    (false, false) => 1.0 - squared / total,
                })
            }
            Self::MeanAbsolutePercentageError => {
                if let Some(row) = truth.iter().position(|&y| y == 0.0) {
                    return Err(MetricError::ZeroTruth { row });
                }
                Ok(pairs().map(|(y, p)| ((y - p) / y).abs()).sum::<f64>() / count)
            }
        }
    }

    /// Whether the first value is the better one.
    pub fn is_better(self, value: f64, than: f64) -> bool {
        match self {
            Self::R2 => value > than,
            Self::MeanSquaredError
            | Self::MeanAbsoluteError
            | Self::MeanAbsolutePercentageError => value < than,
        }
    }

    /// By how much the first value is worse; negative if it is better.
    pub(crate) fn loss(self, value: f64, against: f64) -> f64 {
        match self {
            Self::R2 => against - value,
            Self::MeanSquaredError
            | Self::MeanAbsoluteError
            | Self::MeanAbsolutePercentageError => value - against,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_agree_with_hand_computed_values() {
        let truth = [3.0, -0.5, 2.0, 7.0];
        let predicted = [2.5, 0.0, 2.0, 8.0];
        let of = |metric: Metric| metric.of(&truth, &predicted).unwrap();
        assert_eq!(of(Metric::MeanSquaredError), 0.375);
        assert_eq!(of(Metric::MeanAbsoluteError), 0.5);
        assert!((of(Metric::R2) - 0.948_608_137_044_968).abs() < 1e-14);
        let expected = (0.5 / 3.0 + 1.0 + 0.0 + 1.0 / 7.0) / 4.0;
        assert!((of(Metric::MeanAbsolutePercentageError) - expected).abs() < 1e-15);
    }

    #[test]
    fn undefined_metrics_say_why() {
        let mape = Metric::MeanAbsolutePercentageError;
        assert_eq!(
            mape.of(&[1.0, 0.0], &[1.0, 1.0]),
            Err(MetricError::ZeroTruth { row: 1 })
        );
        assert_eq!(Metric::R2.of(&[], &[]), Err(MetricError::Empty));
        assert!(Metric::R2.of(&[1.0], &[]).is_err());
        assert_eq!(Metric::R2.of(&[2.0, 2.0], &[2.0, 2.0]), Ok(1.0));
        assert_eq!(Metric::R2.of(&[2.0, 2.0], &[2.0, 3.0]), Ok(0.0));
    }
}
