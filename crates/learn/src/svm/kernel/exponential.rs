//! The exponential of many numbers at once.

/// Adding this rounds a number below 2^22 in magnitude to a whole one, which
/// then stands in the lowest bits.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts: the first has few digits, so that its product with a
/// small whole number is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// Below this the exponential is less than the smallest normal number.
const LEAST: f32 = -87.0;

/// e^x for x up to 0, to within two units in the last place; below −87 it is
/// e^−87.
///
/// With x = n·ln 2 + r and |r| ≤ ln 2 / 2, e^x = 2^n · e^r, and the Taylor series
/// of e^r to the seventh power errs by less than 0.35^8 / 8!, which is below 6e-9.
/// There is no branch and no call, so a loop over it becomes vector code.
#[inline(always)]
pub(super) fn exp_of_negative(x: f32) -> f32 {
    let x = if x < LEAST { LEAST } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    let r = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
    let mut series = 1.0 / 5040.0;
    for coefficient in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        series = series * r + coefficient;
    }
    let exponent = shifted.to_bits().wrapping_sub(ROUNDER.to_bits());
    let power = f32::from_bits(exponent.wrapping_add(127) << 23);
    series * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_exponential_in_double_precision() {
        let mut worst: f64 = 0.0;
        for step in 0..200_000 {
            let x = -(step as f32) * 4.3e-4;
            let exact = f64::from(x).exp();
            worst = worst.max((f64::from(exp_of_negative(x)) - exact).abs() / exact);
        }
        assert!(worst < 2.4e-7, "{worst}");
        assert_eq!(exp_of_negative(0.0), 1.0);
    }

    #[test]
    fn far_below_zero_it_stays_positive_and_small() {
        for x in [-88.0, -1e6, -3.4e38] {
            let value = exp_of_negative(x);
            assert!(value > 0.0 && value < 2e-38, "{value}");
        }
    }
}
