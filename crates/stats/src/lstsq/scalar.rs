//! The two precisions least squares is computed in.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::double_double::DoubleDouble;

/// A real number the factorisation can work in.
///
/// `f64` is fast; [`DoubleDouble`] carries about 32 decimal digits and makes
/// nearly collinear problems come out right. One Householder code serves both.
pub(crate) trait Scalar:
    Copy
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;

    fn from_f64(value: f64) -> Self;
    /// `high + low`, where `low` is beyond the last place of `high`.
    fn from_parts(high: f64, low: f64) -> Self;
    fn to_f64(self) -> f64;
    /// The product in 32 digits.
    fn times(self, other: DoubleDouble) -> DoubleDouble;
    fn sqrt(self) -> Self;

    /// The scalar product, in a fixed order of additions.
    fn dot(a: &[Self], b: &[Self]) -> Self;
    /// `y ← y − factor·x`.
    fn subtract_multiple(y: &mut [Self], factor: Self, x: &[Self]);
}

impl Scalar for f64 {
    const ZERO: f64 = 0.0;

    fn from_f64(value: f64) -> f64 {
        value
    }

    fn from_parts(high: f64, _low: f64) -> f64 {
        high
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn times(self, other: DoubleDouble) -> DoubleDouble {
        DoubleDouble::from(self) * other
    }

    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        // Eight partial sums let the compiler use vector registers; their order
        // is part of the result, so it is written out instead of left to chance.
        const LANES: usize = 8;
        let mut sums = [0.0; LANES];
        let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
        let tail: f64 = a_chunks
            .remainder()
            .iter()
            .zip(b_chunks.remainder())
            .map(|(x, y)| x * y)
            .sum();
        for (x, y) in a_chunks.zip(b_chunks) {
            for lane in 0..LANES {
                sums[lane] += x[lane] * y[lane];
            }
        }
        sums.iter().sum::<f64>() + tail
    }

    fn subtract_multiple(y: &mut [f64], factor: f64, x: &[f64]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y -= factor * x;
        }
    }
}

impl Scalar for DoubleDouble {
    const ZERO: DoubleDouble = DoubleDouble::ZERO;

    fn from_f64(value: f64) -> DoubleDouble {
        DoubleDouble::from(value)
    }

    fn from_parts(high: f64, low: f64) -> DoubleDouble {
        DoubleDouble::exact_sum(high, low)
    }

    fn to_f64(self) -> f64 {
        self.to_f64()
    }

    fn times(self, other: DoubleDouble) -> DoubleDouble {
        self * other
    }

    fn sqrt(self) -> DoubleDouble {
        self.sqrt()
    }

    fn dot(a: &[DoubleDouble], b: &[DoubleDouble]) -> DoubleDouble {
        a.iter()
            .zip(b)
            .fold(DoubleDouble::ZERO, |sum, (&x, &y)| sum + x * y)
    }

    fn subtract_multiple(y: &mut [DoubleDouble], factor: DoubleDouble, x: &[DoubleDouble]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = *y - factor * x;
        }
    }
}
