//! Softmax and cross-entropy in one pass over the logits.

#![expect(unsafe_code, reason = "vectors over raw pointers, within a slice")]

use crate::Kernels;
use crate::activation::exp;
use crate::kernels::dispatch;
use crate::simd::Simd;

/// What [`Kernels::softmax_cross_entropy`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossEntropy {
    /// The sum over the rows of `-ln p(label)`.
    pub loss: f64,
    /// How many rows have their largest logit at their label; among equals the
    /// first counts.
    pub hits: u64,
}

impl Kernels {
    /// Replaces each row's logits by `scale` times the gradient of the row's
    /// cross-entropy, `scale · (softmax(logits) - one_hot(label))`, and its
    /// padding by zeros. Losses are summed in float64.
    ///
    /// Logits that are not numbers give a loss that is none.
    ///
    /// # Panics
    ///
    /// If the rows are fewer than the labels, `classes` is zero or more than
    /// `stride`, or a label is not below `classes`.
    pub fn softmax_cross_entropy(
        self,
        logits: &mut [f32],
        stride: usize,
        classes: usize,
        labels: &[u32],
        scale: f32,
    ) -> CrossEntropy {
        check(logits, stride, classes, labels);
        dispatch!(self => cross_entropy(
            logits: &mut [f32],
            stride: usize,
            classes: usize,
            labels: &[u32],
            scale: f32,
        ) -> CrossEntropy)
    }

    /// Loss and hits of rows of logits, which become numbers without meaning.
    ///
    /// # Panics
    ///
    /// As [`Kernels::softmax_cross_entropy`].
    pub fn cross_entropy(
        self,
        logits: &mut [f32],
        stride: usize,
        classes: usize,
        labels: &[u32],
    ) -> CrossEntropy {
        self.softmax_cross_entropy(logits, stride, classes, labels, 1.0)
    }
}

fn check(logits: &[f32], stride: usize, classes: usize, labels: &[u32]) {
    assert!(classes > 0 && classes <= stride, "a row holds its classes");
    assert!(
        labels.len() * stride <= logits.len(),
        "a row of logits for every label"
    );
    assert!(
        labels.iter().all(|label| (*label as usize) < classes),
        "a label is one of the classes"
    );
}

#[inline(always)]
fn cross_entropy<S: Simd>(
    simd: S,
    logits: &mut [f32],
    stride: usize,
    classes: usize,
    labels: &[u32],
    scale: f32,
) -> CrossEntropy {
    let mut found = CrossEntropy::default();
    for (row, label) in logits.chunks_exact_mut(stride).zip(labels) {
        let (live, padding) = row.split_at_mut(classes);
        let label = *label as usize;
        let wanted = live[label];
        let largest = largest(simd, live);
        let total = exponentials(simd, live, largest);
        found.loss += f64::from(total.ln() + (largest - wanted));
        // Equal logits have equal exponentials, so the first largest is the
        // first 1.
        let hit = wanted == largest && !live[..label].contains(&1.0);
        found.hits += u64::from(hit);
        let factor = scale / total;
        for value in live.iter_mut() {
            *value *= factor;
        }
        live[label] -= scale;
        padding.fill(0.0);
    }
    found
}

#[inline(always)]
fn largest<S: Simd>(simd: S, values: &[f32]) -> f32 {
    let whole = values.len() / S::LANES * S::LANES;
    let mut largest = simd.splat(f32::NEG_INFINITY);
    // SAFETY: the vectors lie within `whole` values.
    unsafe {
        for at in (0..whole).step_by(S::LANES) {
            largest = simd.max(simd.load(values.as_ptr().add(at)), largest);
        }
    }
    let mut result = simd.largest(largest);
    for value in &values[whole..] {
        result = result.max(*value);
    }
    result
}

/// Replaces the values by `exp(value - largest)` and returns their sum.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, values: &mut [f32], largest: f32) -> f32 {
    let whole = values.len() / S::LANES * S::LANES;
    let shift = simd.splat(largest);
    let mut total = simd.splat(0.0);
    let at = values.as_mut_ptr();
    // SAFETY: the vectors lie within `whole` values, the tail behind them.
    unsafe {
        for from in (0..whole).step_by(S::LANES) {
            let power = exp(simd, simd.sub(simd.load(at.add(from)), shift));
            simd.store(at.add(from), power);
            total = simd.add(total, power);
        }
        let left = values.len() - whole;
        if left > 0 {
            let power = exp(simd, simd.sub(simd.load_first(at.add(whole), left), shift));
            simd.store_first(at.add(whole), left, power);
            // Read back: the lanes behind the values are zero then.
            total = simd.add(total, simd.load_first(at.add(whole), left));
        }
    }
    simd.sum(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Numbers;

    fn check(kernels: Kernels, numbers: &mut Numbers, rows: usize, classes: usize, stride: usize) {
        let logits: Vec<f32> = numbers
            .vector(rows * stride)
            .iter()
            .map(|x| 20.0 * x)
            .collect();
        let labels: Vec<u32> = (0..rows)
            .map(|_| (numbers.bits() % classes as u64) as u32)
            .collect();
        let mut gradient = logits.clone();
        let found = kernels.softmax_cross_entropy(&mut gradient, stride, classes, &labels, 0.25);
        let (mut loss, mut hits) = (0.0, 0);
        for (row, label) in labels.iter().enumerate() {
            let live: Vec<f64> = logits[row * stride..][..classes]
                .iter()
                .map(|x| f64::from(*x))
                .collect();
            let largest = live.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = live.iter().map(|x| (x - largest).exp()).sum();
            loss += total.ln() + largest - live[*label as usize];
            hits += u64::from(live.iter().position(|x| *x == largest) == Some(*label as usize));
            for column in 0..stride {
                let want = if column < classes {
                    let share = (live[column] - largest).exp() / total;
                    0.25 * (share - f64::from(u8::from(column == *label as usize)))
                } else {
                    0.0
                };
                assert!((f64::from(gradient[row * stride + column]) - want).abs() < 1e-6);
            }
        }
        assert_eq!(found.hits, hits);
        assert!((found.loss - loss).abs() <= 1e-6 * (1.0 + loss));
    }

    #[test]
    fn loss_hits_and_gradient_agree_with_float64_for_any_number_of_classes() {
        let mut numbers = Numbers::new(7);
        for kernels in Kernels::available() {
            for classes in [1, 2, 3, 7, 10, 16, 17, 40, 1000] {
                for padding in [0, 1, 6] {
                    check(kernels, &mut numbers, 9, classes, classes + padding);
                }
            }
        }
    }

    #[test]
    fn of_equal_logits_the_first_is_the_answer() {
        for kernels in Kernels::available() {
            let mut logits = vec![3.0; 32];
            let found = kernels.softmax_cross_entropy(&mut logits, 16, 10, &[0, 1], 1.0);
            assert_eq!(found.hits, 1);
            assert!((found.loss - 2.0 * 10f64.ln()).abs() < 1e-6);
        }
    }

    #[test]
    fn a_logit_that_is_no_number_makes_the_loss_none() {
        for kernels in Kernels::available() {
            for at in [0, 3, 9] {
                let mut logits = vec![1.0; 16];
                logits[at] = f32::NAN;
                let found = kernels.softmax_cross_entropy(&mut logits, 16, 10, &[5], 1.0);
                assert!(found.loss.is_nan(), "{:?} {at}", kernels.isa());
            }
        }
    }
}
