//! Sums over vectors and matrices, and the loops that add vectors up.

#![expect(unsafe_code, reason = "vectors over raw pointers, within a slice")]

use crate::kernels::dispatch;
use crate::simd::Simd;
use crate::{Kernels, Matrix, MatrixMut};

impl Kernels {
    /// `Σ x·y`, in float32.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn dot(self, x: &[f32], y: &[f32]) -> f32 {
        assert_eq!(x.len(), y.len(), "a product needs pairs");
        dispatch!(self => dot(x: &[f32], y: &[f32]) -> f32)
    }

    /// `y += factor · x`.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn axpy(self, factor: f32, x: &[f32], y: &mut [f32]) {
        assert_eq!(x.len(), y.len(), "a sum needs pairs");
        dispatch!(self => axpy(factor: f32, x: &[f32], y: &mut [f32]));
    }

    /// `x *= factor`.
    pub fn scale(self, factor: f32, x: &mut [f32]) {
        dispatch!(self => scale(factor: f32, x: &mut [f32]));
    }

    /// `Σ x²`, in float64: the squared length that gradient clipping needs.
    pub fn squared_norm(self, x: &[f32]) -> f64 {
        dispatch!(self => squared_norm(x: &[f32]) -> f64)
    }

    /// The sum of each column of a row-major matrix, overwriting `sums`.
    ///
    /// # Panics
    ///
    /// If the matrix is transposed or `sums` is not as long as its rows.
    pub fn column_sums(self, matrix: Matrix<'_>, sums: &mut [f32]) {
        assert_eq!(matrix.column_stride, 1, "columns are summed row by row");
        assert_eq!(matrix.columns, sums.len(), "a sum for every column");
        dispatch!(self => column_sums(matrix: Matrix<'_>, sums: &mut [f32]));
    }

    /// `to = fromᵀ`.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit together.
    pub fn transpose(self, from: Matrix<'_>, to: MatrixMut<'_>) {
        assert_eq!(
            (from.rows, from.columns),
            (to.columns, to.rows),
            "a transposed matrix has as many rows as the other has columns"
        );
        dispatch!(self => transpose(from: Matrix<'_>, to: MatrixMut<'_>));
    }

    /// `out = Σ shards`, added in the order given.
    ///
    /// # Panics
    ///
    /// If there is no shard or the lengths differ.
    pub fn sum_shards(self, out: &mut [f32], shards: &[&[f32]]) {
        check_shards(out.len(), shards);
        dispatch!(self => sum_shards(out: &mut [f32], shards: &[&[f32]]));
    }
}

/// # Panics
///
/// If there is no shard or one has another length.
pub(crate) fn check_shards(len: usize, shards: &[&[f32]]) {
    assert!(!shards.is_empty(), "a sum needs at least one shard");
    assert!(
        shards.iter().all(|shard| shard.len() == len),
        "every shard is as long as the values it is for"
    );
}

#[inline(always)]
fn dot<S: Simd>(simd: S, x: &[f32], y: &[f32]) -> f32 {
    // Four sums side by side hide the latency of the addition.
    let len = x.len().min(y.len());
    let (x, y) = (x.as_ptr(), y.as_ptr());
    let mut sums = [simd.splat(0.0); 4];
    let mut at = 0;
    // SAFETY: `at` and what is read from it on stay below `len`.
    unsafe {
        while at + 4 * S::LANES <= len {
            for (j, sum) in sums.iter_mut().enumerate() {
                let at = at + j * S::LANES;
                *sum = simd.mul_add(simd.load(x.add(at)), simd.load(y.add(at)), *sum);
            }
            at += 4 * S::LANES;
        }
        while at + S::LANES <= len {
            sums[0] = simd.mul_add(simd.load(x.add(at)), simd.load(y.add(at)), sums[0]);
            at += S::LANES;
        }
        let left = len - at;
        let tail = simd.mul(
            simd.load_first(x.add(at), left),
            simd.load_first(y.add(at), left),
        );
        sums[1] = simd.add(sums[1], tail);
    }
    simd.sum(simd.add(simd.add(sums[0], sums[1]), simd.add(sums[2], sums[3])))
}

#[inline(always)]
fn axpy<S: Simd>(_: S, factor: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

#[inline(always)]
fn scale<S: Simd>(_: S, factor: f32, x: &mut [f32]) {
    for x in x {
        *x *= factor;
    }
}

#[inline(always)]
fn squared_norm<S: Simd>(_: S, x: &[f32]) -> f64 {
    // Sixteen independent sums become vectors, whose order the source fixes.
    let mut sums = [0.0f64; 16];
    let chunks = x.chunks_exact(16);
    let tail = chunks.remainder();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            let x = f64::from(*x);
            *sum += x * x;
        }
    }
    for (sum, x) in sums.iter_mut().zip(tail) {
        let x = f64::from(*x);
        *sum += x * x;
    }
    sums.iter().sum()
}

#[inline(always)]
fn column_sums<S: Simd>(simd: S, matrix: Matrix<'_>, sums: &mut [f32]) {
    let Matrix {
        rows,
        columns,
        row_stride,
        ..
    } = matrix;
    let (from, to) = (matrix.values.as_ptr(), sums.as_mut_ptr());
    let mut column = 0;
    // SAFETY: `Matrix` vouches for rows and columns; `sums` has one value for
    // each column.
    unsafe {
        while column + S::LANES <= columns {
            let mut even = simd.splat(0.0);
            let mut odd = even;
            for row in (1..rows).step_by(2) {
                even = simd.add(even, simd.load(from.add((row - 1) * row_stride + column)));
                odd = simd.add(odd, simd.load(from.add(row * row_stride + column)));
            }
            if rows % 2 == 1 {
                even = simd.add(even, simd.load(from.add((rows - 1) * row_stride + column)));
            }
            simd.store(to.add(column), simd.add(even, odd));
            column += S::LANES;
        }
        let left = columns - column;
        let mut sum = simd.splat(0.0);
        for row in 0..if left > 0 { rows } else { 0 } {
            sum = simd.add(
                sum,
                simd.load_first(from.add(row * row_stride + column), left),
            );
        }
        simd.store_first(to.add(column), left, sum);
    }
}

#[inline(always)]
fn transpose<S: Simd>(simd: S, from: Matrix<'_>, to: MatrixMut<'_>) {
    let lanes = S::LANES;
    let whole = |len: usize| len / lanes * lanes;
    // Blocks need rows without gaps inside.
    let (rows, columns) = match from.column_stride {
        1 => (whole(from.rows), whole(from.columns)),
        _ => (0, 0),
    };
    for row in (0..rows).step_by(lanes) {
        for column in (0..columns).step_by(lanes) {
            // SAFETY: the block lies within both matrices.
            unsafe {
                simd.transpose(
                    from.values.as_ptr().add(row * from.row_stride + column),
                    from.row_stride,
                    to.values.as_mut_ptr().add(column * to.stride + row),
                    to.stride,
                );
            }
        }
    }
    for row in 0..from.rows {
        let left = if row < rows { columns } else { 0 };
        for column in left..from.columns {
            to.values[column * to.stride + row] =
                from.values[row * from.row_stride + column * from.column_stride];
        }
    }
}

#[inline(always)]
fn sum_shards<S: Simd>(_: S, out: &mut [f32], shards: &[&[f32]]) {
    match shards {
        [] => {}
        [only] => out.copy_from_slice(only),
        [first, second, rest @ ..] => {
            for ((out, first), second) in out.iter_mut().zip(*first).zip(*second) {
                *out = first + second;
            }
            for shard in rest {
                for (out, shard) in out.iter_mut().zip(*shard) {
                    *out += shard;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Numbers;

    const LENGTHS: [usize; 9] = [0, 1, 3, 15, 16, 17, 63, 200, 1001];

    #[test]
    fn sums_of_vectors_agree_with_float64() {
        let mut numbers = Numbers::new(4);
        for kernels in Kernels::available() {
            for len in LENGTHS {
                let (x, y) = (numbers.vector(len), numbers.vector(len));
                let exact = |a: &[f32], b: &[f32]| -> f64 {
                    a.iter()
                        .zip(b)
                        .map(|(a, b)| f64::from(*a) * f64::from(*b))
                        .sum()
                };
                let dot = f64::from(kernels.dot(&x, &y));
                assert!((dot - exact(&x, &y)).abs() < 1e-6 * (1.0 + len as f64).sqrt());
                assert!(
                    (kernels.squared_norm(&x) - exact(&x, &x)).abs() < 1e-12 * (1.0 + len as f64)
                );
                let mut sum = y.clone();
                kernels.axpy(0.5, &x, &mut sum);
                kernels.scale(2.0, &mut sum);
                for ((sum, x), y) in sum.iter().zip(&x).zip(&y) {
                    assert!((sum - (2.0 * y + x)).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn columns_are_summed_and_matrices_transposed_whatever_their_shape() {
        let mut numbers = Numbers::new(5);
        for kernels in Kernels::available() {
            for rows in [0, 1, 2, 7, 64] {
                for columns in [1, 8, 10, 33, 48, 64] {
                    let stride = columns + rows % 3;
                    let values = numbers.vector(rows * stride);
                    let matrix = Matrix::new(&values, rows, columns, stride);
                    let mut sums = vec![f32::NAN; columns];
                    kernels.column_sums(matrix, &mut sums);
                    let mut turned = vec![0.0; columns * rows];
                    kernels.transpose(matrix, MatrixMut::new(&mut turned, columns, rows, rows));
                    for column in 0..columns {
                        let mut exact = 0.0;
                        for row in 0..rows {
                            let value = values[row * stride + column];
                            exact += f64::from(value);
                            assert_eq!(turned[column * rows + row], value);
                        }
                        assert!((f64::from(sums[column]) - exact).abs() < 1e-5);
                    }
                }
            }
        }
    }

    #[test]
    fn shards_are_added_in_the_order_given() {
        let mut numbers = Numbers::new(6);
        for kernels in Kernels::available() {
            for count in 1..5 {
                let shards: Vec<Vec<f32>> = (0..count).map(|_| numbers.vector(77)).collect();
                let views: Vec<&[f32]> = shards.iter().map(Vec::as_slice).collect();
                let mut out = vec![f32::NAN; 77];
                kernels.sum_shards(&mut out, &views);
                for (i, out) in out.iter().enumerate() {
                    let mut want = shards[0][i];
                    for shard in &shards[1..] {
                        want += shard[i];
                    }
                    assert_eq!(*out, want);
                }
            }
        }
    }
}
