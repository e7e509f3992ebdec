//! Singular values of a small matrix.

use super::scalar::Scalar;

/// The singular values of a square matrix given by columns, largest first.
///
/// One-sided Jacobi rotations (M. R. Hestenes, "Inversion of matrices by
/// biorthogonalization and related results", J. SIAM 6, 1958), which find small
/// singular values to high relative accuracy.
pub(crate) fn singular_values(mut columns: Vec<Vec<f64>>) -> Vec<f64> {
    const SWEEPS: usize = 60;
    let count = columns.len();
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for i in 0..count {
            for j in i + 1..count {
                let alpha = f64::dot(&columns[i], &columns[i]);
                let beta = f64::dot(&columns[j], &columns[j]);
                let gamma = f64::dot(&columns[i], &columns[j]);
                if gamma.abs() <= f64::EPSILON * (alpha * beta).sqrt() {
                    continue;
                }
                rotated = true;
                let zeta = (beta - alpha) / (2.0 * gamma);
                let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let sine = cosine * tangent;
                let (left, right) = columns.split_at_mut(j);
                for (x, y) in left[i].iter_mut().zip(&mut right[0]) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
            }
        }
        if !rotated {
            break;
        }
    }
    let mut values: Vec<f64> = columns
        .iter()
        .map(|column| f64::dot(column, column).sqrt())
        .collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_singular_values_of_a_two_by_two_matrix_are_known() {
        // [[3, 0], [4, 5]]: eigenvalues of AᵀA are 45 and 5.
        let values = singular_values(vec![vec![3.0, 4.0], vec![0.0, 5.0]]);
        assert!((values[0] - 45.0_f64.sqrt()).abs() < 1e-14);
        assert!((values[1] - 5.0_f64.sqrt()).abs() < 1e-14);
    }
}
