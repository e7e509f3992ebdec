//! The regularised incomplete beta function I_x(a, b), DLMF 8.17.2.

use std::f64::consts::PI;

use crate::stirling::{deviance, stirling_remainder};
use crate::tails::Tails;

/// Both tails of the beta distribution at `x`: I_x(a, b) and I_{1-x}(b, a).
///
/// `a` and `b` are positive and finite. The caller gives both `x` and
/// `y = 1 - x`, each accurate to the last digit: a subtraction here would lose
/// the tail next to one.
pub(crate) fn tails(a: f64, b: f64, x: f64, y: f64) -> Tails {
    if x.is_nan() || y.is_nan() {
        Tails::NAN
    } else if x <= 0.0 {
        Tails::START
    } else if y <= 0.0 {
        Tails::END
    } else if x < (a + 1.0) / (a + b + 2.0) {
        // The fraction converges fast below the mean; above it, the mirrored one.
        Tails::from_lower(weight(a, b, x, y) / fraction(a, b, x, y))
    } else {
        Tails::from_upper(weight(a, b, x, y) / fraction(b, a, y, x))
    }
}

/// `x^a y^b / B(a, b)`: the density at `x` times `x y`.
pub(crate) fn weight(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    // √(ab/n) with the larger factor divided first, which cannot overflow.
    let scale = (a.min(b) * (a.max(b) / n) / (2.0 * PI)).sqrt();
    let remainders = stirling_remainder(n) - stirling_remainder(a) - stirling_remainder(b);
    scale * (remainders - deviance(a, n * x) - deviance(b, n * y)).exp()
}

/// About the square root of the parameters is needed; this suffices far beyond
/// the range that the crate promises, and bounds the time for any input.
const MAX_TERMS: u32 = 5_000_000;

/// `x^a y^b / (B(a, b) I_x(a, b))`, the even part of the continued fraction
/// DLMF 8.17.22, by the modified Lentz method.
///
/// This contraction (Didonato and Morris, "Algorithm 708", 1992) contains
/// `1 - x` only through `a y - b x` and `1 + y`. The fraction itself cancels
/// where `x` is within 1e-8 of one, as happens with 1e8 degrees of freedom.
fn fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let excess = a * y - b * x + 1.0;
    let mut value = a * excess / (a + 1.0);
    let mut c = value;
    let mut d = 0.0;
    for m in 1..MAX_TERMS {
        let m = f64::from(m);
        let even = a + 2.0 * m;
        let share = m * (b - m) * x / (even - 1.0);
        let numerator = (a + m - 1.0) * (n + m - 1.0) * x / (even - 1.0) * share;
        let denominator = m + share + (a + m) * (excess + m * (1.0 + y)) / (even + 1.0);
        d = 1.0 / (denominator + numerator * d);
        c = denominator + numerator / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < 3e-16 || numerator == 0.0 {
            break;
        }
    }
    value
}
