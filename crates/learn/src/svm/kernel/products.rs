//! Inner products of dense rows, many at a time, with the widest vectors that
//! the machine has.

use super::SvmKernel;
use super::points::DensePoints;
use pulp::{Arch, Simd, WithSimd};

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
    pub(super) fn compute(self) {
        Arch::new().dispatch(self);
    }
}

/// Left rows in one tile: with two right rows there are eight running sums,
/// which is what two multiply-add units of latency four need.
const TILE_LEFT: usize = 4;
const TILE_RIGHT: usize = 2;
/// Kernel values are computed on this many right rows at a time, so that they
/// are still in the nearest cache when the kernel function is applied.
const STRIP: usize = 512;

impl WithSimd for KernelBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
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
                    let sums = tile(simd, left, right);
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

/// The inner products of four rows with two. Every product is added up in the
/// same order wherever it stands in the tile.
#[inline(always)]
fn tile<S: Simd>(
    simd: S,
    left: [&[f32]; TILE_LEFT],
    right: [&[f32]; TILE_RIGHT],
) -> [[f32; TILE_RIGHT]; TILE_LEFT] {
    let [l0, l1, l2, l3] = left.map(|row| S::as_simd_f32s(row).0);
    let [r0, r1] = right.map(|row| S::as_simd_f32s(row).0);
    let mut sums = [[simd.splat_f32s(0.0); TILE_RIGHT]; TILE_LEFT];
    let lefts = l0.iter().zip(l1).zip(l2.iter().zip(l3));
    for (((&a0, &a1), (&a2, &a3)), (&b0, &b1)) in lefts.zip(r0.iter().zip(r1)) {
        sums[0][0] = simd.mul_add_e_f32s(a0, b0, sums[0][0]);
        sums[0][1] = simd.mul_add_e_f32s(a0, b1, sums[0][1]);
        sums[1][0] = simd.mul_add_e_f32s(a1, b0, sums[1][0]);
        sums[1][1] = simd.mul_add_e_f32s(a1, b1, sums[1][1]);
        sums[2][0] = simd.mul_add_e_f32s(a2, b0, sums[2][0]);
        sums[2][1] = simd.mul_add_e_f32s(a2, b1, sums[2][1]);
        sums[3][0] = simd.mul_add_e_f32s(a3, b0, sums[3][0]);
        sums[3][1] = simd.mul_add_e_f32s(a3, b1, sums[3][1]);
    }
    sums.map(|pair| pair.map(|sum| simd.reduce_sum_f32s(sum)))
}
