//! Random draws from a seed, one independent stream per part of the work.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of random draws. The algorithms that turn bits into draws are here
/// rather than in a library, so that a seed keeps its meaning.
pub(crate) struct Draws(ChaCha8Rng);

impl Draws {
    /// The stream of that number under that seed; streams do not overlap.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Self(generator)
    }

    /// A whole number below `bound`, each equally likely; zero if `bound` is zero.
    ///
    /// Lemire, "Fast random integer generation in an interval" (2019), without
    /// the rejection step: the bias is at most `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.0.next_u64()) * bound as u128;
        (wide >> 64) as usize
    }

    /// A number in `[0, 1)` with 53 random bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Any 64 bits: the seed of a smaller part of the work.
    pub(crate) fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Moves a random choice of `count` items, in random order, to the front.
    pub(crate) fn choose_front<T>(&mut self, items: &mut [T], count: usize) {
        for front in 0..count.min(items.len()) {
            let chosen = front + self.below(items.len() - front);
            items.swap(front, chosen);
        }
    }

    /// Brings the items into random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.choose_front(items, items.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_below_a_bound_are_spread_evenly() {
        let mut draws = Draws::new(1, 0);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[draws.below(10)] += 1;
        }
        // Ten standard deviations of a binomial count.
        assert!(
            counts.iter().all(|&c| c.abs_diff(10_000) < 950),
            "{counts:?}"
        );
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_streams_differ() {
        let shuffled = |stream| {
            let mut items: Vec<u32> = (0..100).collect();
            Draws::new(9, stream).shuffle(&mut items);
            items
        };
        let mut sorted = shuffled(0);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_ne!(shuffled(0), shuffled(1));
        assert_eq!(shuffled(3), shuffled(3));
    }
}
