//! Variance inflation: how much collinearity widens each interval.

use crate::fit::Fit;

/// The variance inflation factor of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct VarianceInflation {
    /// The column of the model matrix.
    pub column: String,
    /// The column in people's words.
    pub label: String,
    /// 1 / (1 − R²) of the column regressed on all others. R² is about the mean
    /// where the others contain the intercept and about zero for the intercept
    /// itself, as statsmodels' `variance_inflation_factor` had it up to 0.14.
    pub factor: f64,
}

/// The variance inflation factors of every estimated column, intercept included.
pub fn variance_inflation(fit: &Fit<'_>) -> Vec<VarianceInflation> {
    let upper = fit.upper_unscaled();
    let intercept = fit.matrix().frame().has_intercept();
    fit.coefficients()
        .iter()
        .zip(&upper)
        .enumerate()
        .map(|(index, (coefficient, column))| {
            // With the intercept as first column, the first row of R holds the
            // mean and the rest the deviations from it.
            let skip = usize::from(intercept && index > 0);
            let total: f64 = column[skip..].iter().map(|x| x * x).sum();
            VarianceInflation {
                column: coefficient.name.clone(),
                label: coefficient.label.clone(),
                factor: total * fit.unscaled_covariance(index, index),
            }
        })
        .collect()
}
