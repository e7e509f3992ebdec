//! The regularised incomplete gamma functions P(a, x) and Q(a, x), DLMF 8.2.4.

use std::f64::consts::PI;

use crate::stirling::{deviance, stirling_remainder};
use crate::tails::Tails;

/// Both tails of the gamma distribution with shape `a` and unit rate at `x`:
/// P(a, x) and Q(a, x). `a` is positive and finite.
pub(crate) fn tails(a: f64, x: f64) -> Tails {
    if x.is_nan() {
        Tails::NAN
    } else if x <= 0.0 {
        Tails::START
    } else if x == f64::INFINITY {
        Tails::END
    } else if a > UNIFORM_FROM {
        uniform(a, x)
    } else if x < a + 1.0 {
        Tails::from_lower(weight(a, x) / a * lower_series(a, x))
    } else {
        Tails::from_upper(weight(a, x) * upper_fraction(a, x))
    }
}

/// From this shape on, two terms of the uniform expansion are exact to the last
/// digit, while the series would need ever more terms.
const UNIFORM_FROM: f64 = 1e8;

/// Temme's uniform expansion, DLMF 8.12.3, 8.12.4 and 8.12.8 to 8.12.12. Its
/// coefficients are expanded around `η = 0`: a tail above 1e-300 has
/// `|η| < 0.0038` here.
fn uniform(a: f64, x: f64) -> Tails {
    let half_square = deviance(a, x);
    let sign = if x < a { -1.0 } else { 1.0 };
    let eta = sign * (2.0 * half_square / a).sqrt();
    let c0 =
        -1.0 / 3.0 + eta * (1.0 / 12.0 + eta * (-2.0 / 135.0 + eta * (1.0 / 864.0 + eta / 2835.0)));
    let c1 = -1.0 / 540.0 + eta * (-1.0 / 288.0 + eta / 378.0);
    let correction = (-half_square).exp() / (2.0 * PI * a).sqrt() * (c0 + c1 / a);
    let root = sign * half_square.sqrt();
    Tails {
        lower: (0.5 * libm::erfc(-root) - correction).clamp(0.0, 1.0),
        upper: (0.5 * libm::erfc(root) + correction).clamp(0.0, 1.0),
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
    // At most about 10⁵ terms are needed up to `UNIFORM_FROM`.
    for i in 1..1_000_000 {
        let i = f64::from(i);
        let numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / (b + numerator * d);
        c = b + numerator / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < 3e-16 || numerator == 0.0 {
            break;
        }
    }
    value
}
