//! Conversions between widths of numbers.

use crate::Kernels;
use crate::kernels::dispatch;
use crate::simd::Simd;

impl Kernels {
    /// `to = scale · from`: bytes of a picture become floats.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn widen(self, from: &[u8], scale: f32, to: &mut [f32]) {
        assert_eq!(from.len(), to.len(), "a float for every byte");
        dispatch!(self => widen(from: &[u8], scale: f32, to: &mut [f32]));
    }

    /// Rounds floats to half precision (IEEE 754 binary16), to nearest, ties to
    /// even. What is too large becomes infinite.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn to_half(self, from: &[f32], to: &mut [u16]) {
        assert_eq!(from.len(), to.len(), "a half for every float");
        dispatch!(self => all_to_half(from: &[f32], to: &mut [u16]));
    }

    /// Half-precision floats as floats, exactly.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn from_half(self, from: &[u16], to: &mut [f32]) {
        assert_eq!(from.len(), to.len(), "a float for every half");
        dispatch!(self => all_from_half(from: &[u16], to: &mut [f32]));
    }
}

#[inline(always)]
fn widen<S: Simd>(_: S, from: &[u8], scale: f32, to: &mut [f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = f32::from(*from) * scale;
    }
}

#[inline(always)]
fn all_to_half<S: Simd>(simd: S, from: &[f32], to: &mut [u16]) {
    let (from_blocks, from_rest) = from.as_chunks::<8>();
    let (to_blocks, to_rest) = to.as_chunks_mut::<8>();
    for (from, to) in from_blocks.iter().zip(to_blocks) {
        *to = simd.eight_to_half(*from);
    }
    for (from, to) in from_rest.iter().zip(to_rest) {
        *to = to_half(*from);
    }
}

#[inline(always)]
fn all_from_half<S: Simd>(simd: S, from: &[u16], to: &mut [f32]) {
    let (from_blocks, from_rest) = from.as_chunks::<8>();
    let (to_blocks, to_rest) = to.as_chunks_mut::<8>();
    for (from, to) in from_blocks.iter().zip(to_blocks) {
        *to = simd.eight_from_half(*from);
    }
    for (from, to) in from_rest.iter().zip(to_rest) {
        *to = from_half(*from);
    }
}

/// One float as half precision.
#[inline(always)]
pub(crate) fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7FFF_FFFF;
    if magnitude > 0x7F80_0000 {
        // Not a number: quiet, the upper bits of the payload kept.
        return sign | 0x7E00 | (magnitude >> 13) as u16 & 0x03FF;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7C00;
    }
    if magnitude >= 0x3880_0000 {
        // A normal half: the exponent's bias changes from 127 to 15, and
        // thirteen bits go. A carry out of the fraction lands in the exponent,
        // where it belongs, up to infinity.
        let rebased = magnitude - (112 << 23);
        let odd = (rebased >> 13) & 1;
        return sign | ((rebased + 0x0FFF + odd) >> 13) as u16;
    }
    // A subnormal half is a multiple of 2^-24. Adding 0.5 leaves exactly these
    // multiples in the fraction, and rounds to nearest, ties to even.
    let multiples = (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits();
    sign | multiples as u16
}

/// One half as a float.
#[inline(always)]
pub(crate) fn from_half(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7FFF);
    if magnitude > 0x7C00 {
        return f32::from_bits(sign | 0x7FC0_0000 | (magnitude << 13));
    }
    if magnitude == 0x7C00 {
        return f32::from_bits(sign | 0x7F80_0000);
    }
    // The bits as a float with the wrong bias, set right by a power of two:
    // exact, subnormals included.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(sign | scaled.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_widened_and_scaled() {
        let bytes: Vec<u8> = (0..=255).chain([7, 9, 11]).collect();
        for kernels in Kernels::available() {
            let mut floats = vec![0.0; bytes.len()];
            kernels.widen(&bytes, 1.0 / 255.0, &mut floats);
            for (float, byte) in floats.iter().zip(&bytes) {
                assert_eq!(*float, f32::from(*byte) * (1.0 / 255.0));
            }
        }
    }

    #[test]
    fn every_half_survives_the_way_to_float_and_back() {
        let halves: Vec<u16> = (0..=u16::MAX).collect();
        for kernels in Kernels::available() {
            let mut floats = vec![0.0; halves.len()];
            let mut back = vec![0; halves.len()];
            kernels.from_half(&halves, &mut floats);
            kernels.to_half(&floats, &mut back);
            for ((half, float), back) in halves.iter().zip(&floats).zip(&back) {
                let exponent = (half >> 10) & 31;
                let fraction = f64::from(half & 0x3FF);
                let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
                match exponent {
                    31 if fraction != 0.0 => {
                        assert!(float.is_nan());
                        // Signalling ones become quiet.
                        assert_eq!(*back, half | 0x0200);
                        continue;
                    }
                    31 => assert_eq!(*float, sign as f32 * f32::INFINITY),
                    0 => assert_eq!(f64::from(*float), sign * fraction * 2f64.powi(-24)),
                    _ => assert_eq!(
                        f64::from(*float),
                        sign * (1.0 + fraction / 1024.0) * 2f64.powi(i32::from(exponent) - 15)
                    ),
                }
                assert_eq!(back, half);
            }
        }
    }

    #[test]
    fn rounding_to_half_is_to_nearest_with_ties_to_even_on_every_path() {
        let mut inputs: Vec<f32> = Vec::new();
        for half in 0..0x7C00u16 {
            let (low, high) = (from_half(half), from_half(half + 1));
            if high.is_finite() {
                let middle = (low + high) / 2.0;
                inputs.extend([middle.next_down(), middle, middle.next_up(), -middle]);
            }
        }
        inputs.extend([
            65519.9,
            65520.0,
            1e30,
            -1e30,
            1e-30,
            f32::MIN_POSITIVE,
            -0.0,
        ]);
        for kernels in Kernels::available() {
            let mut halves = vec![0; inputs.len()];
            kernels.to_half(&inputs, &mut halves);
            for (input, half) in inputs.iter().zip(&halves) {
                let got = from_half(*half);
                if input.abs() >= 65520.0 {
                    assert_eq!(got, input.signum() * f32::INFINITY);
                    continue;
                }
                let own = (f64::from(got) - f64::from(*input)).abs();
                let magnitude = half & 0x7FFF;
                for other in [magnitude.saturating_sub(1), magnitude + 1] {
                    let other_value = f64::from(from_half(other).min(65536.0));
                    let distance = (other_value - f64::from(input.abs())).abs();
                    assert!(
                        own < distance
                            || (own == distance && (half & 1 == 0 || other == magnitude)),
                        "{input} became {got}"
                    );
                }
            }
        }
    }
}
