//! Matrix products with what follows them fused in.
//!
//! The operands of a training step of these models fit into the second-level
//! cache, where copying them into packed panels first, as a library for large
//! matrices does, costs a good part of the product itself. So the right operand
//! is read in place while its rows lie close together, and is copied panel by
//! panel only when it is transposed or its rows lie far apart.
//!
//! More than 600 lines: the tiles and their edges share macros and invariants.

#![expect(
    unsafe_code,
    reason = "register tiles over raw pointers, checked at the entry"
)]

use std::mem::MaybeUninit;

use crate::kernels::dispatch;
use crate::simd::Simd;
use crate::{Kernels, Matrix, MatrixMut};

/// What the product is added to.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// Nothing: the output is overwritten.
    Zero,
    /// The output as it is.
    Keep,
    /// This row, for every row of the output.
    Bias(&'a [f32]),
}

/// What becomes of the sum.
#[derive(Clone, Copy, Debug)]
pub enum Finish<'a> {
    /// It is stored.
    Plain,
    /// Negative values become zero.
    Relu,
    /// It is stored where this row-major matrix is positive, and zero
    /// elsewhere: the way back through a ReLU whose output the matrix is.
    WherePositive(Matrix<'a>),
}

impl Kernels {
    /// `c = finish(start + a · b)`.
    ///
    /// Rows and columns of any number work; columns of `b` and `c` in whole
    /// registers (multiples of 16) are fastest. The order of additions depends
    /// on the shapes and the instructions only, so equal calls give equal bits.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit together.
    pub fn gemm(
        self,
        a: Matrix<'_>,
        b: Matrix<'_>,
        c: MatrixMut<'_>,
        start: Start<'_>,
        finish: Finish<'_>,
    ) {
        assert_eq!(a.columns, b.rows, "inner sizes of a product agree");
        assert_eq!(
            (a.rows, b.columns),
            (c.rows, c.columns),
            "the product has its factors' outer sizes"
        );
        if c.rows == 0 || c.columns == 0 {
            return;
        }
        let product = Product {
            rows: c.rows,
            columns: c.columns,
            depth: a.columns,
            a: a.values.as_ptr(),
            a_row: a.row_stride,
            a_column: a.column_stride,
            b: b.values.as_ptr(),
            b_row: b.row_stride,
            b_column: b.column_stride,
            output: Output {
                c: c.values.as_mut_ptr(),
                stride: c.stride,
                begin: match start {
                    Start::Zero => Begin::Zero,
                    Start::Keep => Begin::Keep,
                    Start::Bias(bias) => {
                        assert!(bias.len() >= c.columns, "a bias for every column");
                        Begin::Row(bias.as_ptr())
                    }
                },
                end: match finish {
                    Finish::Plain => End::Plain,
                    Finish::Relu => End::Relu,
                    Finish::WherePositive(mask) => {
                        assert_eq!(
                            (mask.rows, mask.columns),
                            (c.rows, c.columns),
                            "a mask has the product's shape"
                        );
                        assert_eq!(mask.column_stride, 1, "a mask is row-major");
                        End::WherePositive(mask.values.as_ptr(), mask.row_stride)
                    }
                },
            },
        };
        dispatch!(self => multiply(product: Product));
    }
}

/// A checked product: every value that its shapes and strides name is readable
/// (`a`, `b`, the bias, the mask) or exclusively writable (`c`).
#[derive(Clone, Copy)]
struct Product {
    rows: usize,
    columns: usize,
    depth: usize,
    a: *const f32,
    a_row: usize,
    a_column: usize,
    b: *const f32,
    b_row: usize,
    b_column: usize,
    output: Output,
}

#[derive(Clone, Copy)]
struct Output {
    c: *mut f32,
    stride: usize,
    begin: Begin,
    end: End,
}

#[derive(Clone, Copy)]
enum Begin {
    Zero,
    Keep,
    Row(*const f32),
}

#[derive(Clone, Copy)]
enum End {
    Plain,
    Relu,
    WherePositive(*const f32, usize),
}

/// Depth of a block: a panel of `DEPTH` rows and 64 columns stays in the
/// first-level cache while the rows of `a` pass by.
const DEPTH: usize = 128;

/// Columns of the widest tile: four AVX-512 registers.
const PANEL: usize = 64;

/// Rows of `b` further apart than this make the processor's address
/// translation the bottleneck; their panels are copied together.
const FAR: usize = 512;

#[inline(always)]
fn multiply<S: Simd>(simd: S, product: Product) {
    let Product { columns, depth, .. } = product;
    let mut copied = [const { MaybeUninit::<f32>::uninit() }; DEPTH * PANEL];
    let copied = copied.as_mut_ptr().cast::<f32>();
    let copy = product.b_column != 1 || (product.b_row > FAR && product.rows >= 32);
    let mut from = 0;
    loop {
        let block = (depth - from).min(DEPTH);
        let mut output = product.output;
        if from > 0 {
            output.begin = Begin::Keep;
        }
        if from + block < depth {
            output.end = End::Plain;
        }
        let mut column = 0;
        while column < columns {
            let width = (columns - column).min(PANEL);
            // SAFETY: `from < depth` or the block is empty, `column < columns`;
            // `copied` holds `DEPTH` rows of `PANEL` values. `Product` vouches
            // for the rest.
            unsafe {
                let a = product.a.wrapping_add(from * product.a_column);
                let mut b = product
                    .b
                    .wrapping_add(from * product.b_row + column * product.b_column);
                let mut b_row = product.b_row;
                if copy {
                    copy_panel(b, b_row, product.b_column, block, width, copied);
                    (b, b_row) = (copied.cast_const(), PANEL);
                }
                let panel = Panel {
                    rows: product.rows,
                    depth: block,
                    a,
                    a_row: product.a_row,
                    a_column: product.a_column,
                    b,
                    b_row,
                    output: output.at_column(column),
                };
                panel.multiply(simd, width);
            }
            column += width;
        }
        from += block;
        if from >= depth {
            return;
        }
    }
}

/// Copies `depth` rows of `width` values to rows of `PANEL` values.
///
/// # Safety
/// The values are readable, and `depth * PANEL` values are writable at `to`.
#[inline(always)]
unsafe fn copy_panel(
    from: *const f32,
    row: usize,
    column: usize,
    depth: usize,
    width: usize,
    to: *mut f32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if column == 1 {
            for k in 0..depth {
                std::ptr::copy_nonoverlapping(from.add(k * row), to.add(k * PANEL), width);
            }
        } else {
            // Eight rows of the copy at a time, so that each cache line of the
            // transposed source is used while it is there.
            for first in (0..depth).step_by(8) {
                let last = (first + 8).min(depth);
                for j in 0..width {
                    for k in first..last {
                        *to.add(k * PANEL + j) = *from.add(k * row + j * column);
                    }
                }
            }
        }
    }
}

impl Output {
    /// # Safety
    /// The output has a column `column`, or ends there.
    #[inline(always)]
    unsafe fn at_column(self, column: usize) -> Self {
        // SAFETY: the caller's promise; bias and mask have the same columns.
        unsafe {
            Self {
                c: self.c.add(column),
                stride: self.stride,
                begin: match self.begin {
                    Begin::Row(bias) => Begin::Row(bias.add(column)),
                    other => other,
                },
                end: match self.end {
                    End::WherePositive(mask, stride) => {
                        End::WherePositive(mask.add(column), stride)
                    }
                    other => other,
                },
            }
        }
    }

    /// # Safety
    /// The output has a row `row`.
    #[inline(always)]
    unsafe fn at_row(self, row: usize) -> Self {
        // SAFETY: the caller's promise; the mask has the same rows.
        unsafe {
            Self {
                c: self.c.add(row * self.stride),
                end: match self.end {
                    End::WherePositive(mask, stride) => {
                        End::WherePositive(mask.add(row * stride), stride)
                    }
                    other => other,
                },
                ..self
            }
        }
    }
}

/// At most [`PANEL`] columns and [`DEPTH`] steps of a product.
#[derive(Clone, Copy)]
struct Panel {
    rows: usize,
    depth: usize,
    a: *const f32,
    a_row: usize,
    a_column: usize,
    b: *const f32,
    b_row: usize,
    output: Output,
}

impl Panel {
    /// Splits the columns into tiles that fill the registers.
    ///
    /// # Safety
    /// As [`Product`], for `width` columns.
    #[inline(always)]
    unsafe fn multiply<S: Simd>(self, simd: S, width: usize) {
        let mut panel = self;
        let mut left = width;
        // SAFETY: every tile lies within `width` columns.
        unsafe {
            if S::REGISTERS >= 32 {
                while left >= 4 * S::LANES {
                    panel.rows::<S, 6, 4>(simd, S::LANES);
                    panel = panel.skip(4 * S::LANES);
                    left -= 4 * S::LANES;
                }
                if left >= 3 * S::LANES {
                    panel.rows::<S, 8, 3>(simd, S::LANES);
                    panel = panel.skip(3 * S::LANES);
                    left -= 3 * S::LANES;
                }
                if left >= 2 * S::LANES {
                    panel.rows::<S, 14, 2>(simd, S::LANES);
                    panel = panel.skip(2 * S::LANES);
                    left -= 2 * S::LANES;
                }
                if left >= S::LANES {
                    panel.rows::<S, 16, 1>(simd, S::LANES);
                    panel = panel.skip(S::LANES);
                    left -= S::LANES;
                }
                if left > 0 {
                    panel.rows::<S, 16, 1>(simd, left);
                }
            } else {
                while left >= 2 * S::LANES {
                    panel.rows::<S, 6, 2>(simd, S::LANES);
                    panel = panel.skip(2 * S::LANES);
                    left -= 2 * S::LANES;
                }
                if left >= S::LANES {
                    panel.rows::<S, 12, 1>(simd, S::LANES);
                    panel = panel.skip(S::LANES);
                    left -= S::LANES;
                }
                if left > 0 {
                    panel.rows::<S, 12, 1>(simd, left);
                }
            }
        }
    }

    /// # Safety
    /// The panel has at least `columns` columns.
    #[inline(always)]
    unsafe fn skip(self, columns: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                b: self.b.wrapping_add(columns),
                output: self.output.at_column(columns),
                ..self
            }
        }
    }

    /// All rows of `NV` vectors of columns, the last of which has `last` lanes.
    ///
    /// # Safety
    /// As [`Panel::tile`], for all rows.
    #[inline(always)]
    unsafe fn rows<S: Simd, const MR: usize, const NV: usize>(self, simd: S, last: usize) {
        let mut row = 0;
        // SAFETY: `row + MR <= rows` before each tile.
        unsafe {
            while row + MR <= self.rows {
                self.tile::<S, MR, NV>(simd, row, last);
                row += MR;
            }
            while row + 4 <= self.rows {
                self.tile::<S, 4, NV>(simd, row, last);
                row += 4;
            }
            while row < self.rows {
                self.tile::<S, 1, NV>(simd, row, last);
                row += 1;
            }
        }
    }

    /// `MR` rows from `row` on.
    ///
    /// # Safety
    /// The rows and `(NV - 1) * LANES + last` columns are there.
    #[inline(always)]
    unsafe fn tile<S: Simd, const MR: usize, const NV: usize>(
        self,
        simd: S,
        row: usize,
        last: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let output = self.output.at_row(row);
            let mut sums = [[simd.splat(0.0); NV]; MR];
            match output.begin {
                Begin::Zero => {}
                Begin::Keep => {
                    for (i, sums) in sums.iter_mut().enumerate() {
                        for (j, sum) in sums.iter_mut().enumerate() {
                            let at = output.c.add(i * output.stride + j * S::LANES);
                            *sum = read::<S>(simd, at, if j + 1 == NV { last } else { S::LANES });
                        }
                    }
                }
                Begin::Row(bias) => {
                    for j in 0..NV {
                        let count = if j + 1 == NV { last } else { S::LANES };
                        let value = read::<S>(simd, bias.add(j * S::LANES), count);
                        for sums in &mut sums {
                            sums[j] = value;
                        }
                    }
                }
            }
            let mut a = self.a.wrapping_add(row * self.a_row);
            let mut b = self.b;
            if last == S::LANES {
                for _ in 0..self.depth {
                    let mut columns = [simd.splat(0.0); NV];
                    for (j, column) in columns.iter_mut().enumerate() {
                        *column = simd.load(b.add(j * S::LANES));
                    }
                    for (i, sums) in sums.iter_mut().enumerate() {
                        let factor = simd.splat(*a.add(i * self.a_row));
                        for (sum, column) in sums.iter_mut().zip(columns) {
                            *sum = simd.mul_add(factor, column, *sum);
                        }
                    }
                    a = a.wrapping_add(self.a_column);
                    b = b.wrapping_add(self.b_row);
                }
            } else {
                for _ in 0..self.depth {
                    let column = simd.load_first(b, last);
                    for (i, sums) in sums.iter_mut().enumerate() {
                        let factor = simd.splat(*a.add(i * self.a_row));
                        sums[0] = simd.mul_add(factor, column, sums[0]);
                    }
                    a = a.wrapping_add(self.a_column);
                    b = b.wrapping_add(self.b_row);
                }
            }
            let zero = simd.splat(0.0);
            match output.end {
                End::Plain => {}
                End::Relu => {
                    for sum in sums.as_flattened_mut() {
                        // In this order a sum that is not a number stays so.
                        *sum = simd.max(zero, *sum);
                    }
                }
                End::WherePositive(mask, stride) => {
                    for (i, sums) in sums.iter_mut().enumerate() {
                        for (j, sum) in sums.iter_mut().enumerate() {
                            let count = if j + 1 == NV { last } else { S::LANES };
                            let mask = read::<S>(simd, mask.add(i * stride + j * S::LANES), count);
                            *sum = simd.select_greater(mask, zero, *sum, zero);
                        }
                    }
                }
            }
            for (i, sums) in sums.iter().enumerate() {
                for (j, sum) in sums.iter().enumerate() {
                    let at = output.c.add(i * output.stride + j * S::LANES);
                    if j + 1 == NV && last < S::LANES {
                        simd.store_first(at, last, *sum);
                    } else {
                        simd.store(at, *sum);
                    }
                }
            }
        }
    }
}

/// # Safety
/// `count <= LANES` floats are readable at `from`.
#[inline(always)]
unsafe fn read<S: Simd>(simd: S, from: *const f32, count: usize) -> S::V {
    // SAFETY: the caller's promise.
    unsafe {
        if count < S::LANES {
            simd.load_first(from, count)
        } else {
            simd.load(from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Numbers;

    /// Compares one product with float64 sums, on every instruction set.
    fn check(
        numbers: &mut Numbers,
        [rows, columns, depth]: [usize; 3],
        [ta, tb]: [bool; 2],
        gap: usize,
    ) {
        let shape = |transposed: bool, r: usize, c: usize| if transposed { (c, r) } else { (r, c) };
        let (ar, ac) = shape(ta, rows, depth);
        let (br, bc) = shape(tb, depth, columns);
        let a = numbers.vector(ar * (ac + gap));
        let b = numbers.vector(br * (bc + gap));
        let stride = columns + gap;
        let before = numbers.vector(rows * stride);
        let bias = numbers.vector(columns);
        let mask = numbers.vector(rows * stride);
        let at = |values: &[f32], transposed: bool, stride: usize, r: usize, c: usize| {
            f64::from(if transposed {
                values[c * stride + r]
            } else {
                values[r * stride + c]
            })
        };
        for kernels in Kernels::available() {
            for start in [Start::Zero, Start::Keep, Start::Bias(&bias)] {
                for finish in [
                    Finish::Plain,
                    Finish::Relu,
                    Finish::WherePositive(Matrix::new(&mask, rows, columns, stride)),
                ] {
                    let mut c = before.clone();
                    let mut left = Matrix::new(&a, ar, ac, ac + gap);
                    let mut right = Matrix::new(&b, br, bc, bc + gap);
                    if ta {
                        left = left.transposed();
                    }
                    if tb {
                        right = right.transposed();
                    }
                    kernels.gemm(
                        left,
                        right,
                        MatrixMut::new(&mut c, rows, columns, stride),
                        start,
                        finish,
                    );
                    for r in 0..rows {
                        for j in 0..stride {
                            let got = c[r * stride + j];
                            let old = before[r * stride + j];
                            if j >= columns {
                                assert_eq!(got, old, "the gap between rows was written");
                                continue;
                            }
                            let mut sum = match start {
                                Start::Zero => 0.0,
                                Start::Keep => f64::from(old),
                                Start::Bias(bias) => f64::from(bias[j]),
                            };
                            for k in 0..depth {
                                sum += at(&a, ta, ac + gap, r, k) * at(&b, tb, bc + gap, k, j);
                            }
                            let want = match finish {
                                Finish::Plain => sum,
                                Finish::Relu => sum.max(0.0),
                                Finish::WherePositive(_) if mask[r * stride + j] > 0.0 => sum,
                                Finish::WherePositive(_) => 0.0,
                            };
                            // Values up to 1, so each addition rounds by at
                            // most the sum's half unit in the last place.
                            let tolerance = 1e-6 * (1.0 + depth as f64).sqrt();
                            assert!(
                                (f64::from(got) - want).abs() <= tolerance,
                                "{rows}x{columns}x{depth} {ta} {tb} {:?}: {got} at ({r}, {j}), not {want}",
                                kernels.isa()
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn products_of_all_small_and_odd_shapes_agree_with_float64() {
        let mut numbers = Numbers::new(1);
        for rows in [1, 3, 6, 16, 23] {
            for columns in [1, 5, 8, 16, 31, 48, 64, 70, 130] {
                for depth in [0, 1, 7, 129] {
                    check(
                        &mut numbers,
                        [rows, columns, depth],
                        [false, false],
                        rows % 3,
                    );
                }
            }
        }
    }

    #[test]
    fn transposed_factors_agree_with_float64() {
        let mut numbers = Numbers::new(2);
        for transposed in [[true, false], [false, true], [true, true]] {
            check(&mut numbers, [37, 80, 150], transposed, 0);
            check(&mut numbers, [5, 10, 33], transposed, 3);
        }
    }

    #[test]
    fn rows_far_apart_are_copied_and_agree_with_float64() {
        check(&mut Numbers::new(3), [40, 600, 140], [false, false], 0);
    }

    #[test]
    #[should_panic(expected = "inner sizes of a product agree")]
    fn sizes_that_do_not_fit_are_refused() {
        let values = [0.0; 12];
        Kernels::detect().gemm(
            Matrix::new(&values, 3, 4, 4),
            Matrix::new(&values, 3, 4, 4),
            MatrixMut::new(&mut [0.0; 12], 3, 4, 4),
            Start::Zero,
            Finish::Plain,
        );
    }
}
