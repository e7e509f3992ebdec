use crate::Kernels;
use crate::kernels::dispatch;
use crate::simd::Simd;
use crate::sparse::prefetch;

/// Vectors that one round of the loop takes: enough independent sums to hide
/// the latency of a fused multiply-add.
const UNROLL: usize = 4;

impl Kernels {
    /// Sets `weights` to `keep · weights + factor · previous` and returns the
    /// dot product of the new weights with `next`.
    ///
    /// Stochastic descent with a batch of one row needs both for every row.
    /// Taken together, a step streams its row from memory once, while the
    /// weights and the row before it are still in the cache. `upcoming`, the
    /// row after `next`, is fetched meanwhile; it may be empty.
    ///
    /// # Panics
    ///
    /// If `weights`, `previous` and `next` differ in length.
    pub fn update_then_dot(
        self,
        weights: &mut [f32],
        (keep, factor): (f32, f32),
        previous: &[f32],
        next: &[f32],
        upcoming: &[f32],
    ) -> f32 {
        assert_eq!(weights.len(), previous.len(), "one weight for each value");
        assert_eq!(weights.len(), next.len(), "one weight for each value");
        dispatch!(self => update_then_dot(
            weights: &mut [f32],
            keep: f32,
            factor: f32,
            previous: &[f32],
            next: &[f32],
            upcoming: &[f32],
        ) -> f32)
    }
}

/// All three slices are of one length.
#[inline(always)]
fn update_then_dot<S: Simd>(
    simd: S,
    weights: &mut [f32],
    keep: f32,
    factor: f32,
    previous: &[f32],
    next: &[f32],
    upcoming: &[f32],
) -> f32 {
    let len = weights.len();
    let (kept, added) = (simd.splat(keep), simd.splat(factor));
    let mut sums = [simd.splat(0.0); UNROLL];
    let mut upcoming = upcoming.chunks(UNROLL * S::LANES);
    let weights = weights.as_mut_ptr();
    let (previous, next) = (previous.as_ptr(), next.as_ptr());
    let mut at = 0;
    // SAFETY: `at + count <= len` wherever `count` values are read or written
    // from `at`, and all three slices hold `len` values.
    #[expect(unsafe_code, reason = "vectors are loaded and stored by address")]
    unsafe {
        while at + UNROLL * S::LANES <= len {
            if let Some(part) = upcoming.next() {
                prefetch(part);
            }
            for (vector, sum) in sums.iter_mut().enumerate() {
                let from = at + vector * S::LANES;
                let old = simd.mul(kept, simd.load(weights.add(from)));
                let new = simd.mul_add(added, simd.load(previous.add(from)), old);
                simd.store(weights.add(from), new);
                *sum = simd.mul_add(new, simd.load(next.add(from)), *sum);
            }
            at += UNROLL * S::LANES;
        }
        while at + S::LANES <= len {
            let old = simd.mul(kept, simd.load(weights.add(at)));
            let new = simd.mul_add(added, simd.load(previous.add(at)), old);
            simd.store(weights.add(at), new);
            sums[0] = simd.mul_add(new, simd.load(next.add(at)), sums[0]);
            at += S::LANES;
        }
        let rest = len - at;
        if rest > 0 {
            let old = simd.mul(kept, simd.load_first(weights.add(at), rest));
            let new = simd.mul_add(added, simd.load_first(previous.add(at), rest), old);
            simd.store_first(weights.add(at), rest, new);
            sums[1] = simd.mul_add(new, simd.load_first(next.add(at), rest), sums[1]);
        }
    }
    simd.sum(simd.add(simd.add(sums[0], sums[1]), simd.add(sums[2], sums[3])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(len: usize, frequency: f32) -> Vec<f32> {
        (0..len)
            .map(|index| (index as f32 * frequency).sin())
            .collect()
    }

    #[test]
    fn every_path_updates_and_multiplies_as_float64_does() {
        for kernels in Kernels::available() {
            for len in [0, 1, 15, 16, 63, 64, 65, 200, 1000] {
                let (start, previous, next) = (wave(len, 0.7), wave(len, 1.3), wave(len, 0.11));
                let mut weights = start.clone();
                let dot =
                    kernels.update_then_dot(&mut weights, (0.9, -0.3), &previous, &next, &previous);
                let mut expected = 0.0;
                for index in 0..len {
                    let weight = 0.9 * f64::from(start[index]) - 0.3 * f64::from(previous[index]);
                    assert!((weight - f64::from(weights[index])).abs() < 3e-7);
                    expected += weight * f64::from(next[index]);
                }
                assert!(
                    (expected - f64::from(dot)).abs() < 1e-7 * (10.0 + len as f64),
                    "{} {len}: {dot} {expected}",
                    kernels.isa().name()
                );
            }
        }
    }

    #[test]
    fn keeping_all_and_adding_nothing_leaves_the_weights() {
        for kernels in Kernels::available() {
            let start = wave(130, 0.7);
            let mut weights = start.clone();
            kernels.update_then_dot(&mut weights, (1.0, 0.0), &start, &start, &[]);
            assert_eq!(weights, start);
        }
    }
}
