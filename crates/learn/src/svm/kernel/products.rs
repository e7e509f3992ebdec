//! Inner products of dense rows, many at a time, with the widest vectors that
//! the machine has.

use super::SvmKernel;
use super::points::DensePoints;
use paceline_kernels::{Kernels, Vectors, Work};

/// Kernel values of a few rows with many others.
pub(super) struct KernelBlock<'a> {
    pub(super) kernel: SvmKernel,
    pub(super) left: &'a DensePoints,
    /// The rows of `left`; each fills one chunk of `out`.
    pub(super) left_rows: &'a [u32],
    pub(super) right: &'a DensePoints,
    /// The rows of `right`; each is one place in a chunk of `out`.
    pub(super) right_rows: &'a [u32],
    /// Row after row, as long as `left_rows` times `right_rows`.
    pub(super) out: &'a mut [f32],
}

impl KernelBlock<'_> {
    pub(super) fn compute(self, kernels: Kernels) {
        kernels.run(self);
    }
}

/// Left and right rows in one tile of [`Vectors::products`].
const TILE_LEFT: usize = 4;
const TILE_RIGHT: usize = 2;
/// Kernel values are computed on this many right rows at a time, so that they
/// are still in the nearest cache when the kernel function is applied.
const STRIP: usize = 512;

impl Work for KernelBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vectors>(self, vectors: V) {
        let width = self.right_rows.len();
        let mut start = 0;
        while start < width {
            let end = (start + STRIP).min(width);
            let strip = &self.right_rows[start..end];
            let pairs = strip.chunks(TILE_RIGHT);
            for (pair, place) in pairs.zip((start..).step_by(TILE_RIGHT)) {
                let right = [pair[0], pair[pair.len() - 1]].map(|row| self.right.row(row));
                let lefts = self.left_rows.chunks(TILE_LEFT);
                for (rows, first) in lefts.zip((0..).step_by(TILE_LEFT)) {
                    let last = rows[rows.len() - 1];
                    let left: [&[f32]; TILE_LEFT] =
                        std::array::from_fn(|i| self.left.row(*rows.get(i).unwrap_or(&last)));
                    let sums = vectors.products(left, right);
                    for (i, sums) in sums.iter().enumerate().take(rows.len()) {
                        let at = (first + i) * width + place;
                        self.out[at..at + pair.len()].copy_from_slice(&sums[..pair.len()]);
                    }
                }
            }
            for (i, &row) in self.left_rows.iter().enumerate() {
                let values = &mut self.out[i * width + start..i * width + end];
                let squares = strip.iter().map(|&row| self.right.square(row));
                self.kernel.apply(values, self.left.square(row), squares);
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_numeric::Chance;

    #[test]
    fn kernel_values_agree_with_float64_on_every_path() {
        let (rows, columns) = (STRIP + 7, 21);
        let mut chance = Chance::new(6, 0);
        let cells: Vec<f32> = (0..rows * columns)
            .map(|_| chance.normal() as f32)
            .collect();
        let points = DensePoints::from_flat(cells.iter().copied(), rows, columns);
        let left_rows = [0, 5, 5, 2, 9];
        let right_rows: Vec<u32> = (0..rows as u32).rev().collect();
        let row = |row: u32| &cells[row as usize * columns..][..columns];
        for kernels in Kernels::available() {
            let mut out = vec![f32::NAN; left_rows.len() * rows];
            KernelBlock {
                kernel: SvmKernel::Rbf { gamma: 0.05 },
                left: &points,
                left_rows: &left_rows,
                right: &points,
                right_rows: &right_rows,
                out: &mut out,
            }
            .compute(kernels);
            let mut values = out.iter();
            for &a in &left_rows {
                for &b in &right_rows {
                    let pairs = row(a).iter().zip(row(b));
                    let distance: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
                    let found = f64::from(*values.next().unwrap());
                    assert!(
                        (found - (-0.05 * distance).exp()).abs() < 1e-5,
                        "{kernels:?}"
                    );
                }
            }
        }
    }
}
