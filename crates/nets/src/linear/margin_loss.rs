use crate::Tally;

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

/// The loss over some rows while it is summed.
pub(crate) struct LossSum {
    loss: MarginLoss,
    tally: Tally,
    /// The product of factors from 1 to 2 whose logarithm is still to be added
    /// to the loss. A row of few entries takes less time than a logarithm, and
    /// one serves for hundreds of rows.
    product: f64,
}

/// Where a product is turned into its logarithm: far from overflow.
const LARGE_PRODUCT: f64 = 1e200;

impl MarginLoss {
    /// An empty sum of this loss.
    pub(crate) fn sum(self) -> LossSum {
        LossSum {
            loss: self,
            tally: Tally::default(),
            product: 1.0,
        }
    }

    /// What rows with these labels and scores add up to.
    pub(super) fn evaluate(self, labels: &[u32], score: impl Fn(usize) -> f32) -> Tally {
        let mut sum = self.sum();
        for (row, label) in labels.iter().enumerate() {
            sum.add(score(row), *label);
        }
        sum.tally()
    }
}

/// Writes the scores of both classes of each row: 0 and the row's score.
pub(super) fn write_pairs(scores: &mut [f32], score: impl Fn(usize) -> f32) {
    for (row, pair) in scores.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        *pair = [0.0, score(row)];
    }
}

impl LossSum {
    /// Adds a row with this score; returns the derivative of its loss by the
    /// score. No score makes it overflow on the way: exponentials are of
    /// negative numbers only.
    #[inline]
    pub(crate) fn add(&mut self, score: f32, label: u32) -> f32 {
        let sign = if label == 0 { -1.0 } else { 1.0 };
        let margin = sign * score;
        self.tally.hits += u64::from((score > 0.0) == (label != 0));
        self.tally.rows += 1;
        let (loss, slope) = match self.loss {
            MarginLoss::Logistic => {
                // ln(1 + exp(−m)) = max(0, −m) + ln(1 + exp(−|m|))
                let small = (-margin.abs()).exp();
                self.product *= 1.0 + f64::from(small);
                if self.product > LARGE_PRODUCT {
                    self.tally.loss += self.product.ln();
                    self.product = 1.0;
                }
                // −1 / (1 + exp(m)), written for either sign of the margin.
                let doubt = if margin > 0.0 { small } else { 1.0 } / (1.0 + small);
                (f64::from((-margin).max(0.0)), -doubt)
            }
            MarginLoss::Hinge if margin >= 1.0 => (0.0, 0.0),
            MarginLoss::Hinge => (1.0 - f64::from(margin), -1.0),
            MarginLoss::SquaredHinge if margin >= 1.0 => (0.0, 0.0),
            MarginLoss::SquaredHinge => {
                let lack = 1.0 - f64::from(margin);
                (lack * lack, (-2.0 * lack) as f32)
            }
        };
        self.tally.loss += loss;
        sign * slope
    }

    /// What was found on all rows.
    pub(crate) fn tally(self) -> Tally {
        Tally {
            loss: self.tally.loss + self.product.ln(),
            ..self.tally
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

    /// Loss and slope of one row.
    fn one(loss: MarginLoss, score: f32, label: u32) -> (f64, f32) {
        let mut sum = loss.sum();
        let slope = sum.add(score, label);
        (sum.tally().loss, slope)
    }

    #[test]
    fn the_slope_is_the_derivative_of_the_loss() {
        for loss in ALL {
            for label in [0, 1] {
                for score in [-30.0_f32, -2.0, -0.5, 0.25, 0.75, 3.0, 30.0] {
                    let step = 1.0 / 64.0;
                    let rise = one(loss, score + step, label).0 - one(loss, score - step, label).0;
                    let slope = rise / (2.0 * f64::from(step));
                    let given = f64::from(one(loss, score, label).1);
                    assert!((slope - given).abs() < 3e-5, "{loss:?} {label} {score}");
                }
            }
        }
    }

    #[test]
    fn a_long_sum_of_logistic_losses_is_that_of_float64() {
        let mut sum = MarginLoss::Logistic.sum();
        let mut expected = 0.0;
        for row in 0..10_000_u32 {
            let score = (row as f32 * 0.37).sin() * 4.0;
            sum.add(score, row % 2);
            let sign = if row % 2 == 0 { 1.0 } else { -1.0 };
            expected += (sign * f64::from(score)).exp().ln_1p();
        }
        let tally = sum.tally();
        assert_eq!(tally.rows, 10_000);
        assert!((tally.loss - expected).abs() < 1e-7 * expected);
    }

    #[test]
    fn extreme_scores_give_finite_slopes_and_no_nan() {
        for label in [0, 1] {
            for score in [f32::MAX, f32::MIN, 1e30, -1e30, 200.0, -200.0] {
                let (loss, slope) = one(MarginLoss::Logistic, score, label);
                assert!(loss.is_finite() && slope.abs() <= 1.0);
                assert!(!one(MarginLoss::Hinge, score, label).0.is_nan());
                assert!(!one(MarginLoss::SquaredHinge, score, label).0.is_nan());
            }
        }
    }

    #[test]
    fn a_score_that_is_no_number_is_no_loss() {
        for loss in ALL {
            assert!(one(loss, f32::NAN, 1).0.is_nan());
        }
    }

    #[test]
    fn a_hopeless_row_pulls_with_full_weight_and_a_sure_one_not_at_all() {
        assert_eq!(one(MarginLoss::Logistic, -500.0, 1), (500.0, -1.0));
        assert_eq!(one(MarginLoss::Logistic, 500.0, 1).1, 0.0);
    }
}
