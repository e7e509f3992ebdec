//! Least squares by Householder's orthogonal triangularisation.

use thiserror::Error;

use crate::{dot, norm};

/// Why there is no unique solution: the column of this number, counted from
/// zero, depends on earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("column {0} depends on earlier ones")]
pub struct Dependent(pub usize);

/// What is left of a column counts as rounding error of what was there below
/// this share, or the larger one that the column's length explains.
const ROUNDING: f64 = 1e-13;

/// Minimises the length of `target - columns · x`.
///
/// Golub and Van Loan, Matrix Computations, 4th edition, section 5.3.2. The
/// condition number enters once, not squared as with the normal equations.
///
/// # Errors
///
/// If a column depends on earlier ones, as it does if there are more columns
/// than rows.
///
/// # Panics
///
/// If a column is not as long as the target.
pub fn least_squares(
    mut columns: Vec<Vec<f64>>,
    mut target: Vec<f64>,
) -> Result<Vec<f64>, Dependent> {
    let count = columns.len();
    let rows = target.len();
    assert!(
        columns.iter().all(|column| column.len() == rows),
        "a column has a value for every row"
    );
    if count > rows {
        return Err(Dependent(rows));
    }
    let mut diagonal = Vec::with_capacity(count);
    for j in 0..count {
        let (done, rest) = columns.split_at_mut(j + 1);
        let whole = norm(&done[j]);
        let below = &mut done[j][j..];
        let length = norm(below);
        let rounding = ROUNDING.max(f64::EPSILON * below.len() as f64);
        if length <= rounding * whole || length == 0.0 {
            return Err(Dependent(j));
        }
        // The sign avoids cancellation in the first component.
        let reflected = if below[0] > 0.0 { -length } else { length };
        below[0] -= reflected;
        diagonal.push(reflected);
        let scale = 2.0 / dot(below, below);
        for column in rest.iter_mut().chain([&mut target]) {
            let column = &mut column[j..];
            let along = scale * dot(below, column);
            for (value, direction) in column.iter_mut().zip(below.iter()) {
                *value -= along * direction;
            }
        }
    }
    let mut solution = vec![0.0; count];
    for i in (0..count).rev() {
        let known: f64 = (i + 1..count).map(|j| columns[j][i] * solution[j]).sum();
        solution[i] = (target[i] - known) / diagonal[i];
    }
    Ok(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chance;

    #[test]
    fn a_line_through_points_is_found_and_a_repeated_column_is_named() {
        let ones = vec![1.0; 4];
        let steps = vec![0.0, 1.0, 2.0, 3.0];
        let target = vec![5.0, 7.0, 9.0, 11.0];
        let line = least_squares(vec![ones.clone(), steps.clone()], target.clone()).unwrap();
        assert!((line[0] - 5.0).abs() < 1e-14 && (line[1] - 2.0).abs() < 1e-14);
        let doubled = steps.iter().map(|x| 2.0 * x + 1.0).collect();
        assert_eq!(
            least_squares(vec![ones, steps, doubled], target),
            Err(Dependent(2))
        );
    }

    #[test]
    fn more_columns_than_rows_depend_on_one_another() {
        let columns = vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 7.0]];
        assert_eq!(least_squares(columns, vec![1.0; 2]), Err(Dependent(2)));
    }

    #[test]
    fn residuals_are_orthogonal_to_every_column() {
        let mut chance = Chance::new(3, 0);
        for (rows, count) in [(1, 1), (5, 2), (9, 9), (40, 12)] {
            let mut column = || (0..rows).map(|_| chance.normal()).collect::<Vec<f64>>();
            let columns: Vec<Vec<f64>> = (0..count).map(|_| column()).collect();
            let target = column();
            let solution = least_squares(columns.clone(), target.clone()).unwrap();
            let mut residual = target;
            for (column, coefficient) in columns.iter().zip(&solution) {
                for (value, cell) in residual.iter_mut().zip(column) {
                    *value -= coefficient * cell;
                }
            }
            for column in &columns {
                assert!(dot(column, &residual).abs() < 1e-10, "{rows} × {count}");
            }
        }
    }
}
