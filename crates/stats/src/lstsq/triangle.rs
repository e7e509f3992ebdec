//! The triangular factor of a tall matrix, built block of rows by block of rows.
//!
//! Householder QR in the tall-and-skinny arrangement (J. Demmel, L. Grigori,
//! M. Hoemmen and J. Langou, "Communication-optimal parallel and sequential QR
//! and LU factorizations", SIAM J. Sci. Comput. 34, 2012): each block is folded
//! into the triangle of the rows before it, so the matrix is never held whole.

use super::scalar::Scalar;

/// An upper-triangular matrix R with RᵀR = AᵀA for all rows of A absorbed so far.
#[derive(Clone, Debug)]
pub(crate) struct Triangle<S> {
    width: usize,
    /// Column-major, `width` × `width`; below the diagonal always zero.
    entries: Vec<S>,
}

impl<S: Scalar> Triangle<S> {
    pub(crate) fn new(width: usize) -> Triangle<S> {
        Triangle {
            width,
            entries: vec![S::ZERO; width * width],
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The rows `0..width` of one column.
    pub(crate) fn column(&self, column: usize) -> &[S] {
        &self.entries[column * self.width..(column + 1) * self.width]
    }

    /// Folds a column-major block of `rows` rows into the triangle, destroying it.
    pub(crate) fn absorb(&mut self, block: &mut [S], rows: usize) {
        debug_assert_eq!(block.len(), rows * self.width);
        for pivot in 0..self.width {
            let (head, tail) = block.split_at_mut((pivot + 1) * rows);
            let reflector = &head[pivot * rows..];
            let below = S::dot(reflector, reflector);
            if below.to_f64() == 0.0 {
                continue;
            }
            let top = self.entries[pivot * self.width + pivot];
            let norm = (top * top + below).sqrt();
            let diagonal = if top.to_f64() > 0.0 { -norm } else { norm };
            let first = top - diagonal;
            // H = I − (w wᵀ)·scale with w = (first, reflector).
            let scale = S::from_f64(-1.0) / (diagonal * first);
            self.entries[pivot * self.width + pivot] = diagonal;
            for column in pivot + 1..self.width {
                let entry = column * self.width + pivot;
                let other = &mut tail[(column - pivot - 1) * rows..(column - pivot) * rows];
                let product = first * self.entries[entry] + S::dot(reflector, other);
                let factor = product * scale;
                self.entries[entry] = self.entries[entry] - factor * first;
                S::subtract_multiple(other, factor, reflector);
            }
        }
    }

    /// Folds another triangle of the same width into this one.
    pub(crate) fn merge(&mut self, other: Triangle<S>) {
        let rows = other.width;
        let mut block = other.entries;
        self.absorb(&mut block, rows);
    }
}

/// The columns of a triangle eliminated in a chosen order, the last column of
/// the triangle being the response.
#[derive(Clone, Debug)]
pub(crate) struct Elimination<S> {
    /// The independent columns in the order they were eliminated.
    pub(crate) independent: Vec<usize>,
    /// The columns that are combinations of those eliminated before them.
    pub(crate) dependent: Vec<usize>,
    /// R over the independent columns, column-major with `stride` rows.
    triangle: Vec<S>,
    /// Each dependent column's components along the directions before it.
    dependent_components: Vec<Vec<S>>,
    stride: usize,
    /// The response in the rotated basis: entry k belongs to `independent[k]`,
    /// the rest is residual.
    pub(crate) response: Vec<S>,
    /// The smallest ratio of a column's new part to the whole column.
    pub(crate) smallest_ratio: f64,
}

/// A column whose part not explained by earlier columns is below this fraction
/// of its length counts as a combination of them. Rounding leaves about 1e-15;
/// the hardest of NIST's reference problems (Filip) needs 5e-8.
pub(crate) const RANK_TOLERANCE: f64 = 1e-11;

/// Eliminates `order` (columns of `triangle`, without the response) one by one,
/// setting aside each column that adds no new direction.
pub(crate) fn eliminate<S: Scalar>(triangle: &Triangle<S>, order: &[usize]) -> Elimination<S> {
    let stride = triangle.width();
    let response_column = stride - 1;
    let mut work: Vec<Vec<S>> = order
        .iter()
        .map(|&column| triangle.column(column).to_vec())
        .collect();
    work.push(triangle.column(response_column).to_vec());
    let mut independent = Vec::new();
    let mut dependent = Vec::new();
    let mut dependent_components = Vec::new();
    let mut upper = Vec::new();
    let mut smallest_ratio = 1.0_f64;
    for (position, &column) in order.iter().enumerate() {
        let rank = independent.len();
        let (head, tail) = work.split_at_mut(position + 1);
        let current = &mut head[position];
        let whole = S::dot(current, current).to_f64().sqrt();
        let rest = S::dot(&current[rank..], &current[rank..]).to_f64().sqrt();
        if rest <= RANK_TOLERANCE * whole {
            dependent.push(column);
            dependent_components.push(current[..rank].to_vec());
            continue;
        }
        smallest_ratio = smallest_ratio.min(rest / whole);
        let below = S::dot(&current[rank + 1..], &current[rank + 1..]);
        if below.to_f64() != 0.0 {
            let top = current[rank];
            let norm = (top * top + below).sqrt();
            let diagonal = if top.to_f64() > 0.0 { -norm } else { norm };
            let first = top - diagonal;
            let scale = S::from_f64(-1.0) / (diagonal * first);
            current[rank] = first;
            let reflector = &current[rank..];
            for other in tail.iter_mut() {
                let factor = S::dot(reflector, &other[rank..]) * scale;
                S::subtract_multiple(&mut other[rank..], factor, reflector);
            }
            current[rank] = diagonal;
        }
        independent.push(column);
        upper.extend_from_slice(current);
    }
    let response = work
        .pop()
        .expect("the response was pushed after the columns");
    Elimination {
        independent,
        dependent,
        triangle: upper,
        dependent_components,
        stride,
        response,
        smallest_ratio,
    }
}

impl<S: Scalar> Elimination<S> {
    pub(crate) fn rank(&self) -> usize {
        self.independent.len()
    }

    fn entry(&self, row: usize, column: usize) -> S {
        self.triangle[column * self.stride + row]
    }

    /// Solves R·x = rhs for the independent columns.
    pub(crate) fn solve_upper(&self, rhs: &[S]) -> Vec<S> {
        let mut x = rhs[..self.rank()].to_vec();
        for row in (0..self.rank()).rev() {
            let value = x[row] / self.entry(row, row);
            x[row] = value;
            let above = &self.triangle[row * self.stride..row * self.stride + row];
            S::subtract_multiple(&mut x[..row], value, above);
        }
        x
    }

    /// Solves RᵀR·x = rhs.
    pub(crate) fn solve_normal(&self, rhs: &[S]) -> Vec<S> {
        let mut z = rhs[..self.rank()].to_vec();
        for row in 0..self.rank() {
            let column = &self.triangle[row * self.stride..row * self.stride + row];
            let known = S::dot(column, &z[..row]);
            z[row] = (z[row] - known) / self.entry(row, row);
        }
        self.solve_upper(&z)
    }

    /// The coefficients of the independent columns.
    pub(crate) fn coefficients(&self) -> Vec<S> {
        self.solve_upper(&self.response)
    }

    /// R⁻¹, column by column, as `f64`.
    pub(crate) fn inverse(&self) -> Vec<Vec<f64>> {
        (0..self.rank())
            .map(|column| {
                let mut unit = vec![S::ZERO; self.rank()];
                unit[column] = S::from_f64(1.0);
                self.solve_upper(&unit).into_iter().map(S::to_f64).collect()
            })
            .collect()
    }

    /// How the `k`-th dependent column is made from the independent ones.
    pub(crate) fn combination(&self, k: usize) -> Vec<f64> {
        let components = &self.dependent_components[k];
        let mut rhs = vec![S::ZERO; self.rank()];
        rhs[..components.len()].copy_from_slice(components);
        self.solve_upper(&rhs).into_iter().map(S::to_f64).collect()
    }

    /// The columns of R as `f64`, for the singular values.
    pub(crate) fn columns_f64(&self) -> Vec<Vec<f64>> {
        (0..self.rank())
            .map(|column| {
                (0..self.rank())
                    .map(|row| match row <= column {
                        true => self.entry(row, column).to_f64(),
                        false => 0.0,
                    })
                    .collect()
            })
            .collect()
    }

    /// The sum of squares along the directions first opened by `columns`, and
    /// how many directions that is.
    pub(crate) fn explained_by(&self, columns: &[usize]) -> (f64, usize) {
        let mut sum = S::ZERO;
        let mut degrees = 0;
        for (position, column) in self.independent.iter().enumerate() {
            if columns.contains(column) {
                sum = sum + self.response[position] * self.response[position];
                degrees += 1;
            }
        }
        (sum.to_f64(), degrees)
    }

    /// The sum of squares of the response left over.
    pub(crate) fn residual_square(&self) -> f64 {
        let rest = &self.response[self.rank()..];
        S::dot(rest, rest).to_f64()
    }
}
