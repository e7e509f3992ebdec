//! Exponential, logistic and hyperbolic tangent, and the layers' gates.

#![expect(unsafe_code, reason = "vectors over raw pointers, within a slice")]

use crate::Kernels;
use crate::kernels::dispatch;
use crate::simd::Simd;

impl Kernels {
    /// Replaces each value by its exponential, within 2 units in the last
    /// place. Below -87 and above 88 the result is that of the bound.
    pub fn exp(self, values: &mut [f32]) {
        dispatch!(self => exp_all(values: &mut [f32]));
    }

    /// Replaces each value `x` by `1 / (1 + exp(-x))`, within 3 units in the
    /// last place from -87 on; smaller values give that of -87.
    pub fn sigmoid(self, values: &mut [f32]) {
        dispatch!(self => sigmoid_all(values: &mut [f32]));
    }

    /// Replaces each value by its hyperbolic tangent, within 3 units in the
    /// last place.
    pub fn tanh(self, values: &mut [f32]) {
        dispatch!(self => tanh_all(values: &mut [f32]));
    }

    /// Replaces negative values by zero.
    pub fn relu(self, values: &mut [f32]) {
        dispatch!(self => relu_all(values: &mut [f32]));
    }

    /// The way back through a ReLU: clears `gradient` where `output` is not
    /// positive.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn relu_backward(self, output: &[f32], gradient: &mut [f32]) {
        assert_eq!(output.len(), gradient.len(), "a gradient for every output");
        dispatch!(self => relu_back(output: &[f32], gradient: &mut [f32]));
    }

    /// The way back through a hyperbolic tangent: multiplies `gradient` by
    /// `1 - output²`.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn tanh_backward(self, output: &[f32], gradient: &mut [f32]) {
        assert_eq!(output.len(), gradient.len(), "a gradient for every output");
        dispatch!(self => tanh_back(output: &[f32], gradient: &mut [f32]));
    }

    /// The way back through a logistic function: multiplies `gradient` by
    /// `output · (1 - output)`.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn sigmoid_backward(self, output: &[f32], gradient: &mut [f32]) {
        assert_eq!(output.len(), gradient.len(), "a gradient for every output");
        dispatch!(self => sigmoid_back(output: &[f32], gradient: &mut [f32]));
    }
}

/// `exp(x)`: `x = n·ln 2 + f` with `|f| ≤ ln 2 / 2`, and the polynomial of
/// Cephes' `expf` (Moshier, 1992) for `exp(f)`.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::V) -> S::V {
    // Operands in this order let what is not a number through.
    let x = simd.min(simd.splat(88.0), x);
    let x = simd.max(simd.splat(-87.0), x);
    // Adding 1.5 · 2^23 pushes the fraction out, rounding to nearest.
    let whole = simd.splat(12_582_912.0);
    let n = simd.sub(
        simd.mul_add(x, simd.splat(std::f32::consts::LOG2_E), whole),
        whole,
    );
    // ln 2 in two parts; the first has few enough bits for an exact product.
    let f = simd.mul_add(n, simd.splat(-0.693_359_4), x);
    let f = simd.mul_add(n, simd.splat(2.121_944_4e-4), f);
    let mut p = simd.splat(1.987_569_1e-4);
    for coefficient in [
        1.398_199_9e-3,
        8.333_452e-3,
        4.166_579_6e-2,
        0.166_666_65,
        0.5,
    ] {
        p = simd.mul_add(p, f, simd.splat(coefficient));
    }
    let p = simd.mul_add(simd.mul(p, f), f, f);
    simd.scale_by_power(simd.add(p, simd.splat(1.0)), n)
}

/// `1 / (1 + exp(-x))`.
#[inline(always)]
pub(crate) fn sigmoid<S: Simd>(simd: S, x: S::V) -> S::V {
    let one = simd.splat(1.0);
    simd.div(one, simd.add(one, exp(simd, simd.sub(simd.splat(0.0), x))))
}

/// `tanh(x)`: Cephes' `tanhf` polynomial up to 0.625, from where on
/// `1 - 2 / (exp(2|x|) + 1)` loses no digits.
#[inline(always)]
pub(crate) fn tanh<S: Simd>(simd: S, x: S::V) -> S::V {
    let (zero, one, two) = (simd.splat(0.0), simd.splat(1.0), simd.splat(2.0));
    let square = simd.mul(x, x);
    let mut p = simd.splat(-5.704_988_7e-3);
    for coefficient in [2.063_909e-2, -5.373_971_5e-2, 0.133_314_42, -0.333_332_8] {
        p = simd.mul_add(p, square, simd.splat(coefficient));
    }
    let small = simd.mul_add(simd.mul(p, square), x, x);
    let magnitude = simd.max(simd.sub(zero, x), x);
    let power = exp(simd, simd.mul(two, magnitude));
    let large = simd.sub(one, simd.div(two, simd.add(power, one)));
    let large = simd.select_greater(zero, x, simd.sub(zero, large), large);
    simd.select_greater(magnitude, simd.splat(0.625), large, small)
}

/// Applies one of the functions above to every value.
macro_rules! map {
    ($name:ident, $function:ident) => {
        #[inline(always)]
        fn $name<S: Simd>(simd: S, values: &mut [f32]) {
            let (chunks, tail) = values.split_at_mut(values.len() / S::LANES * S::LANES);
            // SAFETY: every chunk has `LANES` values, the tail fewer.
            unsafe {
                for chunk in chunks.chunks_exact_mut(S::LANES) {
                    let at = chunk.as_mut_ptr();
                    simd.store(at, $function(simd, simd.load(at)));
                }
                let (at, count) = (tail.as_mut_ptr(), tail.len());
                simd.store_first(at, count, $function(simd, simd.load_first(at, count)));
            }
        }
    };
}

map!(exp_all, exp);
map!(sigmoid_all, sigmoid);
map!(tanh_all, tanh);

#[inline(always)]
fn relu_all<S: Simd>(_: S, values: &mut [f32]) {
    for value in values {
        *value = if *value < 0.0 { 0.0 } else { *value };
    }
}

#[inline(always)]
fn relu_back<S: Simd>(_: S, output: &[f32], gradient: &mut [f32]) {
    for (gradient, output) in gradient.iter_mut().zip(output) {
        *gradient = if *output > 0.0 { *gradient } else { 0.0 };
    }
}

#[inline(always)]
fn tanh_back<S: Simd>(_: S, output: &[f32], gradient: &mut [f32]) {
    for (gradient, output) in gradient.iter_mut().zip(output) {
        *gradient *= 1.0 - output * output;
    }
}

#[inline(always)]
fn sigmoid_back<S: Simd>(_: S, output: &[f32], gradient: &mut [f32]) {
    for (gradient, output) in gradient.iter_mut().zip(output) {
        *gradient *= output * (1.0 - output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest error over `from..=to`, in units in the last place of the
    /// exact value.
    fn worst(
        kernels: Kernels,
        range: std::ops::RangeInclusive<f32>,
        function: impl Fn(Kernels, &mut [f32]),
        exact: impl Fn(f64) -> f64,
    ) -> f64 {
        const POINTS: usize = 200_003;
        let (from, to) = (*range.start(), *range.end());
        let inputs: Vec<f32> = (0..POINTS)
            .map(|i| from + (to - from) * (i as f32 / (POINTS - 1) as f32))
            .chain((0..1000).map(|i| 1e-20f32 * (i as f32 * 0.05).exp()))
            .filter(|x| range.contains(x))
            .collect();
        let mut outputs = inputs.clone();
        function(kernels, &mut outputs);
        inputs
            .iter()
            .zip(&outputs)
            .map(|(x, y)| {
                let want = exact(f64::from(*x));
                let unit =
                    f64::from((want as f32).abs().next_up()) - f64::from((want as f32).abs());
                (f64::from(*y) - want).abs() / unit
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn each_function_keeps_its_stated_error() {
        for kernels in Kernels::available() {
            let exp = worst(kernels, -87.0..=88.0, Kernels::exp, f64::exp);
            let sigmoid = worst(kernels, -87.0..=88.0, Kernels::sigmoid, |x| {
                1.0 / (1.0 + (-x).exp())
            });
            let tanh = worst(kernels, -20.0..=20.0, Kernels::tanh, f64::tanh);
            println!(
                "{:?}: exp {exp:.2}, sigmoid {sigmoid:.2}, tanh {tanh:.2}",
                kernels.isa()
            );
            assert!(exp <= 2.0 && sigmoid <= 3.0 && tanh <= 3.0);
        }
    }

    #[test]
    fn beyond_the_stated_range_the_functions_saturate_and_nan_stays() {
        for kernels in Kernels::available() {
            let mut values = [-1e30, 1e30, f32::NAN, f32::NEG_INFINITY, f32::INFINITY];
            kernels.tanh(&mut values);
            assert_eq!(values[..2], [-1.0, 1.0]);
            assert_eq!(values[3..], [-1.0, 1.0]);
            assert!(values[2].is_nan());
            let mut values = [-1e30, 1e30, f32::NAN];
            kernels.sigmoid(&mut values);
            assert!(values[0] < 1e-37 && values[1] == 1.0 && values[2].is_nan());
            let mut values = [-1e30, 1e30, f32::NAN];
            kernels.exp(&mut values);
            assert!(values[0] < 1e-37 && values[1] > 1e38 && values[2].is_nan());
        }
    }

    #[test]
    fn derivatives_multiply_the_gradient() {
        for kernels in Kernels::available() {
            let output: Vec<f32> = (0..19).map(|i| (i as f32 - 9.0) / 10.0).collect();
            let check = |backward: &dyn Fn(&[f32], &mut [f32]), slope: &dyn Fn(f32) -> f32| {
                let mut gradient = vec![2.0; 19];
                backward(&output, &mut gradient);
                for (gradient, output) in gradient.iter().zip(&output) {
                    assert_eq!(*gradient, 2.0 * slope(*output));
                }
            };
            check(&|o, g| kernels.relu_backward(o, g), &|y| f32::from(y > 0.0));
            check(&|o, g| kernels.tanh_backward(o, g), &|y| 1.0 - y * y);
            check(&|o, g| kernels.sigmoid_backward(o, g), &|y| y * (1.0 - y));
            let mut values = output.clone();
            kernels.relu(&mut values);
            assert!(
                values
                    .iter()
                    .zip(&output)
                    .all(|(relu, x)| *relu == x.max(0.0))
            );
        }
    }
}
