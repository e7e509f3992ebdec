//! The regularised incomplete beta function I_x(a, b), DLMF 8.17.2.

use std::f64::consts::PI;

use crate::stirling::{deviance, stirling_remainder};

/// Both tails of the beta distribution at `x`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BetaTails {
    /// I_x(a, b).
    pub(crate) lower: f64,
    /// I_{1-x}(b, a).
    pub(crate) upper: f64,
}

impl BetaTails {
    /// `a` and `b` are positive and finite. The caller gives both `x` and
    /// `y = 1 - x`, each accurate to the last digit: a subtraction here would
    /// lose the tail next to one.
    pub(crate) fn at(a: f64, b: f64, x: f64, y: f64) -> Self {
        if x <= 0.0 {
            return Self {
                lower: 0.0,
                upper: 1.0,
            };
        }
        if y <= 0.0 {
            return Self {
                lower: 1.0,
                upper: 0.0,
            };
        }
        // The fraction converges fast below the mean; above it, the mirrored one.
        if x < (a + 1.0) / (a + b + 2.0) {
            let lower = (weight(a, b, x, y) / a * fraction(a, b, x)).min(1.0);
            Self {
                lower,
                upper: 1.0 - lower,
            }
        } else {
            let upper = (weight(a, b, x, y) / b * fraction(b, a, y)).min(1.0);
            Self {
                lower: 1.0 - upper,
                upper,
            }
        }
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

/// The continued fraction DLMF 8.17.22, evaluated by the modified Lentz method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let n = a + b;
    let mut c = 1.0;
    let mut d = 1.0 / (1.0 - n * x / (a + 1.0));
    let mut value = d;
    let mut m = 0.0;
    loop {
        m += 1.0;
        let twice = 2.0 * m;
        let even = m * (b - m) * x / ((a + twice - 1.0) * (a + twice));
        d = 1.0 / (1.0 + even * d);
        c = 1.0 + even / c;
        value *= c * d;
        let odd = -(a + m) * (n + m) * x / ((a + twice) * (a + twice + 1.0));
        d = 1.0 / (1.0 + odd * d);
        c = 1.0 + odd / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < 3e-16 {
            return value;
        }
    }
}
