//! Small symmetric matrices: factorisation with pivoting, null space, inverse.

/// A symmetric, positive semi-definite matrix, stored in full.
#[derive(Debug, Clone)]
pub(crate) struct Gram {
    size: usize,
    entries: Vec<f64>,
}

/// Pivots below this share of a column's own square count as zero. Coded
/// columns are of order one, so the rounding of a Gram matrix stays far below.
const SINGULAR: f64 = 1e-9;

impl Gram {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            size,
            entries: vec![0.0; size * size],
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[i * self.size + j]
    }

    pub(crate) fn set(&mut self, i: usize, j: usize, value: f64) {
        self.entries[i * self.size + j] = value;
    }

    /// Adds `weight` times the outer product of a row with itself.
    pub(crate) fn add(&mut self, row: &[f64], weight: f64) {
        debug_assert_eq!(row.len(), self.size);
        for (i, x) in row.iter().enumerate() {
            if *x == 0.0 {
                continue;
            }
            let target = &mut self.entries[i * self.size..(i + 1) * self.size];
            for (entry, y) in target.iter_mut().zip(row) {
                *entry += weight * x * y;
            }
        }
    }

    pub(crate) fn add_to_diagonal(&mut self, value: f64) {
        for i in 0..self.size {
            self.entries[i * self.size + i] += value;
        }
    }

    /// The Cholesky factor with complete pivoting, as far as the rank goes.
    pub(crate) fn factor(&self) -> Factored {
        let n = self.size;
        let mut a = self.entries.clone();
        let own: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
        let mut order: Vec<usize> = (0..n).collect();
        let mut rank = 0;
        let mut log_det = 0.0;
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
            log_det += diagonal.ln();
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
        Factored {
            size: n,
            order,
            rank,
            lower: a,
            log_det,
        }
    }
}

/// A pivoted Cholesky factor.
#[derive(Debug, Clone)]
pub(crate) struct Factored {
    size: usize,
    order: Vec<usize>,
    rank: usize,
    lower: Vec<f64>,
    log_det: f64,
}

impl Factored {
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// The logarithm of the determinant, if the matrix is regular.
    pub(crate) fn log_det(&self) -> Option<f64> {
        (self.rank == self.size).then_some(self.log_det)
    }

    /// The inverse, if the matrix is regular.
    pub(crate) fn inverse(&self) -> Option<Vec<f64>> {
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
    pub(crate) fn solve(&self, right: &[f64]) -> Vec<f64> {
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

    /// A basis of the vectors that the matrix maps to zero.
    pub(crate) fn null_space(&self, matrix: &Gram) -> Vec<Vec<f64>> {
        self.order[self.rank..]
            .iter()
            .map(|free| {
                let column: Vec<f64> = (0..self.size).map(|i| matrix.at(i, *free)).collect();
                let mut vector: Vec<f64> = self.solve(&column).iter().map(|x| -x).collect();
                vector[*free] = 1.0;
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
        let mut gram = Gram::new(3);
        for (x, y) in [(1.0, 2.0), (-1.0, 0.5), (0.3, -2.0), (2.0, 1.0)] {
            gram.add(&[x, y, x - 2.0 * y], 1.0);
        }
        let factored = gram.factor();
        assert_eq!(factored.rank(), 2);
        let null = factored.null_space(&gram);
        assert_eq!(null.len(), 1);
        let scale = null[0][2];
        assert!((null[0][0] / scale + 1.0).abs() < 1e-9);
        assert!((null[0][1] / scale - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_inverse_undoes_the_matrix_and_the_determinant_is_right() {
        let mut gram = Gram::new(2);
        gram.add(&[2.0, 1.0], 1.0);
        gram.add(&[0.0, 3.0], 1.0);
        let factored = gram.factor();
        // [[4, 2], [2, 10]] has determinant 36.
        assert!((factored.log_det().unwrap() - 36_f64.ln()).abs() < 1e-12);
        let inverse = factored.inverse().unwrap();
        for (found, wanted) in inverse.iter().zip([10.0, -2.0, -2.0, 4.0]) {
            assert!((found - wanted / 36.0).abs() < 1e-12);
        }
    }
}
