//! Pieces of Stirling's formula that keep relative accuracy when the
//! parameters are large.
//!
//! The densities of the beta and gamma families are written as in Loader,
//! "Fast and accurate computation of binomial probabilities" (2000): a square
//! root, an exponential of Stirling remainders, and an exponential of
//! *deviances*. None of the exponents cancel, so the result stays accurate
//! where `exp(ln_gamma(a) - ...)` loses all digits.

use std::f64::consts::PI;

/// Logarithm of the gamma function for positive `a`.
pub(crate) fn ln_gamma(a: f64) -> f64 {
    libm::lgamma(a)
}

/// `ln Γ(a) - [(a - 1/2) ln a - a + ln √(2π)]`, the remainder of Stirling's
/// formula (DLMF 5.11.1), for positive `a`.
pub(crate) fn stirling_remainder(a: f64) -> f64 {
    if a < 15.0 {
        return ln_gamma(a) - (a - 0.5) * a.ln() + a - 0.5 * (2.0 * PI).ln();
    }
    // B_{2k} / (2k (2k - 1)); eight terms leave less than 1e-18 at 15.
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
        -3617.0 / 122_400.0,
    ];
    let inverse_square = 1.0 / (a * a);
    TERMS
        .iter()
        .rev()
        .fold(0.0, |sum, term| sum * inverse_square + term)
        / a
}

/// `ln(1 + d) - d` without cancellation near zero, for `d > -1`.
pub(crate) fn ln_1p_minus(d: f64) -> f64 {
    if !(-0.4..=0.6).contains(&d) {
        return d.ln_1p() - d;
    }
    // ln(1 + d) = 2 artanh(r) with r = d / (2 + d), and 2r - d = -r d.
    let r = d / (2.0 + d);
    let square = r * r;
    let mut power = 1.0;
    let mut sum = 0.0;
    let mut odd = 3.0;
    loop {
        let term = power / odd;
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
        power *= square;
        odd += 2.0;
    }
    r * (2.0 * square * sum - d)
}

/// The deviance `a ln(a / m) + m - a`: zero where `m = a`, positive elsewhere.
pub(crate) fn deviance(a: f64, m: f64) -> f64 {
    let d = (m - a) / a;
    if d.is_finite() && d > -0.5 {
        -a * ln_1p_minus(d)
    } else {
        // Either `m` is far below `a`, or `a` is so small that the ratio
        // overflows; in both cases the terms do not cancel.
        a * (a.ln() - m.ln()) + (m - a)
    }
}
