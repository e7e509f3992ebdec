//! The regularised incomplete gamma functions P(a, x) and Q(a, x), DLMF 8.2.4.

use std::f64::consts::PI;

use crate::stirling::{deviance, stirling_remainder};

/// Both tails of the gamma distribution with shape `a` and unit rate at `x`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GammaTails {
    /// P(a, x).
    pub(crate) lower: f64,
    /// Q(a, x).
    pub(crate) upper: f64,
}

impl GammaTails {
    /// `a` is positive and finite, `x` is a number.
    pub(crate) fn at(a: f64, x: f64) -> Self {
        if x <= 0.0 {
            return Self {
                lower: 0.0,
                upper: 1.0,
            };
        }
        if x == f64::INFINITY {
            return Self {
                lower: 1.0,
                upper: 0.0,
            };
        }
        if x < a + 1.0 {
            let lower = (weight(a, x) / a * lower_series(a, x)).min(1.0);
            Self {
                lower,
                upper: 1.0 - lower,
            }
        } else {
            let upper = (weight(a, x) * upper_fraction(a, x)).min(1.0);
            Self {
                lower: 1.0 - upper,
                upper,
            }
        }
    }
}

/// `x^a e^-x / Γ(a)`: the density at `x` times `x`.
pub(crate) fn weight(a: f64, x: f64) -> f64 {
    (a / (2.0 * PI)).sqrt() * (-stirling_remainder(a) - deviance(a, x)).exp()
}

/// `a Σ x^k / (a (a+1) … (a+k))`, DLMF 8.7.1.
fn lower_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    let mut next = a;
    loop {
        next += 1.0;
        term *= x / next;
        sum += term;
        if term < sum * 1e-17 {
            return sum;
        }
    }
}

/// Γ(a, x) e^x x^-a by the continued fraction DLMF 8.9.2, evaluated by the
/// modified Lentz method.
fn upper_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut c = f64::INFINITY;
    let mut d = 1.0 / b;
    let mut value = d;
    let mut i = 0.0;
    loop {
        i += 1.0;
        let numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / (b + numerator * d);
        c = b + numerator / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < 1e-16 || numerator == 0.0 {
            return value;
        }
    }
}
