//! P-values corrected for the number of tests.

use thiserror::Error;

/// A p-value to be corrected is not a probability.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("p-value {index} is {value}, which is not between 0 and 1")]
pub struct NotAProbability {
    /// The index of the p-value, from zero.
    pub index: usize,
    /// The value given.
    pub value: f64,
}

/// Holm's step-down correction (Scandinavian Journal of Statistics 6, 1979):
/// keeps the chance of any false discovery below the level, whatever the
/// dependence between the tests.
///
/// # Errors
///
/// If a value is not a probability.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, NotAProbability> {
    let order = ascending(p_values)?;
    let mut corrected = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (passed, &index) in order.iter().enumerate() {
        let remaining = (order.len() - passed) as f64;
        largest = largest.max((p_values[index] * remaining).min(1.0));
        corrected[index] = largest;
    }
    Ok(corrected)
}

/// The indices of the p-values from the smallest to the largest.
fn ascending(p_values: &[f64]) -> Result<Vec<usize>, NotAProbability> {
    probabilities(p_values)?;
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    Ok(order)
}

fn probabilities(p_values: &[f64]) -> Result<(), NotAProbability> {
    match p_values.iter().position(|p| !(0.0..=1.0).contains(p)) {
        None => Ok(()),
        Some(index) => Err(NotAProbability {
            index,
            value: p_values[index],
        }),
    }
}
