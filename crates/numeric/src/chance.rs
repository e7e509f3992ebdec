//! Random draws that a seed determines for ever.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of random draws.
///
/// The generator is ChaCha with eight rounds, a 64-bit block counter and a
/// 64-bit stream number. How a seed becomes a key, and how words become draws,
/// is written out here, so that no release of a library can change a plan, a
/// split or a model that was made before. `oracle/chance.py` is an independent
/// rewriting whose values the tests compare.
///
/// Streams of one seed are independent: a longer search in one part of the work
/// does not change another part.
///
/// There are three conventions, because seeds are recorded and must keep their
/// meaning:
///
/// | | key | a draw below a bound | shuffle |
/// |---|---|---|---|
/// | [`Chance::new`]: run orders, designs, permutation tests, new code | the seed, then zeros | 64 bits, remainder | from the last place down |
/// | [`Chance::of_rows`]: epochs, splits, generated data | the seed, then zeros | 32 bits, high half of the product | from the last place down |
/// | [`Chance::of_learner`]: learners, folds, starting values | eight words of PCG32 | 64 bits, high half of the product | from the first place up |
///
/// Every convention rejects the draws that would favour some outcomes.
#[derive(Debug, Clone)]
pub struct Chance {
    words: ChaCha8Rng,
    convention: Convention,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Convention {
    Plan,
    Rows,
    Learner,
}

impl Chance {
    /// The convention of plans, and of everything that has no recorded past.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self::keyed(seed_then_zeros(seed), stream, Convention::Plan)
    }

    /// The convention of data: orders of epochs, splits, generated rows. Bounds
    /// fit into 32 bits.
    pub fn of_rows(seed: u64, stream: u64) -> Self {
        Self::keyed(seed_then_zeros(seed), stream, Convention::Rows)
    }

    /// The convention of learners: samples of rows, folds, starting values.
    pub fn of_learner(seed: u64, stream: u64) -> Self {
        Self::keyed(words_of_pcg32(seed), stream, Convention::Learner)
    }

    fn keyed(key: [u8; 32], stream: u64, convention: Convention) -> Self {
        let mut words = ChaCha8Rng::from_seed(key);
        words.set_stream(stream);
        Self { words, convention }
    }

    /// A whole number below `bound`, each equally likely.
    ///
    /// # Panics
    ///
    /// If `bound` is zero, or does not fit into 32 bits under
    /// [`Chance::of_rows`].
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "a draw needs at least one outcome");
        match self.convention {
            Convention::Plan => self.by_remainder(bound as u64) as usize,
            Convention::Rows => {
                let bound = u32::try_from(bound).expect("rows are numbered with 32 bits");
                self.by_product_32(bound) as usize
            }
            Convention::Learner => self.by_product_64(bound as u64) as usize,
        }
    }

    #[inline]
    fn by_remainder(&mut self, bound: u64) -> u64 {
        let fair = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.words.next_u64();
            if draw < fair {
                return draw % bound;
            }
        }
    }

    /// Lemire, "Fast random integer generation in an interval", ACM TOMACS
    /// 29(1), 2019: the high half of a product.
    #[inline]
    fn by_product_32(&mut self, bound: u32) -> u32 {
        let mut product = u64::from(self.words.next_u32()) * u64::from(bound);
        if (product as u32) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u32) < threshold {
                product = u64::from(self.words.next_u32()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// The same with twice the bits.
    #[inline]
    fn by_product_64(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.words.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.words.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.words.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number in [0, 1) with 24 random bits, as many as an `f32` holds.
    #[inline]
    pub fn unit_f32(&mut self) -> f32 {
        (self.words.next_u32() >> 8) as f32 / (1_u32 << 24) as f32
    }

    /// Any 64 bits: the seed of a smaller part of the work.
    #[inline]
    pub fn seed(&mut self) -> u64 {
        self.words.next_u64()
    }

    /// A standard normal number, by Marsaglia's polar method (Marsaglia and
    /// Bray 1964). The logarithm is `libm`'s, which is the same everywhere.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                return u * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Fills the slice with numbers that are uniform on a grid of 2²⁴ steps in
    /// (−√3, √3): mean 0, variance 1.
    pub fn fill_uniform(&mut self, numbers: &mut [f32]) {
        let mut bytes = [0_u8; 4096];
        for chunk in numbers.chunks_mut(bytes.len() / 4) {
            let bytes = &mut bytes[..chunk.len() * 4];
            self.words.fill_bytes(bytes);
            for (number, bits) in chunk.iter_mut().zip(bytes.as_chunks::<4>().0) {
                let steps = (u32::from_le_bytes(*bits) >> 8) as i32 - (1 << 23);
                *number = (steps as f32 + 0.5) * (SQRT_3 / (1 << 23) as f32);
            }
        }
    }

    /// Brings the items into random order: the shuffle of Fisher and Yates in
    /// Durstenfeld's form (1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        if self.convention == Convention::Learner {
            return self.choose_front(items, items.len());
        }
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Moves a random choice of `count` items, in random order, to the front.
    pub fn choose_front<T>(&mut self, items: &mut [T], count: usize) {
        for front in 0..count.min(items.len()) {
            let chosen = front + self.below(items.len() - front);
            items.swap(front, chosen);
        }
    }
}

const SQRT_3: f32 = 1.732_050_8;

fn seed_then_zeros(seed: u64) -> [u8; 32] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key
}

/// PCG-XSH-RR 64/32 (O'Neill 2014) with the increment of `rand_core` 0.9's
/// `seed_from_u64`, by which learners and nets were seeded before the key was
/// written out here.
fn words_of_pcg32(seed: u64) -> [u8; 32] {
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    const INCREMENT: u64 = 11_634_580_027_462_260_723;
    let mut key = [0; 32];
    let mut state = seed;
    for word in key.as_chunks_mut::<4>().0 {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let mixed = (((state >> 18) ^ state) >> 27) as u32;
        *word = mixed.rotate_right((state >> 59) as u32).to_le_bytes();
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONVENTIONS: [fn(u64, u64) -> Chance; 3] =
        [Chance::new, Chance::of_rows, Chance::of_learner];

    #[test]
    fn draws_are_those_of_an_independent_rewriting() {
        // The values of `oracle/chance.py`. A change of any of them changes
        // plans, splits or models that were recorded.
        #[track_caller]
        fn check(mut chance: Chance, shuffled: [usize; 12], below: [usize; 3], bits: u64) {
            let mut items: [usize; 12] = std::array::from_fn(|i| i);
            chance.shuffle(&mut items);
            assert_eq!(items, shuffled);
            // A bound that rejects about half of all 32-bit draws.
            assert_eq!([(); 3].map(|()| chance.below(0x8000_0001)), below);
            // After an odd number of 32-bit words, 64 bits straddle them.
            assert_eq!(chance.seed(), bits);
        }
        let (seed, stream) = (0xfedc_ba98_7654_3210, 3 << 60 | 5);
        check(
            Chance::new(1, 0),
            [1, 11, 2, 9, 5, 6, 7, 10, 4, 8, 0, 3],
            [812066098, 1299572161, 1623306572],
            0x2e39_67c0_4dcd_a632,
        );
        check(
            Chance::new(seed, stream),
            [8, 4, 3, 2, 5, 0, 7, 10, 9, 6, 11, 1],
            [492540677, 946314559, 545943160],
            0x65dc_e018_0241_3046,
        );
        check(
            Chance::of_rows(1, 0),
            [1, 0, 8, 11, 10, 6, 5, 3, 2, 9, 4, 7],
            [1685192044, 868511433, 986367402],
            0xd7e2_a1a8_d12b_fa4e,
        );
        check(
            Chance::of_rows(seed, stream),
            [4, 11, 7, 8, 0, 2, 9, 10, 1, 3, 6, 5],
            [360160889, 905818754, 1678695690],
            0x6680_0bdb_baa4_e004,
        );
        check(
            Chance::of_learner(1, 0),
            [4, 1, 7, 0, 6, 9, 8, 2, 11, 3, 10, 5],
            [213587699, 566758662, 973797344],
            0x47bd_11da_7391_671d,
        );
        check(
            Chance::of_learner(seed, stream),
            [5, 2, 7, 0, 10, 1, 6, 3, 9, 4, 11, 8],
            [533491815, 627237284, 1694823385],
            0xe347_edb7_9d7a_dee2,
        );
    }

    #[test]
    fn the_key_of_learners_is_the_one_that_the_library_made() {
        for seed in [0, 1, 42, u64::MAX] {
            let library = ChaCha8Rng::seed_from_u64(seed);
            assert_eq!(library.get_seed(), words_of_pcg32(seed));
        }
    }

    #[test]
    fn every_place_is_equally_likely_for_every_item() {
        for new in CONVENTIONS {
            let mut counts = [[0_u32; 4]; 4];
            for seed in 0..4000 {
                let mut items = [0, 1, 2, 3];
                new(seed, 1).shuffle(&mut items);
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

    #[test]
    fn draws_below_a_bound_are_spread_evenly() {
        for new in CONVENTIONS {
            let mut chance = new(1, 0);
            let mut counts = [0_u32; 10];
            for _ in 0..100_000 {
                counts[chance.below(10)] += 1;
            }
            // Ten standard deviations of a binomial count.
            let even = counts.iter().all(|&c| c.abs_diff(10_000) < 950);
            assert!(even, "{counts:?}");
        }
    }

    #[test]
    fn a_choice_is_part_of_the_items_and_streams_differ() {
        for new in CONVENTIONS {
            let shuffled = |stream| {
                let mut items: Vec<u32> = (0..100).collect();
                new(9, stream).choose_front(&mut items, 60);
                items
            };
            let mut sorted = shuffled(0);
            sorted.sort_unstable();
            assert_eq!(sorted, (0..100).collect::<Vec<_>>());
            assert_ne!(shuffled(0), shuffled(1));
            assert_eq!(shuffled(3), shuffled(3));
        }
    }

    #[test]
    fn uniform_and_normal_numbers_have_mean_zero_and_variance_one() {
        let mut chance = Chance::new(7, 5);
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

    #[test]
    #[should_panic(expected = "at least one outcome")]
    fn a_draw_without_outcomes_is_refused() {
        Chance::new(0, 0).below(0);
    }
}
