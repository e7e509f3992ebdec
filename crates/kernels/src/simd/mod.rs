//! Vectors of floats as the kernels see them.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512, transposed};

/// A vector width and its instructions.
///
/// A value is a token: it exists only where the instructions do, so that
/// arithmetic needs no `unsafe`. Only memory does.
///
/// Every method is `#[inline(always)]` in every implementation: the
/// instructions are emitted in the caller that has the target features.
pub(crate) trait Simd: Copy {
    /// Floats in a vector.
    const LANES: usize;
    /// Vectors the processor holds in registers.
    const REGISTERS: usize;
    /// A vector of [`Simd::LANES`] floats.
    type V: Copy;

    /// All lanes equal.
    fn splat(self, value: f32) -> Self::V;
    /// # Safety
    /// `LANES` floats are readable at `from`.
    unsafe fn load(self, from: *const f32) -> Self::V;
    /// # Safety
    /// `LANES` floats are writable at `to`.
    unsafe fn store(self, to: *mut f32, value: Self::V);
    /// The first `count < LANES` lanes; the others are zero.
    /// # Safety
    /// `count` floats are readable at `from`.
    unsafe fn load_first(self, from: *const f32, count: usize) -> Self::V;
    /// # Safety
    /// `count < LANES` floats are writable at `to`.
    unsafe fn store_first(self, to: *mut f32, count: usize, value: Self::V);

    /// `a + b`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, with one rounding where the machine has it.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The larger; `b` if either is not a number.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The smaller; `b` if either is not a number.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// `then` where `a > b`, else `otherwise`.
    fn select_greater(self, a: Self::V, b: Self::V, then: Self::V, otherwise: Self::V) -> Self::V;
    /// `a * 2^n` for whole `n` from -126 to 127.
    fn scale_by_power(self, a: Self::V, n: Self::V) -> Self::V;
    /// The sum of the lanes.
    fn sum(self, a: Self::V) -> f32;
    /// The largest lane.
    fn largest(self, a: Self::V) -> f32;
    /// Writes `LANES` rows of `LANES` floats at `from` as columns at `to`.
    /// # Safety
    /// Both are readable or writable, with rows as far apart as said.
    unsafe fn transpose(self, from: *const f32, from_row: usize, to: *mut f32, to_row: usize);
    /// Eight floats rounded to half precision.
    fn eight_to_half(self, from: [f32; 8]) -> [u16; 8];
    /// Eight half-precision floats, exactly.
    fn eight_from_half(self, from: [u16; 8]) -> [f32; 8];
}
