//! The Cholesky factor of a positive definite matrix.

/// A symmetric matrix or a lower triangle, row after row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Square {
    values: Vec<f64>,
    size: usize,
}

impl Square {
    /// A symmetric matrix from its lower triangle.
    pub(super) fn symmetric(size: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut values = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let value = entry(i, j);
                values[i * size + j] = value;
                values[j * size + i] = value;
            }
        }
        Self { values, size }
    }

    /// The same matrix with this diagonal.
    pub(super) fn with_diagonal(&self, value: f64) -> Self {
        let mut changed = self.clone();
        for entry in changed.values.iter_mut().step_by(self.size + 1) {
            *entry = value;
        }
        changed
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.size..][..self.size]
    }
}

/// The lower triangle `L` with `L Lᵀ = A`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factor(Square);

impl Factor {
    /// Factors a symmetric matrix, of which only the lower triangle is read;
    /// `None` if it is not positive definite to working precision.
    ///
    /// Row by row, so that every inner product runs over contiguous memory
    /// (Golub and Van Loan, 4th edition, algorithm 4.2.1, by dot products).
    pub(super) fn of(mut matrix: Square) -> Option<Self> {
        let size = matrix.size;
        for i in 0..size {
            let (above, rest) = matrix.values.split_at_mut(i * size);
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
        Some(Self(matrix))
    }

    /// Solves `L x = b` in place.
    pub(super) fn solve_lower(&self, b: &mut [f64]) {
        for i in 0..b.len() {
            let row = self.0.row(i);
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
    }

    /// Solves `L Lᵀ x = b` in place.
    pub(super) fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        for i in (0..b.len()).rev() {
            let row = self.0.row(i);
            b[i] /= row[i];
            let solved = b[i];
            for (value, l) in b[..i].iter_mut().zip(row) {
                *value -= solved * l;
            }
        }
    }

    /// The logarithm of the determinant of `L Lᵀ`.
    pub(super) fn log_determinant(&self) -> f64 {
        let size = self.0.size;
        2.0 * (0..size).map(|i| self.0.row(i)[i].ln()).sum::<f64>()
    }

    /// The inverse of `L Lᵀ`.
    pub(super) fn inverse(&self) -> Square {
        let size = self.0.size;
        // Row c holds column c of L⁻¹, which is zero above the diagonal.
        let mut columns = vec![0.0; size * size];
        for (c, column) in columns.chunks_exact_mut(size.max(1)).enumerate() {
            column[c] = 1.0 / self.0.row(c)[c];
            for i in c + 1..size {
                let row = self.0.row(i);
                column[i] = -dot(&row[c..i], &column[c..i]) / row[i];
            }
        }
        Square::symmetric(size, |i, j| {
            dot(
                &columns[i * size + i..(i + 1) * size],
                &columns[j * size + i..(j + 1) * size],
            )
        })
    }
}

/// Eight sums side by side: floating-point addition may not be reordered by the
/// compiler, so one sum would not use vector registers.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_chunks
        .remainder()
        .iter()
        .zip(b_chunks.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Draws;

    fn random_definite(size: usize) -> Square {
        let mut draws = Draws::new(4, size as u64);
        let root: Vec<f64> = (0..size * size).map(|_| draws.unit() - 0.5).collect();
        Square::symmetric(size, |i, j| {
            let product = dot(&root[i * size..][..size], &root[j * size..][..size]);
            product + if i == j { 0.1 } else { 0.0 }
        })
    }

    #[test]
    fn factor_inverse_and_solution_agree_with_their_definitions() {
        for size in [1, 2, 7, 20, 33] {
            let matrix = random_definite(size);
            let factor = Factor::of(matrix.clone()).unwrap();
            let inverse = factor.inverse();
            for i in 0..size {
                let mut column = vec![0.0; size];
                column[i] = 1.0;
                factor.solve(&mut column);
                for (j, solved) in column.into_iter().enumerate() {
                    let rebuilt = dot(factor.0.row(i), factor.0.row(j));
                    assert!((rebuilt - matrix.row(i)[j]).abs() < 1e-13);
                    assert!((solved - inverse.row(i)[j]).abs() < 1e-10);
                    let identity = dot(matrix.row(i), inverse.row(j));
                    assert!((identity - f64::from(u8::from(i == j))).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        let matrix = Square::symmetric(2, |i, j| if i == j { 1.0 } else { 2.0 });
        assert_eq!(Factor::of(matrix), None);
        assert_eq!(Factor::of(Square::symmetric(1, |_, _| f64::NAN)), None);
    }
}
