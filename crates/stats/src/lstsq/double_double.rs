//! Numbers of about 32 decimal digits: the unevaluated sum of two `f64`.
//!
//! Error-free transforms after T. J. Dekker, "A floating-point technique for
//! extending the available precision", Numerische Mathematik 18 (1971), and
//! D. E. Knuth, *The Art of Computer Programming*, vol. 2, section 4.2.2; the
//! accurate addition follows Y. Hida, X. S. Li and D. H. Bailey, "Algorithms for
//! quad-double precision floating point arithmetic", ARITH-15 (2001).

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `high + low`, where `low` is at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DoubleDouble {
    high: f64,
    low: f64,
}

impl DoubleDouble {
    pub(crate) const ZERO: DoubleDouble = DoubleDouble {
        high: 0.0,
        low: 0.0,
    };

    /// The exact sum of two numbers.
    pub(crate) fn exact_sum(a: f64, b: f64) -> DoubleDouble {
        let (high, low) = two_sum(a, b);
        DoubleDouble { high, low }
    }

    /// The exact product of two numbers, barring overflow and underflow.
    pub(crate) fn exact_product(a: f64, b: f64) -> DoubleDouble {
        let (high, low) = two_product(a, b);
        DoubleDouble { high, low }
    }

    pub(crate) fn high(self) -> f64 {
        self.high
    }

    pub(crate) fn low(self) -> f64 {
        self.low
    }

    pub(crate) fn to_f64(self) -> f64 {
        self.high + self.low
    }

    pub(crate) fn is_finite(self) -> bool {
        self.high.is_finite() && self.low.is_finite()
    }

    /// Multiplies by a power of two, which is exact.
    pub(crate) fn scale(self, power_of_two: f64) -> DoubleDouble {
        DoubleDouble {
            high: self.high * power_of_two,
            low: self.low * power_of_two,
        }
    }

    /// The square root: one Newton step from the `f64` root (Karp's trick).
    pub(crate) fn sqrt(self) -> DoubleDouble {
        if self.high <= 0.0 {
            return DoubleDouble::from(self.high.sqrt());
        }
        let root = self.high.sqrt();
        let square = DoubleDouble::exact_product(root, root);
        let correction = (self - square).high / (2.0 * root);
        DoubleDouble::exact_sum(root, correction)
    }

    /// A whole power, by repeated squaring.
    pub(crate) fn powi(self, exponent: u32) -> DoubleDouble {
        let mut result = DoubleDouble::from(1.0);
        let mut base = self;
        let mut left = exponent;
        while left > 0 {
            if left & 1 == 1 {
                result = result * base;
            }
            left >>= 1;
            if left > 0 {
                base = base * base;
            }
        }
        result
    }
}

impl From<f64> for DoubleDouble {
    fn from(value: f64) -> DoubleDouble {
        DoubleDouble {
            high: value,
            low: 0.0,
        }
    }
}

impl Add for DoubleDouble {
    type Output = DoubleDouble;

    fn add(self, other: DoubleDouble) -> DoubleDouble {
        let (high, error) = two_sum(self.high, other.high);
        let (low, low_error) = two_sum(self.low, other.low);
        let (high, error) = quick_two_sum(high, error + low);
        let (high, low) = quick_two_sum(high, error + low_error);
        DoubleDouble { high, low }
    }
}

impl Sub for DoubleDouble {
    type Output = DoubleDouble;

    fn sub(self, other: DoubleDouble) -> DoubleDouble {
        self + -other
    }
}

impl Neg for DoubleDouble {
    type Output = DoubleDouble;

    fn neg(self) -> DoubleDouble {
        DoubleDouble {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Mul for DoubleDouble {
    type Output = DoubleDouble;

    fn mul(self, other: DoubleDouble) -> DoubleDouble {
        let (high, error) = two_product(self.high, other.high);
        let error = error + (self.high * other.low + self.low * other.high);
        let (high, low) = quick_two_sum(high, error);
        DoubleDouble { high, low }
    }
}

impl Div for DoubleDouble {
    type Output = DoubleDouble;

    fn div(self, other: DoubleDouble) -> DoubleDouble {
        // Long division with three digits, each an f64.
        let first = self.high / other.high;
        let rest = self - other * DoubleDouble::from(first);
        let second = rest.high / other.high;
        let rest = rest - other * DoubleDouble::from(second);
        let third = rest.high / other.high;
        let (high, low) = quick_two_sum(first, second);
        DoubleDouble { high, low } + DoubleDouble::from(third)
    }
}

fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// As [`two_sum`], for |a| ≥ |b|.
fn quick_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

fn two_product(a: f64, b: f64) -> (f64, f64) {
    // Dekker's splitting rather than a fused multiply-add: the baseline target
    // has no such instruction, and the library call costs more than this.
    let product = a * b;
    let (a_high, a_low) = split(a);
    let (b_high, b_low) = split(b);
    let error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    (product, error)
}

fn split(a: f64) -> (f64, f64) {
    const FACTOR: f64 = 134_217_729.0; // 2^27 + 1
    let scaled = FACTOR * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_times_three_is_one_to_thirty_digits() {
        let third = DoubleDouble::from(1.0) / DoubleDouble::from(3.0);
        let error = third * DoubleDouble::from(3.0) - DoubleDouble::from(1.0);
        assert!(error.to_f64().abs() < 1e-31, "{error:?}");
    }

    #[test]
    fn the_square_of_a_root_is_the_number() {
        let two = DoubleDouble::from(2.0);
        let error = two.sqrt() * two.sqrt() - two;
        assert!(error.to_f64().abs() < 1e-31, "{error:?}");
    }

    #[test]
    fn cancellation_keeps_the_low_part() {
        let sum = DoubleDouble::exact_sum(1e16, 1.0) - DoubleDouble::from(1e16);
        assert_eq!(sum.to_f64(), 1.0);
    }

    #[test]
    fn powers_agree_with_repeated_products() {
        let x = DoubleDouble::from(-6.860120914);
        let mut product = DoubleDouble::from(1.0);
        for _ in 0..10 {
            product = product * x;
        }
        let error = (x.powi(10) - product) / product;
        assert!(error.to_f64().abs() < 1e-30, "{error:?}");
    }
}
