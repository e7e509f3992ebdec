//! Least squares by Householder's orthogonal triangularisation.

use super::centred::dot;

/// Why there is no unique solution: the column that depends on earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dependent(pub(super) usize);

/// Minimises the length of `target - columns · x`.
///
/// Golub and Van Loan, Matrix Computations, 4th edition, section 5.3.2. The
/// condition number enters once, not squared as with the normal equations. The
/// columns are at least as long as they are many.
pub(super) fn least_squares(
    mut columns: Vec<Vec<f64>>,
    mut target: Vec<f64>,
) -> Result<Vec<f64>, Dependent> {
    let count = columns.len();
    let mut diagonal = Vec::with_capacity(count);
    for j in 0..count {
        let (done, rest) = columns.split_at_mut(j + 1);
        let pivot = &mut done[j];
        let whole = dot(pivot, pivot).sqrt();
        let below = &mut pivot[j..];
        let length = dot(below, below).sqrt();
        // What is left of the column is rounding error of what was there.
        if length <= f64::EPSILON * below.len() as f64 * whole || length == 0.0 {
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
}
