//! The Cholesky factor of a positive definite matrix.

use crate::{SymmetricMatrix, dot};

/// The lower triangle `L` with `L Lᵀ = A`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cholesky {
    size: usize,
    /// Row after row, zeros above the diagonal.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a matrix; `None` if it is not positive definite to working
    /// precision.
    ///
    /// Row by row, so that every inner product runs over contiguous memory
    /// (Golub and Van Loan, 4th edition, algorithm 4.2.1, by dot products).
    pub fn of(matrix: SymmetricMatrix) -> Option<Self> {
        let size = matrix.size();
        let mut lower = matrix.into_entries();
        for i in 0..size {
            let (above, rest) = lower.split_at_mut(i * size);
            let row = &mut rest[..size];
            for j in 0..i {
                let other = &above[j * size..][..=j];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            let square = row[i] - dot(&row[..i], &row[..i]);
            // Also refuses NaN.
            if !(square > 0.0 && square.is_finite()) {
                return None;
            }
            row[i] = square.sqrt();
            row[i + 1..].fill(0.0);
        }
        Some(Self { size, lower })
    }

    /// How many rows there are, and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// A row of `L`, with the zeros above its diagonal.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.lower[row * self.size..][..self.size]
    }

    /// Solves `L x = b` in place. A shorter `b` is solved in the leading rows.
    pub fn solve_lower(&self, b: &mut [f64]) {
        for i in 0..b.len() {
            let row = self.row(i);
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
    }

    /// Solves `Lᵀ x = b` in place.
    pub fn solve_upper(&self, b: &mut [f64]) {
        for i in (0..b.len()).rev() {
            let row = self.row(i);
            b[i] /= row[i];
            let solved = b[i];
            for (value, l) in b[..i].iter_mut().zip(row) {
                *value -= solved * l;
            }
        }
    }

    /// Solves `L Lᵀ x = b` in place.
    pub fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_upper(b);
    }

    /// The logarithm of the determinant of `L Lᵀ`.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.size).map(|i| self.row(i)[i].ln()).sum::<f64>()
    }

    /// The inverse of `L Lᵀ`.
    pub fn inverse(&self) -> SymmetricMatrix {
        let size = self.size;
        // Row c holds column c of L⁻¹, which is zero above the diagonal.
        let mut columns = vec![0.0; size * size];
        for (c, column) in columns.chunks_exact_mut(size.max(1)).enumerate() {
            column[c] = 1.0 / self.row(c)[c];
            for i in c + 1..size {
                let row = self.row(i);
                column[i] = -dot(&row[c..i], &column[c..i]) / row[i];
            }
        }
        SymmetricMatrix::from_lower(size, |i, j| {
            dot(
                &columns[i * size + i..(i + 1) * size],
                &columns[j * size + i..(j + 1) * size],
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chance;

    fn random_definite(size: usize) -> SymmetricMatrix {
        let mut chance = Chance::new(4, size as u64);
        let root: Vec<f64> = (0..size * size).map(|_| chance.unit() - 0.5).collect();
        SymmetricMatrix::from_lower(size, |i, j| {
            let product = dot(&root[i * size..][..size], &root[j * size..][..size]);
            product + if i == j { 0.1 } else { 0.0 }
        })
    }

    #[test]
    fn factor_inverse_and_solution_agree_with_their_definitions() {
        for size in [1, 2, 7, 20, 33] {
            let matrix = random_definite(size);
            let factor = Cholesky::of(matrix.clone()).unwrap();
            let inverse = factor.inverse();
            for i in 0..size {
                let mut column = vec![0.0; size];
                column[i] = 1.0;
                factor.solve(&mut column);
                for (j, solved) in column.into_iter().enumerate() {
                    let rebuilt = dot(factor.row(i), factor.row(j));
                    assert!((rebuilt - matrix.at(i, j)).abs() < 1e-13);
                    assert!((solved - inverse.at(i, j)).abs() < 1e-10);
                    let identity = dot(matrix.row(i), inverse.row(j));
                    assert!((identity - f64::from(u8::from(i == j))).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn the_determinant_is_that_of_the_matrix() {
        let matrix = SymmetricMatrix::from_lower(2, |i, j| [[4.0, 2.0], [2.0, 10.0]][i][j]);
        let factor = Cholesky::of(matrix).unwrap();
        assert!((factor.log_determinant() - 36_f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        let matrix = SymmetricMatrix::from_lower(2, |i, j| if i == j { 1.0 } else { 2.0 });
        assert_eq!(Cholesky::of(matrix), None);
        let nan = SymmetricMatrix::from_lower(1, |_, _| f64::NAN);
        assert_eq!(Cholesky::of(nan), None);
    }
}
