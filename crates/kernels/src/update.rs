//! Optimisers' updates: one pass over parameters, state and gradients.
//!
//! Every slice may be the same part of its flat buffer, so that each thread
//! updates a part of its own.

use crate::Kernels;
use crate::kernels::dispatch;
use crate::reduce::check_shards;
use crate::simd::Simd;

/// The gradient that an update uses: `shrink · Σ shards + decay · parameter`.
///
/// The shards are added in the order given, so that a result depends on their
/// number but not on which thread was first.
#[derive(Clone, Copy, Debug)]
pub struct Slope<'a> {
    /// The gradients of the parts of a batch.
    pub shards: &'a [&'a [f32]],
    /// What clipping multiplies the gradient with; 1 without.
    pub shrink: f32,
    /// The weight decay; 0 without.
    pub decay: f32,
}

/// The constants of a step of Adam.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// The learning rate with the correction of the first moment:
    /// `η / (1 - β₁ᵗ)`.
    pub rate: f32,
    /// The correction of the second moment's root: `√(1 - β₂ᵗ)`.
    pub root: f32,
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Keeps the denominator from zero.
    pub epsilon: f32,
}

/// Defines an update as a method: what it checks, and which loop it calls. The
/// arguments are the parameters, a slice of state for each name before the
/// semicolon, the slope and the constants.
macro_rules! update {
    (
        $(#[$doc:meta])*
        $method:ident => $function:ident($($state:ident),*; $($constant:ident: $type:ty),*)
    ) => {
        $(#[$doc])*
        ///
        /// # Panics
        ///
        /// If the lengths differ or there is no shard.
        pub fn $method(
            self,
            parameters: &mut [f32],
            $($state: &mut [f32],)*
            slope: Slope<'_>,
            $($constant: $type),*
        ) {
            check_shards(parameters.len(), slope.shards);
            $(assert_eq!(parameters.len(), $state.len(), "state for each parameter");)*
            dispatch!(self => $function(
                parameters: &mut [f32],
                $($state: &mut [f32],)*
                slope: Slope<'_>,
                $($constant: $type),*
            ));
        }
    };
}

impl Kernels {
    update! {
        /// `w ← w - rate · g`.
        update_sgd => sgd(; rate: f32)
    }
    update! {
        /// `v ← beta · v + g; w ← w - rate · v` (Polyak 1964, in the form of
        /// PyTorch and TensorFlow).
        update_momentum => momentum(velocity; rate: f32, beta: f32)
    }
    update! {
        /// `v ← beta · v + g; w ← w - rate · (g + beta · v)` (Nesterov 1983, in
        /// the form of Sutskever et al. 2013).
        update_nesterov => nesterov(velocity; rate: f32, beta: f32)
    }
    update! {
        /// `s ← s + g²; w ← w - rate · g / (√s + epsilon)` (Duchi, Hazan and
        /// Singer 2011).
        update_adagrad => adagrad(squares; rate: f32, epsilon: f32)
    }
    update! {
        /// `m ← β₁ m + (1 - β₁) g; v ← β₂ v + (1 - β₂) g²;
        /// w ← w - rate · m / (√v / root + epsilon)` (Kingma and Ba 2015,
        /// algorithm 1).
        update_adam => adam(first, second; step: AdamStep)
    }
}

/// Values that are summed over the shards at a time: they stay in the
/// first-level cache until they are used.
const BLOCK: usize = 512;

/// Calls `$body` for each block of parameters with the gradient of the block.
/// A macro rather than a function with a closure, which would not be compiled
/// with its caller's instructions.
macro_rules! each_block {
    ($parameters:ident, $slope:ident, |$range:ident, $block:ident, $gradient:ident| $body:block) => {{
        let mut sum = [0.0f32; BLOCK];
        let mut from = 0;
        while from < $parameters.len() {
            let $range = from..(from + BLOCK).min($parameters.len());
            let $block = &mut $parameters[$range.clone()];
            let $gradient = &mut sum[..$block.len()];
            match $slope.shards {
                [] => {}
                [only] => {
                    for ((sum, shard), parameter) in $gradient
                        .iter_mut()
                        .zip(&only[$range.clone()])
                        .zip($block.iter())
                    {
                        *sum = $slope.shrink * shard + $slope.decay * parameter;
                    }
                }
                [first, second, rest @ ..] => {
                    for ((sum, first), second) in $gradient
                        .iter_mut()
                        .zip(&first[$range.clone()])
                        .zip(&second[$range.clone()])
                    {
                        *sum = first + second;
                    }
                    for shard in rest {
                        for (sum, shard) in $gradient.iter_mut().zip(&shard[$range.clone()]) {
                            *sum += shard;
                        }
                    }
                    for (sum, parameter) in $gradient.iter_mut().zip($block.iter()) {
                        *sum = $slope.shrink * *sum + $slope.decay * parameter;
                    }
                }
            }
            from = $range.end;
            $body
        }
    }};
}

#[inline(always)]
fn sgd<S: Simd>(_: S, parameters: &mut [f32], slope: Slope<'_>, rate: f32) {
    each_block!(parameters, slope, |range, block, gradient| {
        for (weight, slope) in block.iter_mut().zip(gradient.iter()) {
            *weight -= rate * slope;
        }
    });
}

#[inline(always)]
fn momentum<S: Simd>(
    _: S,
    parameters: &mut [f32],
    velocity: &mut [f32],
    slope: Slope<'_>,
    rate: f32,
    beta: f32,
) {
    each_block!(parameters, slope, |range, block, gradient| {
        let state = block.iter_mut().zip(&mut velocity[range]);
        for ((weight, velocity), slope) in state.zip(gradient.iter()) {
            *velocity = beta * *velocity + slope;
            *weight -= rate * *velocity;
        }
    });
}

#[inline(always)]
fn nesterov<S: Simd>(
    _: S,
    parameters: &mut [f32],
    velocity: &mut [f32],
    slope: Slope<'_>,
    rate: f32,
    beta: f32,
) {
    each_block!(parameters, slope, |range, block, gradient| {
        let state = block.iter_mut().zip(&mut velocity[range]);
        for ((weight, velocity), slope) in state.zip(gradient.iter()) {
            *velocity = beta * *velocity + slope;
            *weight -= rate * (slope + beta * *velocity);
        }
    });
}

#[inline(always)]
fn adagrad<S: Simd>(
    _: S,
    parameters: &mut [f32],
    squares: &mut [f32],
    slope: Slope<'_>,
    rate: f32,
    epsilon: f32,
) {
    each_block!(parameters, slope, |range, block, gradient| {
        let state = block.iter_mut().zip(&mut squares[range]);
        for ((weight, square), slope) in state.zip(gradient.iter()) {
            *square += slope * slope;
            *weight -= rate * slope / (square.sqrt() + epsilon);
        }
    });
}

#[inline(always)]
fn adam<S: Simd>(
    _: S,
    parameters: &mut [f32],
    first: &mut [f32],
    second: &mut [f32],
    slope: Slope<'_>,
    step: AdamStep,
) {
    let AdamStep {
        rate,
        root,
        beta1,
        beta2,
        epsilon,
    } = step;
    let inverse = 1.0 / root;
    each_block!(parameters, slope, |range, block, gradient| {
        let state = block
            .iter_mut()
            .zip(&mut first[range.clone()])
            .zip(&mut second[range]);
        for (((weight, first), second), slope) in state.zip(gradient.iter()) {
            *first = beta1 * *first + (1.0 - beta1) * slope;
            *second = beta2 * *second + (1.0 - beta2) * (slope * slope);
            *weight -= rate * *first / (second.sqrt() * inverse + epsilon);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Numbers;

    const SHRINK: f32 = 0.5;
    const DECAY: f32 = 0.01;
    const RATE: f32 = 0.1;

    /// Three steps of `update` against three of `reference` in float64, for
    /// each instruction set, several lengths and numbers of shards. Both see
    /// parameters and two moments.
    fn check(
        update: impl Fn(Kernels, &mut [f32], &mut [f32], &mut [f32], Slope<'_>),
        reference: impl Fn(f64, &mut f64, &mut f64, &mut f64),
    ) {
        let mut numbers = Numbers::new(8);
        for kernels in Kernels::available() {
            for len in [0, 1, 17, 511, 512, 513, 1400] {
                for shards in 1..5 {
                    let mut parameters = numbers.vector(len);
                    let (mut first, mut second) = (vec![0.0; len], vec![0.0; len]);
                    let mut exact: Vec<[f64; 3]> = parameters
                        .iter()
                        .map(|w| [f64::from(*w), 0.0, 0.0])
                        .collect();
                    for _ in 0..3 {
                        let gradients: Vec<Vec<f32>> =
                            (0..shards).map(|_| numbers.vector(len)).collect();
                        let views: Vec<&[f32]> = gradients.iter().map(Vec::as_slice).collect();
                        let slope = Slope {
                            shards: &views,
                            shrink: SHRINK,
                            decay: DECAY,
                        };
                        update(kernels, &mut parameters, &mut first, &mut second, slope);
                        for (i, [weight, first, second]) in exact.iter_mut().enumerate() {
                            let sum: f64 = gradients.iter().map(|g| f64::from(g[i])).sum();
                            let slope = f64::from(SHRINK) * sum + f64::from(DECAY) * *weight;
                            reference(slope, weight, first, second);
                        }
                    }
                    for (got, want) in parameters.iter().zip(&exact) {
                        assert!((f64::from(*got) - want[0]).abs() < 1e-5, "{got} {want:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn plain_descent_agrees_with_float64() {
        check(
            |kernels, w, _, _, slope| kernels.update_sgd(w, slope, RATE),
            |g, w, _, _| *w -= f64::from(RATE) * g,
        );
    }

    #[test]
    fn momentum_agrees_with_float64() {
        check(
            |kernels, w, v, _, slope| kernels.update_momentum(w, v, slope, RATE, 0.9),
            |g, w, v, _| {
                *v = 0.9 * *v + g;
                *w -= f64::from(RATE) * *v;
            },
        );
    }

    #[test]
    fn nesterov_agrees_with_float64() {
        check(
            |kernels, w, v, _, slope| kernels.update_nesterov(w, v, slope, RATE, 0.9),
            |g, w, v, _| {
                *v = 0.9 * *v + g;
                *w -= f64::from(RATE) * (g + 0.9 * *v);
            },
        );
    }

    #[test]
    fn adagrad_agrees_with_float64() {
        check(
            |kernels, w, s, _, slope| kernels.update_adagrad(w, s, slope, RATE, 1e-3),
            |g, w, s, _| {
                *s += g * g;
                *w -= f64::from(RATE) * g / (s.sqrt() + 1e-3);
            },
        );
    }

    #[test]
    fn adam_agrees_with_float64() {
        let step = AdamStep {
            rate: RATE,
            root: 0.5,
            beta1: 0.9,
            beta2: 0.99,
            epsilon: 1e-3,
        };
        check(
            |kernels, w, m, v, slope| kernels.update_adam(w, m, v, slope, step),
            |g, w, m, v| {
                *m = 0.9 * *m + 0.1 * g;
                *v = 0.99 * *v + 0.01 * g * g;
                *w -= f64::from(RATE) * *m / (2.0 * v.sqrt() + 1e-3);
            },
        );
    }

    #[test]
    fn two_halves_updated_apart_are_the_whole() {
        let mut numbers = Numbers::new(9);
        let (a, b, start) = (
            numbers.vector(1000),
            numbers.vector(1000),
            numbers.vector(1000),
        );
        for kernels in Kernels::available() {
            let mut whole = start.clone();
            let mut halves = start.clone();
            fn slope<'a>(shards: &'a [&'a [f32]]) -> Slope<'a> {
                Slope {
                    shards,
                    shrink: 1.0,
                    decay: DECAY,
                }
            }
            kernels.update_sgd(&mut whole, slope(&[&a, &b]), RATE);
            for range in [0..333, 333..1000] {
                let shards: [&[f32]; 2] = [&a[range.clone()], &b[range.clone()]];
                kernels.update_sgd(&mut halves[range], slope(&shards), RATE);
            }
            assert_eq!(whole, halves);
        }
    }
}
