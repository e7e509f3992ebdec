//! Do two variables move together?

use paceline_dist::StudentT;

use super::ranks::Ranks;
use super::sample::{Moments, SampleError, finite, same_length};
use crate::lstsq::mean;

/// A coefficient of correlation and its test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// Between minus one and one.
    pub coefficient: f64,
    /// The degrees of freedom of the t statistic.
    pub df: f64,
    /// The two-sided p-value of no correlation.
    pub p: f64,
}

/// Pearson's linear correlation. The p-value assumes normal variables.
///
/// # Errors
///
/// If there are fewer than three pairs, if lengths differ, if a value is not
/// finite, or if a variable does not vary.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<Correlation, SampleError> {
    checked(x, y)?;
    correlate(x, y)
}

/// Spearman's rank correlation, with the t approximation of its p-value.
///
/// # Errors
///
/// As for [`pearson`].
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Correlation, SampleError> {
    checked(x, y)?;
    correlate(&Ranks::of(x).of_value, &Ranks::of(y).of_value)
}

fn checked(x: &[f64], y: &[f64]) -> Result<(), SampleError> {
    same_length(x.len(), y.len())?;
    if x.len() < 3 {
        return Err(SampleError::TooFew {
            needed: 3,
            found: x.len(),
        });
    }
    finite(x.iter().copied())?;
    finite(y.iter().copied())
}

fn correlate(x: &[f64], y: &[f64]) -> Result<Correlation, SampleError> {
    let (u, v) = (standardised(x)?, standardised(y)?);
    let products: Vec<f64> = u.iter().zip(&v).map(|(a, b)| a * b).collect();
    let coefficient = (mean(&products) * x.len() as f64).clamp(-1.0, 1.0);
    let df = x.len() as f64 - 2.0;
    let defect = (1.0 - coefficient) * (1.0 + coefficient);
    // Perfect correlation gives an infinite statistic, whose p-value is zero.
    let statistic = coefficient * (df / defect).sqrt();
    let t = StudentT::new(df).expect("three pairs leave a degree of freedom");
    Ok(Correlation {
        coefficient,
        df,
        p: t.two_sided(statistic),
    })
}

/// Centred and of unit length.
fn standardised(values: &[f64]) -> Result<Vec<f64>, SampleError> {
    let moments = Moments::of(values);
    if moments.square <= 0.0 {
        return Err(SampleError::Constant);
    }
    let length = moments.square.sqrt();
    Ok(values
        .iter()
        .map(|&value| moments.mean.deviation(value) / length)
        .collect())
}
