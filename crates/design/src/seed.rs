//! Reproducible chance.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of random numbers that a seed determines for ever.
///
/// ChaCha8 is specified and the draws below are written out, so no release of
/// a library can change the order of a plan that was already made.
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    /// The stream number `purpose` of a seed. Streams are independent, so a
    /// longer search in one part of a plan does not change another part.
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        // The key is spelled out for the same reason: the seed, then zeros.
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(purpose as u64);
        Self(rng)
    }

    /// A whole number below `bound`, each equally likely: draws that would
    /// favour the small ones are rejected.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "a draw needs at least one outcome");
        let bound = bound as u64;
        let fair = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.0.next_u64();
            if draw < fair {
                return (draw % bound) as usize;
            }
        }
    }

    /// Fisher and Yates's shuffle, from the last place down (Durstenfeld 1964).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// What a stream of random numbers is for. The numbers are part of the meaning
/// of a seed and never change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    RunOrder = 1,
    LatinHypercube = 2,
    Optimal = 3,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_equally_likely_for_every_item() {
        let mut counts = [[0_u32; 4]; 4];
        for seed in 0..4000 {
            let mut items = [0, 1, 2, 3];
            Chance::new(seed, Purpose::RunOrder).shuffle(&mut items);
            for (place, item) in items.into_iter().enumerate() {
                counts[item][place] += 1;
            }
        }
        // Chi-squared with 9 degrees of freedom; 27.9 is its 0.999 quantile.
        let squares = counts
            .iter()
            .flatten()
            .map(|c| (f64::from(*c) - 1000.0).powi(2) / 1000.0);
        assert!(squares.sum::<f64>() < 27.9);
    }
}
