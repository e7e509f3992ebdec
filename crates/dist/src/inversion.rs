//! Quantiles by bisection over the floating-point numbers themselves.
//!
//! Non-negative floats are ordered like their bit patterns, so halving an
//! interval of bit patterns finds the answer to the last bit in at most 64
//! evaluations, whatever its magnitude and without a first guess.

use crate::tails::Tails;

/// The smallest non-negative float for which `reached` holds.
fn bisect(reached: impl Fn(f64) -> bool) -> f64 {
    let (mut below, mut above) = (0_u64, f64::INFINITY.to_bits());
    if reached(0.0) {
        return 0.0;
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if reached(f64::from_bits(middle)) {
            above = middle;
        } else {
            below = middle;
        }
    }
    f64::from_bits(above)
}

/// The `p` quantile of a distribution on `[0, ∞)` with these tails. The smaller
/// one is matched, because it carries the digits.
pub(crate) fn quantile(p: f64, tails: impl Fn(f64) -> Tails) -> f64 {
    match p {
        0.0 => 0.0,
        1.0 => f64::INFINITY,
        _ if !(0.0..=1.0).contains(&p) => f64::NAN,
        _ if p <= 0.5 => bisect(|x| tails(x).lower >= p),
        _ => bisect(|x| tails(x).upper <= 1.0 - p),
    }
}

/// The point of a distribution on `[0, ∞)` that is exceeded with probability `p`.
pub(crate) fn upper_quantile(p: f64, tails: impl Fn(f64) -> Tails) -> f64 {
    match p {
        0.0 => f64::INFINITY,
        1.0 => 0.0,
        _ if !(0.0..=1.0).contains(&p) => f64::NAN,
        _ if p <= 0.5 => bisect(|x| tails(x).upper <= p),
        _ => bisect(|x| tails(x).lower >= 1.0 - p),
    }
}

/// The root of a falling function between `below`, where it is not negative,
/// and `above`, where it is not positive: regula falsi with the Illinois
/// weighting (Dowell and Jarratt 1971), which needs few evaluations of an
/// expensive function.
pub(crate) fn falling_root(below: f64, above: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (below, above);
    let (mut at_low, mut at_high) = (f(low), f(high));
    if at_low <= 0.0 {
        return low;
    }
    if at_high >= 0.0 {
        return high;
    }
    let mut kept = None;
    for _ in 0..100 {
        let middle = (low + (high - low) * at_low / (at_low - at_high)).clamp(low, high);
        let value = f(middle);
        // The digits of the function end about here.
        if value.abs() <= 1e-14 || middle == low || middle == high {
            return middle;
        }
        // An end that stays twice in a row gets half its weight.
        if value > 0.0 {
            (low, at_low) = (middle, value);
            if kept == Some(End::High) {
                at_high *= 0.5;
            }
            kept = Some(End::High);
        } else {
            (high, at_high) = (middle, value);
            if kept == Some(End::Low) {
                at_low *= 0.5;
            }
            kept = Some(End::Low);
        }
    }
    0.5 * (low + high)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    High,
}
