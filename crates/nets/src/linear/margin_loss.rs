/// What a binary linear model minimises. The margin of a row is its score if it
/// belongs to class 1, and the negative score if it belongs to class 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarginLoss {
    /// ln(1 + exp(−margin)): logistic regression.
    Logistic,
    /// max(0, 1 − margin): the support vector machine of Cortes & Vapnik 1995.
    Hinge,
    /// max(0, 1 − margin)², which has a gradient everywhere: what LIBLINEAR
    /// minimises by default (Fan et al. 2008).
    SquaredHinge,
}

/// What a loss says of one score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LossAtScore {
    pub(crate) loss: f64,
    /// The derivative of the loss by the score.
    pub(crate) slope: f32,
}

impl MarginLoss {
    /// The loss of a row with this score, and its derivative. No score makes it
    /// overflow on the way: exponentials are of negative numbers only.
    #[inline]
    pub(crate) fn at(self, score: f32, label: u32) -> LossAtScore {
        let sign = if label == 0 { -1.0 } else { 1.0 };
        let margin = sign * f64::from(score);
        let (loss, slope) = match self {
            Self::Logistic => {
                let small = (-margin.abs()).exp();
                // 1 / (1 + exp(margin)), written for either sign of the margin.
                let doubt = if margin > 0.0 { small } else { 1.0 } / (1.0 + small);
                ((-margin).max(0.0) + small.ln_1p(), -doubt)
            }
            Self::Hinge if margin >= 1.0 => (0.0, 0.0),
            Self::Hinge => (1.0 - margin, -1.0),
            Self::SquaredHinge if margin >= 1.0 => (0.0, 0.0),
            Self::SquaredHinge => ((1.0 - margin).powi(2), -2.0 * (1.0 - margin)),
        };
        LossAtScore {
            // `max` drops a NaN, but a diverged model must show.
            loss: if margin.is_nan() { f64::NAN } else { loss },
            slope: (sign * slope) as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [MarginLoss; 3] = [
        MarginLoss::Logistic,
        MarginLoss::Hinge,
        MarginLoss::SquaredHinge,
    ];

    #[test]
    fn the_slope_is_the_derivative_of_the_loss() {
        for loss in ALL {
            for label in [0, 1] {
                for score in [-30.0_f32, -2.0, -0.5, 0.25, 0.75, 3.0, 30.0] {
                    let step = 1.0 / 1024.0;
                    let rise =
                        loss.at(score + step, label).loss - loss.at(score - step, label).loss;
                    let slope = rise / (2.0 * f64::from(step));
                    let given = f64::from(loss.at(score, label).slope);
                    assert!((slope - given).abs() < 1e-5, "{loss:?} {label} {score}");
                }
            }
        }
    }

    #[test]
    fn extreme_scores_give_finite_slopes_and_no_nan() {
        for label in [0, 1] {
            for score in [f32::MAX, f32::MIN, 1e30, -1e30, 200.0, -200.0] {
                let logistic = MarginLoss::Logistic.at(score, label);
                assert!(logistic.loss.is_finite() && logistic.slope.abs() <= 1.0);
                assert!(!MarginLoss::Hinge.at(score, label).loss.is_nan());
                assert!(!MarginLoss::SquaredHinge.at(score, label).loss.is_nan());
            }
        }
    }

    #[test]
    fn a_score_that_is_no_number_is_no_loss() {
        for loss in ALL {
            assert!(loss.at(f32::NAN, 1).loss.is_nan());
        }
    }

    #[test]
    fn a_hopeless_row_pulls_with_full_weight_and_a_sure_one_not_at_all() {
        assert_eq!(MarginLoss::Logistic.at(-500.0, 1).slope, -1.0);
        assert_eq!(MarginLoss::Logistic.at(500.0, 1).slope, 0.0);
        assert_eq!(MarginLoss::Logistic.at(-500.0, 1).loss, 500.0);
    }
}
