//! The losses that boosting can reduce.

use crate::ParameterError;
use crate::order_statistics::{median, quantile};
use crate::parameter::require;

/// What the trees of [`crate::GradientBoosting`] reduce together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum BoostLoss {
    /// Half the squared error: estimates the mean.
    #[default]
    Squared,
    /// The absolute error: estimates the median, and outliers count little.
    Absolute,
    /// Squared up to the given quantile of the current absolute residuals and
    /// absolute beyond it.
    Huber {
        /// The fraction of the residuals that count as squares.
        quantile: f64,
    },
}

impl BoostLoss {
    pub(super) fn check(self) -> Result<(), ParameterError> {
        match self {
            Self::Squared | Self::Absolute => Ok(()),
            Self::Huber { quantile } => require(
                "quantile",
                quantile,
                quantile > 0.0 && quantile < 1.0,
                "above 0 and below 1",
            ),
        }
    }

    /// Where the sum starts.
    pub(super) fn best_constant(self, target: &[f64]) -> f64 {
        match self {
            Self::Squared => mean(target),
            Self::Absolute | Self::Huber { .. } => median(&mut target.to_vec()),
        }
    }

    /// The loss as one stage sees it, from the residuals of the rows drawn.
    pub(super) fn at_stage(self, residuals: &[f64], rows: &[u32]) -> StageLoss {
        match self {
            Self::Squared => StageLoss::Squared,
            Self::Absolute => StageLoss::Absolute,
            Self::Huber { quantile: q } => {
                let drawn = rows.iter().map(|&row| residuals[row as usize].abs());
                StageLoss::Huber {
                    bound: quantile(&mut drawn.collect::<Vec<_>>(), q),
                }
            }
        }
    }
}

/// A loss whose parameters are known for one stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StageLoss {
    Squared,
    Absolute,
    Huber { bound: f64 },
}

impl StageLoss {
    /// The direction of steepest descent at a residual `y − F(x)`.
    pub(super) fn gradient(self, residual: f64) -> f64 {
        match self {
            Self::Squared => residual,
            Self::Absolute if residual == 0.0 => 0.0,
            Self::Absolute => residual.signum(),
            Self::Huber { bound } => residual.clamp(-bound, bound),
        }
    }

    /// The best step for a leaf from the residuals in it, which are reordered:
    /// Friedman 2001, equations (13) and, for Huber, one step from the median
    /// as in algorithm 4.
    pub(super) fn leaf_value(self, residuals: &mut [f64]) -> f64 {
        match self {
            Self::Squared => mean(residuals),
            Self::Absolute => median(residuals),
            Self::Huber { bound } => {
                let centre = median(residuals);
                let clipped = residuals.iter().map(|r| (r - centre).clamp(-bound, bound));
                centre + clipped.sum::<f64>() / residuals.len() as f64
            }
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
