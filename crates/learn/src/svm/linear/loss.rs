//! What a margin `z`, the label ±1 times the decision, costs.

/// The losses that stochastic gradients can take: all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinearLoss {
    /// `max(0, 1 − z)`.
    Hinge,
    /// `max(0, 1 − z)²`.
    SquaredHinge,
    /// `log(1 + e^−z)`: logistic regression.
    Logistic,
}

/// The losses whose dual is solved one variable at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HingeLoss {
    /// `max(0, 1 − z)`.
    Plain,
    /// `max(0, 1 − z)²`.
    Squared,
}

/// The losses that have a derivative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmoothLoss {
    /// `max(0, 1 − z)²`, whose second derivative is taken as zero at the kink.
    SquaredHinge,
    /// `log(1 + e^−z)`: logistic regression.
    Logistic,
}

impl SmoothLoss {
    pub(super) fn value(self, margin: f64) -> f64 {
        match self {
            Self::SquaredHinge => (1.0 - margin).max(0.0).powi(2),
            // Written so that the exponential never overflows.
            Self::Logistic => (-margin).max(0.0) + (-margin.abs()).exp().ln_1p(),
        }
    }

    pub(super) fn slope(self, margin: f64) -> f64 {
        match self {
            Self::SquaredHinge => -2.0 * (1.0 - margin).max(0.0),
            Self::Logistic => -1.0 / (1.0 + margin.exp()),
        }
    }

    pub(super) fn curvature(self, margin: f64) -> f64 {
        match self {
            Self::SquaredHinge if margin < 1.0 => 2.0,
            Self::SquaredHinge => 0.0,
            Self::Logistic => {
                let small = (-margin.abs()).exp();
                small / (1.0 + small).powi(2)
            }
        }
    }
}

impl LinearLoss {
    pub(super) fn value(self, margin: f64) -> f64 {
        match self {
            Self::Hinge => (1.0 - margin).max(0.0),
            Self::SquaredHinge => SmoothLoss::SquaredHinge.value(margin),
            Self::Logistic => SmoothLoss::Logistic.value(margin),
        }
    }

    pub(super) fn slope(self, margin: f64) -> f64 {
        match self {
            Self::Hinge if margin < 1.0 => -1.0,
            Self::Hinge => 0.0,
            Self::SquaredHinge => SmoothLoss::SquaredHinge.slope(margin),
            Self::Logistic => SmoothLoss::Logistic.slope(margin),
        }
    }
}
