//! Bringing features to mean zero and standard deviation one.

use crate::learner::{check_columns, check_row, require_moderate, require_rows};
use crate::{Features, FitError, PredictError};

/// The mean and the standard deviation of each feature.
///
/// The deviation divides by the number of rows, as scikit-learn's does. A
/// feature that is constant is only centred.
#[derive(Debug, Clone, PartialEq)]
pub struct Standardizer {
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl Standardizer {
    /// Learns means and deviations.
    pub fn fit(features: &Features) -> Result<Self, FitError> {
        require_rows(features.rows(), 1)?;
        require_moderate(features.as_flat())?;
        let rows = features.rows() as f64;
        let (means, deviations) = (0..features.columns())
            .map(|column| {
                let mean = features.column(column).sum::<f64>() / rows;
                let squares: f64 = features
                    .column(column)
                    .map(|x| (x - mean) * (x - mean))
                    .sum();
                let deviation = (squares / rows).sqrt();
                // The mean of equal values is off by rounding, and so would be
                // a deviation from it.
                let constant = deviation <= 10.0 * f64::EPSILON * mean.abs();
                (mean, if constant { 1.0 } else { deviation })
            })
            .unzip();
        Ok(Self { means, deviations })
    }

    /// The mean of each feature.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// The standard deviation of each feature; one for a constant feature.
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// The features in standard deviations from their means.
    pub fn transform(&self, features: &Features) -> Result<Features, PredictError> {
        check_columns(features.columns(), self.means.len())?;
        let values = features.iter().flat_map(|row| self.scaled(row)).collect();
        Ok(Features::from_finite(values, self.means.len()))
    }

    /// One row in standard deviations from the means.
    pub fn transform_row(&self, row: &[f64]) -> Result<Vec<f64>, PredictError> {
        check_row(row, self.means.len())?;
        Ok(self.scaled(row).collect())
    }

    fn scaled(&self, row: &[f64]) -> impl Iterator<Item = f64> {
        let scales = self.means.iter().zip(&self.deviations);
        row.iter()
            .zip(scales)
            .map(|(value, (mean, deviation))| (value - mean) / deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standardised_features_have_mean_zero_and_deviation_one() {
        let features = Features::from_rows(&[[1.0, 0.1], [2.0, 0.1], [6.0, 0.1]]).unwrap();
        let standardizer = Standardizer::fit(&features).unwrap();
        let scaled = standardizer.transform(&features).unwrap();
        let first: Vec<f64> = scaled.column(0).collect();
        assert!(first.iter().sum::<f64>().abs() < 1e-15);
        assert!((first.iter().map(|x| x * x).sum::<f64>() / 3.0 - 1.0).abs() < 1e-15);
        assert!(scaled.column(1).all(|x| x.abs() < 1e-15));
        assert_eq!(
            standardizer.transform_row(&[1.0, 0.1]).unwrap(),
            scaled.row(0)
        );
    }
}
