//! The intercept as centring: the penalty never applies to it.

use crate::Dataset;
use paceline_numeric::dot;

/// Features column by column and the target, both with their means removed if
/// the model has an intercept.
pub(super) struct Centred {
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) target: Vec<f64>,
    feature_means: Vec<f64>,
    target_mean: f64,
}

impl Centred {
    pub(super) fn new(data: &Dataset, intercept: bool) -> Self {
        let rows = data.rows() as f64;
        let centre = |mut values: Vec<f64>| {
            if !intercept {
                return (values, 0.0);
            }
            let mean = values.iter().sum::<f64>() / rows;
            for value in &mut values {
                *value -= mean;
            }
            (values, mean)
        };
        let (columns, feature_means) = (0..data.columns())
            .map(|j| centre(data.features().column(j).collect()))
            .unzip();
        let (target, target_mean) = centre(data.target().to_vec());
        Self {
            columns,
            target,
            feature_means,
            target_mean,
        }
    }

    /// The intercept that belongs to these coefficients.
    pub(super) fn intercept(&self, coefficients: &[f64]) -> f64 {
        self.target_mean - dot(&self.feature_means, coefficients)
    }
}
