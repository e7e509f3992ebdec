//! The vectors of x86-64.

use std::arch::x86_64::*;

use super::Simd;

/// Eight floats at a time with fused multiply-add.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// # Safety
    /// The machine has AVX2, FMA and F16C.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }

    /// Ones in the first `count` lanes.
    #[inline(always)]
    fn first(count: usize) -> __m256i {
        // SAFETY: called only with a token, which proves AVX2.
        unsafe {
            _mm256_cmpgt_epi32(
                _mm256_set1_epi32(count as i32),
                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
            )
        }
    }
}

/// Sixteen floats at a time with fused multiply-add.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// # Safety
    /// The machine has AVX-512 F, VL, DQ and BW, AVX2, FMA, F16C and BMI2.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

/// The operations of [`Simd`] that are one instruction for either width, by the
/// names of the instructions.
macro_rules! one_instruction {
    (
        $vector:ty:
        splat $splat:ident, load $load:ident, store $store:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident,
        mul_add $mul_add:ident, max $max:ident, min $min:ident $(,)?
    ) => {
        type V = $vector;

        #[inline(always)]
        fn splat(self, value: f32) -> $vector {
            unsafe { $splat(value) }
        }

        #[inline(always)]
        unsafe fn load(self, from: *const f32) -> $vector {
            unsafe { $load(from) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32, value: $vector) {
            unsafe { $store(to, value) }
        }

        one_instruction!(@pairs $vector: add $add, sub $sub, mul $mul, div $div, max $max, min $min);

        #[inline(always)]
        fn mul_add(self, a: $vector, b: $vector, c: $vector) -> $vector {
            unsafe { $mul_add(a, b, c) }
        }
    };
    (@pairs $vector:ty: $($name:ident $instruction:ident),*) => {$(
        #[inline(always)]
        fn $name(self, a: $vector, b: $vector) -> $vector {
            unsafe { $instruction(a, b) }
        }
    )*};
}

/// Half precision, which both widths convert eight at a time (F16C).
macro_rules! half_precision {
    () => {
        #[inline(always)]
        fn eight_to_half(self, from: [f32; 8]) -> [u16; 8] {
            unsafe {
                let halves =
                    _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr()));
                let mut to = [0; 8];
                _mm_storeu_si128(to.as_mut_ptr().cast(), halves);
                to
            }
        }

        #[inline(always)]
        fn eight_from_half(self, from: [u16; 8]) -> [f32; 8] {
            unsafe {
                let mut to = [0.0; 8];
                _mm256_storeu_ps(
                    to.as_mut_ptr(),
                    _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast())),
                );
                to
            }
        }
    };
}

// SAFETY of every block below and in the macros above: `self` proves that the
// machine has the instructions; the memory is the caller's promise.
impl Simd for Avx2 {
    const LANES: usize = 8;
    const REGISTERS: usize = 16;

    one_instruction!(
        __m256:
        splat _mm256_set1_ps, load _mm256_loadu_ps, store _mm256_storeu_ps,
        add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps,
        mul_add _mm256_fmadd_ps, max _mm256_max_ps, min _mm256_min_ps,
    );
    half_precision!();

    #[inline(always)]
    unsafe fn load_first(self, from: *const f32, count: usize) -> __m256 {
        unsafe { _mm256_maskload_ps(from, Self::first(count)) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize, value: __m256) {
        unsafe { _mm256_maskstore_ps(to, Self::first(count), value) }
    }

    #[inline(always)]
    fn select_greater(self, a: __m256, b: __m256, then: __m256, otherwise: __m256) -> __m256 {
        unsafe { _mm256_blendv_ps(otherwise, then, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) }
    }

    #[inline(always)]
    fn scale_by_power(self, a: __m256, n: __m256) -> __m256 {
        unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
            _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
        }
    }

    #[inline(always)]
    fn sum(self, a: __m256) -> f32 {
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    fn largest(self, a: __m256) -> f32 {
        unsafe {
            let four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    unsafe fn transpose(self, from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        unsafe {
            let mut rows = [_mm256_setzero_ps(); 8];
            for (index, row) in rows.iter_mut().enumerate() {
                *row = _mm256_loadu_ps(from.add(index * from_row));
            }
            // Pairs of rows, then pairs of pairs, interleaved within halves of
            // a register; then the halves change places.
            let mut pairs = rows;
            for i in 0..4 {
                pairs[2 * i] = _mm256_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
                pairs[2 * i + 1] = _mm256_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
            }
            let mut fours = pairs;
            for i in 0..2 {
                for half in 0..2 {
                    let (a, b) = (pairs[4 * i + half], pairs[4 * i + 2 + half]);
                    fours[4 * i + 2 * half] = _mm256_shuffle_ps::<0x44>(a, b);
                    fours[4 * i + 2 * half + 1] = _mm256_shuffle_ps::<0xEE>(a, b);
                }
            }
            for i in 0..4 {
                let low = _mm256_permute2f128_ps::<0x20>(fours[i], fours[4 + i]);
                let high = _mm256_permute2f128_ps::<0x31>(fours[i], fours[4 + i]);
                _mm256_storeu_ps(to.add(i * to_row), low);
                _mm256_storeu_ps(to.add((4 + i) * to_row), high);
            }
        }
    }
}

// SAFETY of every block below: as above.
impl Simd for Avx512 {
    const LANES: usize = 16;
    const REGISTERS: usize = 32;

    one_instruction!(
        __m512:
        splat _mm512_set1_ps, load _mm512_loadu_ps, store _mm512_storeu_ps,
        add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps,
        mul_add _mm512_fmadd_ps, max _mm512_max_ps, min _mm512_min_ps,
    );
    half_precision!();

    #[inline(always)]
    unsafe fn load_first(self, from: *const f32, count: usize) -> __m512 {
        unsafe { _mm512_maskz_loadu_ps(first_lanes(count), from) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize, value: __m512) {
        unsafe { _mm512_mask_storeu_ps(to, first_lanes(count), value) }
    }

    #[inline(always)]
    fn select_greater(self, a: __m512, b: __m512, then: __m512, otherwise: __m512) -> __m512 {
        unsafe { _mm512_mask_mov_ps(otherwise, _mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), then) }
    }

    #[inline(always)]
    fn scale_by_power(self, a: __m512, n: __m512) -> __m512 {
        unsafe { _mm512_scalef_ps(a, n) }
    }

    #[inline(always)]
    fn sum(self, a: __m512) -> f32 {
        unsafe { _mm512_reduce_add_ps(a) }
    }

    #[inline(always)]
    fn largest(self, a: __m512) -> f32 {
        unsafe { _mm512_reduce_max_ps(a) }
    }

    #[inline(always)]
    unsafe fn transpose(self, from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        unsafe {
            let mut rows = [_mm512_setzero_ps(); 16];
            for (index, row) in rows.iter_mut().enumerate() {
                *row = _mm512_loadu_ps(from.add(index * from_row));
            }
            for (index, column) in transposed(rows).into_iter().enumerate() {
                _mm512_storeu_ps(to.add(index * to_row), column);
            }
        }
    }
}

/// Ones for the first `count < 16` lanes.
#[inline(always)]
fn first_lanes(count: usize) -> __mmask16 {
    ((1u32 << count) - 1) as __mmask16
}

/// Rows of sixteen registers as columns.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transposed(rows: [__m512; 16]) -> [__m512; 16] {
    // Pairs of rows, then pairs of pairs, interleaved within quarters of a
    // register; then the quarters change places.
    let mut pairs = rows;
    for i in 0..8 {
        pairs[2 * i] = _mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
    }
    let mut fours = pairs;
    for i in 0..4 {
        for half in 0..2 {
            let (a, b) = (
                _mm512_castps_pd(pairs[4 * i + half]),
                _mm512_castps_pd(pairs[4 * i + 2 + half]),
            );
            fours[4 * i + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            fours[4 * i + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    }
    let mut columns = fours;
    for i in 0..4 {
        let a = _mm512_shuffle_f32x4::<0x88>(fours[i], fours[4 + i]);
        let b = _mm512_shuffle_f32x4::<0xDD>(fours[i], fours[4 + i]);
        let c = _mm512_shuffle_f32x4::<0x88>(fours[8 + i], fours[12 + i]);
        let d = _mm512_shuffle_f32x4::<0xDD>(fours[8 + i], fours[12 + i]);
        columns[i] = _mm512_shuffle_f32x4::<0x88>(a, c);
        columns[4 + i] = _mm512_shuffle_f32x4::<0x88>(b, d);
        columns[8 + i] = _mm512_shuffle_f32x4::<0xDD>(a, c);
        columns[12 + i] = _mm512_shuffle_f32x4::<0xDD>(b, d);
    }
    columns
}
