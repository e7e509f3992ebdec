//! A caller's own loops, compiled for each instruction set.

#![expect(
    unsafe_code,
    reason = "calls functions with target features; vectors over raw pointers, within a slice"
)]

use crate::Kernels;
use crate::simd::{Portable, Simd};
#[cfg(target_arch = "x86_64")]
use crate::{
    Isa,
    simd::{Avx2, Avx512},
};

/// Loops that [`Kernels::run`] runs in the version compiled for its
/// instructions. Plain code gains as well: the compiler then uses the wide
/// registers and the bit instructions of the machine.
pub trait Work {
    /// What comes of it.
    type Output;

    /// Does the work. `#[inline(always)]`, like the functions that it calls in
    /// its loops, or they are compiled without the instructions; closures are.
    fn run<V: Vectors>(self, vectors: V) -> Self::Output;
}

/// The vectors that a [`Work`] may use: one type for each instruction set.
pub trait Vectors: Copy {
    /// The inner products of four rows with two, in float32. Every product is
    /// added up in the same order wherever it stands in the tile: one sum for
    /// each lane, then over the lanes.
    ///
    /// # Panics
    ///
    /// If the rows are not equally long, or not a multiple of sixteen values.
    fn products(self, left: [&[f32]; 4], right: [&[f32]; 2]) -> [[f32; 2]; 4];
}

/// The most lanes of any vector.
const MOST_LANES: usize = 16;

impl<S: Simd> Vectors for S {
    #[inline(always)]
    fn products(self, left: [&[f32]; 4], right: [&[f32]; 2]) -> [[f32; 2]; 4] {
        let len = left[0].len();
        assert!(
            len.is_multiple_of(MOST_LANES) && left.iter().chain(&right).all(|row| row.len() == len),
            "rows are whole vectors, all as long"
        );
        // Eight running sums: what two multiply-add units of latency four need.
        let mut sums = [[self.splat(0.0); 2]; 4];
        let mut at = 0;
        while at < len {
            // SAFETY: `at` is a multiple of the lanes below `len`, which is one.
            unsafe {
                let right = [
                    self.load(right[0].as_ptr().add(at)),
                    self.load(right[1].as_ptr().add(at)),
                ];
                for (sums, left) in sums.iter_mut().zip(left) {
                    let left = self.load(left.as_ptr().add(at));
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum = self.mul_add(left, right, *sum);
                    }
                }
            }
            at += S::LANES;
        }
        let mut products = [[0.0; 2]; 4];
        for (products, sums) in products.iter_mut().zip(sums) {
            for (product, sum) in products.iter_mut().zip(sums) {
                *product = self.sum(sum);
            }
        }
        products
    }
}

impl Kernels {
    /// Does the work with these instructions.
    pub fn run<W: Work>(self, work: W) -> W::Output {
        // The bit instructions came with AVX2, and `Isa::available` asks for
        // them: loops over sets of bits need them.
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(
                enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
            )]
            fn avx512<W: Work>(simd: Avx512, work: W) -> W::Output {
                work.run(simd)
            }
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2<W: Work>(simd: Avx2, work: W) -> W::Output {
                work.run(simd)
            }
            // SAFETY: a `Kernels` value exists only for instructions that were
            // found on this machine, which is what the tokens and the target
            // features ask for.
            match self.isa() {
                Isa::Avx512 => unsafe { avx512(Avx512::new(), work) },
                Isa::Avx2 => unsafe { avx2(Avx2::new(), work) },
                Isa::Portable => work.run(Portable),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        work.run(Portable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Numbers;

    struct Tile<'a>(&'a [Vec<f32>]);

    impl Work for Tile<'_> {
        type Output = [[f32; 2]; 4];

        #[inline(always)]
        fn run<V: Vectors>(self, vectors: V) -> [[f32; 2]; 4] {
            let row = |i: usize| self.0[i].as_slice();
            vectors.products([row(0), row(1), row(2), row(3)], [row(4), row(5)])
        }
    }

    #[test]
    fn a_tile_of_products_agrees_with_float64_on_every_path() {
        let mut numbers = Numbers::new(12);
        for kernels in Kernels::available() {
            for len in [0, 16, 48, 800] {
                let rows: Vec<Vec<f32>> = (0..6).map(|_| numbers.vector(len)).collect();
                let tile = kernels.run(Tile(&rows));
                for (left, products) in rows[..4].iter().zip(tile) {
                    for (right, product) in rows[4..].iter().zip(products) {
                        let pairs = left.iter().zip(right);
                        let exact: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                        let error = (f64::from(product) - exact).abs();
                        assert!(
                            error < 1e-6 * (1.0 + len as f64).sqrt(),
                            "{kernels:?} {len}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "whole vectors")]
    fn rows_that_are_no_whole_vectors_are_refused() {
        let rows = vec![vec![0.0; 17]; 6];
        Kernels::detect().run(Tile(&rows));
    }
}
