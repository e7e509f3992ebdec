//! The vectors of x86-64.

use std::arch::x86_64::*;

use crate::simd::Simd;

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

// SAFETY of every block below: `self` proves that the machine has the
// instructions; the memory is the caller's promise.
impl Simd for Avx2 {
    const LANES: usize = 8;
    const REGISTERS: usize = 16;
    type V = __m256;

    #[inline(always)]
    fn splat(self, value: f32) -> __m256 {
        unsafe { _mm256_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> __m256 {
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: __m256) {
        unsafe { _mm256_storeu_ps(to, value) }
    }

    #[inline(always)]
    unsafe fn load_first(self, from: *const f32, count: usize) -> __m256 {
        unsafe { _mm256_maskload_ps(from, Self::first(count)) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize, value: __m256) {
        unsafe { _mm256_maskstore_ps(to, Self::first(count), value) }
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_div_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_min_ps(a, b) }
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
}

// SAFETY of every block below: as above.
impl Simd for Avx512 {
    const LANES: usize = 16;
    const REGISTERS: usize = 32;
    type V = __m512;

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: __m512) {
        unsafe { _mm512_storeu_ps(to, value) }
    }

    #[inline(always)]
    unsafe fn load_first(self, from: *const f32, count: usize) -> __m512 {
        unsafe { _mm512_maskz_loadu_ps(first_lanes(count), from) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize, value: __m512) {
        unsafe { _mm512_mask_storeu_ps(to, first_lanes(count), value) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_min_ps(a, b) }
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
}

/// Ones for the first `count < 16` lanes.
#[inline(always)]
fn first_lanes(count: usize) -> __mmask16 {
    ((1u32 << count) - 1) as __mmask16
}
