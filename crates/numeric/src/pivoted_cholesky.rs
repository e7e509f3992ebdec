//! The Cholesky factor with pivoting: rank, null space, inverse.

use crate::SymmetricMatrix;

/// The Cholesky factor of a positive semi-definite matrix with complete
/// pivoting, as far as the rank goes (Higham, Accuracy and Stability of
/// Numerical Algorithms, 2nd edition, section 10.3).
///
/// Made for Gram matrices of coded columns, which are of order one: a pivot
/// below 10⁻⁹ of its column's own square counts as zero, far above rounding.
#[derive(Debug, Clone)]
pub struct PivotedCholesky {
    size: usize,
    order: Vec<usize>,
    rank: usize,
    lower: Vec<f64>,
    log_determinant: f64,
}

const SINGULAR: f64 = 1e-9;

impl PivotedCholesky {
    /// Factors a matrix.
    pub fn of(matrix: &SymmetricMatrix) -> Self {
        let n = matrix.size();
        let mut a = matrix.clone().into_entries();
        let own: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
        let mut order: Vec<usize> = (0..n).collect();
        let mut rank = 0;
        let mut log_determinant = 0.0;
        while rank < n {
            let share = |i: usize| {
                let scale = own[order[i]];
                if scale > 0.0 {
                    a[order[i] * n + order[i]] / scale
                } else {
                    0.0
                }
            };
            let pivot = (rank..n)
                .max_by(|x, y| share(*x).total_cmp(&share(*y)))
                .expect("there is a column left");
            if share(pivot) <= SINGULAR {
                break;
            }
            order.swap(rank, pivot);
            let p = order[rank];
            let diagonal = a[p * n + p];
            log_determinant += diagonal.ln();
            let root = diagonal.sqrt();
            // The factor's column overwrites the pivot's column.
            for i in &order[rank + 1..] {
                a[i * n + p] /= root;
            }
            a[p * n + p] = root;
            for x in rank + 1..n {
                let i = order[x];
                let factor = a[i * n + p];
                for j in &order[rank + 1..] {
                    a[i * n + j] -= factor * a[j * n + p];
                }
            }
            rank += 1;
        }
        Self {
            size: n,
            order,
            rank,
            lower: a,
            log_determinant,
        }
    }

    /// How many rows the matrix has, and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many of its columns are independent.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The logarithm of the determinant, if the matrix is regular.
    pub fn log_determinant(&self) -> Option<f64> {
        (self.rank == self.size).then_some(self.log_determinant)
    }

    /// The inverse row after row, if the matrix is regular.
    pub fn inverse(&self) -> Option<Vec<f64>> {
        let n = self.size;
        if self.rank < n {
            return None;
        }
        let mut inverse = vec![0.0; n * n];
        for column in 0..n {
            let mut unit = vec![0.0; n];
            unit[column] = 1.0;
            let solved = self.solve(&unit);
            for (row, value) in solved.into_iter().enumerate() {
                inverse[row * n + column] = value;
            }
        }
        Some(inverse)
    }

    /// A solution of the equations restricted to the pivots; the rest is zero.
    pub fn solve(&self, right: &[f64]) -> Vec<f64> {
        let n = self.size;
        let mut half = vec![0.0; self.rank];
        for i in 0..self.rank {
            let row = self.order[i];
            let sum: f64 = (0..i)
                .map(|j| self.lower[row * n + self.order[j]] * half[j])
                .sum();
            half[i] = (right[row] - sum) / self.lower[row * n + row];
        }
        let mut full = vec![0.0; n];
        for i in (0..self.rank).rev() {
            let pivot = self.order[i];
            let sum: f64 = (i + 1..self.rank)
                .map(|j| self.lower[self.order[j] * n + pivot] * full[self.order[j]])
                .sum();
            full[pivot] = (half[i] - sum) / self.lower[pivot * n + pivot];
        }
        full
    }

    /// A basis of the vectors that `matrix`, which this is the factor of, maps
    /// to zero.
    pub fn null_space(&self, matrix: &SymmetricMatrix) -> Vec<Vec<f64>> {
        self.order[self.rank..]
            .iter()
            .map(|&free| {
                let column: Vec<f64> = (0..self.size).map(|i| matrix.at(i, free)).collect();
                let mut vector: Vec<f64> = self.solve(&column).iter().map(|x| -x).collect();
                vector[free] = 1.0;
                vector
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependent_column_is_found_and_its_dependence_is_the_null_space() {
        let mut gram = SymmetricMatrix::zeros(3);
        for (x, y) in [(1.0, 2.0), (-1.0, 0.5), (0.3, -2.0), (2.0, 1.0)] {
            gram.add_outer_product(&[x, y, x - 2.0 * y], 1.0);
        }
        let factor = PivotedCholesky::of(&gram);
        assert_eq!(factor.rank(), 2);
        assert_eq!(factor.log_determinant(), None);
        let null = factor.null_space(&gram);
        assert_eq!(null.len(), 1);
        let scale = null[0][2];
        assert!((null[0][0] / scale + 1.0).abs() < 1e-9);
        assert!((null[0][1] / scale - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_inverse_undoes_the_matrix_and_the_determinant_is_right() {
        let mut gram = SymmetricMatrix::zeros(2);
        gram.add_outer_product(&[2.0, 1.0], 1.0);
        gram.add_outer_product(&[0.0, 3.0], 1.0);
        let factor = PivotedCholesky::of(&gram);
        // [[4, 2], [2, 10]] has determinant 36.
        assert!((factor.log_determinant().unwrap() - 36_f64.ln()).abs() < 1e-12);
        let inverse = factor.inverse().unwrap();
        for (found, wanted) in inverse.iter().zip([10.0, -2.0, -2.0, 4.0]) {
            assert!((found - wanted / 36.0).abs() < 1e-12);
        }
    }
}
