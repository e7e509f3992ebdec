//! Reproducible chance.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of random numbers that a seed determines for ever: ChaCha8 under
/// the key "seed, then zeros", with draws that are written out here, so that
/// no release of a library can change data that was already generated.
pub(crate) struct Chance(ChaCha8Rng);

/// What a stream is for. The numbers are part of the meaning of a seed and
/// never change. Streams with a running number keep it in their low bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    EpochOrder(u64),
    Holdout,
    Folds,
    Coefficients,
    TrainRows(u64),
    TestRows(u64),
}

impl Purpose {
    fn stream(self) -> u64 {
        let (family, number) = match self {
            Self::EpochOrder(epoch) => (0, epoch),
            Self::Holdout => (1, 0),
            Self::Folds => (1, 1),
            Self::Coefficients => (1, 2),
            Self::TrainRows(block) => (2, block),
            Self::TestRows(block) => (3, block),
        };
        (family << 60) | (number & ((1 << 60) - 1))
    }
}

impl Chance {
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(purpose.stream());
        Self(rng)
    }

    /// A whole number below `bound`, each equally likely, by the method of
    /// Lemire (2019), "Fast random integer generation in an interval", ACM
    /// TOMACS 29(1): the high half of a product, with the draws rejected that
    /// would favour some outcomes.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "a draw needs at least one outcome");
        let mut product = u64::from(self.0.next_u32()) * u64::from(bound);
        if (product as u32) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u32) < threshold {
                product = u64::from(self.0.next_u32()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// A number in [0, 1) with 53 random bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Fills the slice with numbers that are uniform on a grid of 2²⁴ steps in
    /// (−√3, √3): mean 0, variance 1.
    pub(crate) fn fill_uniform(&mut self, numbers: &mut [f32]) {
        let mut bytes = [0_u8; 4096];
        for chunk in numbers.chunks_mut(bytes.len() / 4) {
            let bytes = &mut bytes[..chunk.len() * 4];
            self.0.fill_bytes(bytes);
            for (number, bits) in chunk.iter_mut().zip(bytes.as_chunks::<4>().0) {
                let steps = (u32::from_le_bytes(*bits) >> 8) as i32 - (1 << 23);
                *number = (steps as f32 + 0.5) * (SQRT_3 / (1 << 23) as f32);
            }
        }
    }

    /// A standard normal number, by Marsaglia's polar method (Marsaglia and
    /// Bray 1964). The logarithm is `libm`'s, which is the same everywhere.
    pub(crate) fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                return u * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Fisher and Yates's shuffle, from the last place down (Durstenfeld 1964).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = u32::try_from(last + 1).expect("rows are numbered with 32 bits");
            items.swap(last, self.below(bound) as usize);
        }
    }
}

const SQRT_3: f32 = 1.732_050_8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_equally_likely_for_every_item() {
        let mut counts = [[0_u32; 4]; 4];
        for seed in 0..4000 {
            let mut items = [0, 1, 2, 3];
            Chance::new(seed, Purpose::EpochOrder(1)).shuffle(&mut items);
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

    #[test]
    fn uniform_and_normal_numbers_have_mean_zero_and_variance_one() {
        let mut chance = Chance::new(7, Purpose::Coefficients);
        let mut uniform = vec![0.0; 100_000];
        chance.fill_uniform(&mut uniform);
        let normal: Vec<f32> = (0..100_000).map(|_| chance.normal() as f32).collect();
        for numbers in [uniform, normal] {
            let n = numbers.len() as f64;
            let mean = numbers.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
            let square = numbers.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / n;
            // Five standard errors of the mean and, for the larger kurtosis of
            // the normal law (3), of the variance.
            assert!(mean.abs() < 5.0 / n.sqrt(), "mean {mean}");
            assert!((square - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
        }
    }
}
