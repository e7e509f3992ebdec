//! Non-negative least squares.

use paceline_numeric::{dot, least_squares, norm};
use thiserror::Error;

/// The minimiser and how far it stays from the target.
#[derive(Debug, Clone, PartialEq)]
pub struct NnlsSolution {
    /// The coefficients, none below zero.
    pub coefficients: Vec<f64>,
    /// The Euclidean length of the residual.
    pub residual_norm: f64,
}

/// Why there is no solution.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum NnlsError {
    /// There are no columns, or no rows.
    #[error("non-negative least squares needs at least one row and one column")]
    Empty,
    /// A column is longer or shorter than the target.
    #[error("column {column} has {found} rows where the target has {expected}")]
    Length {
        /// The column, counted from zero.
        column: usize,
        /// The length of the target.
        expected: usize,
        /// The length of the column.
        found: usize,
    },
    /// A number is NaN or infinite.
    #[error("non-negative least squares needs finite numbers")]
    NotFinite,
    /// The active set kept changing. In exact arithmetic it never does.
    #[error("non-negative least squares did not settle in {0} steps")]
    NotSettled(usize),
}

/// Minimises the length of `target - columns · x` over `x >= 0`.
///
/// Lawson and Hanson, Solving Least Squares Problems (1974), algorithm NNLS in
/// chapter 23. The inner problems are solved by Householder reflections, so the
/// condition number enters once.
pub fn nnls(columns: &[Vec<f64>], target: &[f64]) -> Result<NnlsSolution, NnlsError> {
    check(columns, target)?;
    let count = columns.len();
    let most = 3 * count.max(10);
    let mut x = vec![0.0; count];
    let mut passive = vec![false; count];
    // Gradients are compared with what rounding leaves of each column.
    let tolerance: Vec<f64> = columns
        .iter()
        .map(|column| 10.0 * f64::EPSILON * target.len() as f64 * norm(column) * norm(target))
        .collect();
    for _ in 0..most {
        let residual = residual(columns, target, &x);
        let gradient: Vec<f64> = columns
            .iter()
            .map(|column| dot(column, &residual))
            .collect();
        let steepest = (0..count)
            .filter(|&j| !passive[j] && gradient[j] > tolerance[j])
            .max_by(|&a, &b| gradient[a].total_cmp(&gradient[b]));
        let Some(entering) = steepest else {
            return Ok(NnlsSolution {
                residual_norm: norm(&residual),
                coefficients: x,
            });
        };
        passive[entering] = true;
        if !settle(columns, target, &mut x, &mut passive) {
            // The column depends on those already in; it cannot help.
            passive[entering] = false;
            return Ok(NnlsSolution {
                residual_norm: norm(&residual),
                coefficients: x,
            });
        }
    }
    Err(NnlsError::NotSettled(most))
}

/// Steps towards the least-squares solution on the passive set until it is
/// positive. False if the passive columns are dependent.
fn settle(columns: &[Vec<f64>], target: &[f64], x: &mut [f64], passive: &mut [bool]) -> bool {
    loop {
        let set: Vec<usize> = (0..x.len()).filter(|&j| passive[j]).collect();
        let chosen: Vec<Vec<f64>> = set.iter().map(|&j| columns[j].clone()).collect();
        let Ok(solution) = least_squares(chosen, target.to_vec()) else {
            return false;
        };
        if solution.iter().all(|&value| value > 0.0) {
            for (&j, value) in set.iter().zip(solution) {
                x[j] = value;
            }
            return true;
        }
        let blocked = set
            .iter()
            .zip(&solution)
            .filter(|(_, value)| **value <= 0.0);
        let step = blocked
            .map(|(&j, value)| x[j] / (x[j] - value))
            .fold(1.0, f64::min);
        for (&j, value) in set.iter().zip(&solution) {
            x[j] += step * (value - x[j]);
        }
        for &j in &set {
            if x[j] <= f64::EPSILON {
                x[j] = 0.0;
                passive[j] = false;
            }
        }
        if !passive.contains(&true) {
            return true;
        }
    }
}

fn check(columns: &[Vec<f64>], target: &[f64]) -> Result<(), NnlsError> {
    if columns.is_empty() || target.is_empty() {
        return Err(NnlsError::Empty);
    }
    for (column, values) in columns.iter().enumerate() {
        if values.len() != target.len() {
            return Err(NnlsError::Length {
                column,
                expected: target.len(),
                found: values.len(),
            });
        }
    }
    let all = columns.iter().flatten().chain(target);
    if all.into_iter().any(|value| !value.is_finite()) {
        return Err(NnlsError::NotFinite);
    }
    Ok(())
}

fn residual(columns: &[Vec<f64>], target: &[f64], x: &[f64]) -> Vec<f64> {
    let mut residual = target.to_vec();
    for (column, &coefficient) in columns.iter().zip(x) {
        for (value, cell) in residual.iter_mut().zip(column) {
            *value -= coefficient * cell;
        }
    }
    residual
}
