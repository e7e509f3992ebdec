//! Maps as planes: a register holds sixteen pixels of a map.

use std::arch::x86_64::*;

use super::{K, LANES, by_count, each_column, first_lanes};
use crate::conv::{Geometry, OneBackward};

/// Scratch values that the way back needs: sums of weights and biases, slopes.
pub(super) fn scratch_len(geometry: &Geometry) -> usize {
    sums_len(geometry) + geometry.maps * geometry.rows * slope_stride(geometry)
}

/// A register of sums for each weight and bias.
fn sums_len(geometry: &Geometry) -> usize {
    geometry.maps * (geometry.taps + 1) * LANES
}

/// Values from one row of unpooled slopes to the next, as planes: whole pairs
/// of registers.
fn slope_stride(geometry: &Geometry) -> usize {
    geometry.columns.next_multiple_of(2 * LANES)
}

/// # Safety
/// As [`super::forward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
pub(super) unsafe fn forward(
    geometry: &Geometry,
    image: *const f32,
    weights: *const f32,
    bias: *const f32,
    pooled: *mut f32,
    choices: *mut f32,
) {
    for map in (0..geometry.maps).step_by(6) {
        let count = (geometry.maps - map).min(6);
        // SAFETY: the group of maps lies within the shape.
        unsafe {
            by_count!(
                count,
                [1, 2, 3, 4, 5, 6],
                planes_forward(geometry, map, image, weights, bias, pooled, choices)
            );
        }
    }
}

/// `G` maps from `map` on.
///
/// # Safety
/// As [`forward`]; the maps are there.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn planes_forward<const G: usize>(
    geometry: &Geometry,
    map: usize,
    image: *const f32,
    weights: *const f32,
    bias: *const f32,
    pooled: *mut f32,
    choices: *mut f32,
) {
    let Geometry {
        channels,
        height,
        stride,
        taps,
        rows,
        columns,
        pooled_stride,
        ..
    } = *geometry;
    let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    let odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    let (one, two) = (_mm512_set1_ps(1.0), _mm512_set1_ps(2.0));
    let (pooled_rows, pooled_columns) = (rows / 2, columns / 2);
    // SAFETY: rows of the image reach `K - 1` values beyond the last pair of
    // registers (`ConvPool::input_stride`), those of the pooled maps are whole
    // registers, and there are `G` maps.
    unsafe {
        let weights = weights.add(map * taps);
        for pooled_row in 0..pooled_rows {
            for block in 0..pooled_columns.div_ceil(LANES) {
                // Two rows of two registers for each map.
                let mut sums = [[[_mm512_setzero_ps(); 2]; 2]; G];
                for channel in 0..channels {
                    let weights = weights.add(channel * K * K);
                    let first =
                        image.add((channel * height + 2 * pooled_row) * stride + 2 * block * LANES);
                    each_column!(planes_tap::<G, true, false>(
                        &mut sums, first, weights, taps
                    ));
                    for line in 1..K {
                        let (row, weights) = (first.add(line * stride), weights.add(line * K));
                        each_column!(planes_tap::<G, true, true>(&mut sums, row, weights, taps));
                    }
                    let (row, weights) = (first.add(K * stride), weights.wrapping_add(K * K));
                    each_column!(planes_tap::<G, false, true>(&mut sums, row, weights, taps));
                }
                let live = first_lanes(pooled_columns - block * LANES);
                for (g, [upper, lower]) in sums.iter().enumerate() {
                    let below = [0, 1].map(|half| {
                        u32::from(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(lower[half], upper[half]))
                    });
                    let below = below[0] | below[1] << 16;
                    let larger = [
                        _mm512_max_ps(upper[0], lower[0]),
                        _mm512_max_ps(upper[1], lower[1]),
                    ];
                    let left = _mm512_permutex2var_ps(larger[0], even, larger[1]);
                    let right = _mm512_permutex2var_ps(larger[0], odd, larger[1]);
                    let is_right = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(right, left);
                    let is_below = (_pext_u32(below, 0x5555_5555) as u16 & !is_right)
                        | (_pext_u32(below, 0xAAAA_AAAA) as u16 & is_right);
                    let value = _mm512_add_ps(
                        _mm512_max_ps(left, right),
                        _mm512_set1_ps(*bias.add(map + g)),
                    );
                    let choice = _mm512_add_ps(
                        _mm512_maskz_mov_ps(is_below & live, two),
                        _mm512_maskz_mov_ps(is_right & live, one),
                    );
                    let at = ((map + g) * pooled_rows + pooled_row) * pooled_stride + block * LANES;
                    _mm512_storeu_ps(pooled.add(at), _mm512_maskz_mov_ps(live, value));
                    _mm512_storeu_ps(choices.add(at), choice);
                }
            }
        }
    }
}

/// One pixel of a row of the image under column `KX` of the kernels of `G`
/// maps: of their row at `weights` for the upper row of sums, of the one before
/// it for the lower.
///
/// # Safety
/// As [`planes_forward`], which it is a part of.
#[inline(always)]
unsafe fn planes_tap<const G: usize, const UPPER: bool, const LOWER: bool, const KX: usize>(
    sums: &mut [[[__m512; 2]; 2]; G],
    row: *const f32,
    weights: *const f32,
    taps: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let pixels = [
            _mm512_loadu_ps(row.add(KX)),
            _mm512_loadu_ps(row.add(KX + LANES)),
        ];
        for (g, [upper, lower]) in sums.iter_mut().enumerate() {
            let weights = weights.wrapping_add(g * taps + KX);
            if UPPER {
                let weight = _mm512_set1_ps(*weights);
                upper[0] = _mm512_fmadd_ps(weight, pixels[0], upper[0]);
                upper[1] = _mm512_fmadd_ps(weight, pixels[1], upper[1]);
            }
            if LOWER {
                let weight = _mm512_set1_ps(*weights.wrapping_sub(K));
                lower[0] = _mm512_fmadd_ps(weight, pixels[0], lower[0]);
                lower[1] = _mm512_fmadd_ps(weight, pixels[1], lower[1]);
            }
        }
    }
}

/// Clears the sums that [`backward`] keeps in scratch from image to image.
pub(super) fn begin(geometry: &Geometry, scratch: &mut [f32]) {
    scratch[..sums_len(geometry)].fill(0.0);
}

/// Adds up the lanes of the sums that [`backward`] kept.
pub(super) fn finish(
    geometry: &Geometry,
    weight_gradient: &mut [f32],
    bias_gradient: &mut [f32],
    scratch: &[f32],
) {
    let (sums, _) = scratch.as_chunks::<LANES>();
    let weights = geometry.maps * geometry.taps;
    for (gradient, lanes) in weight_gradient[..weights].iter_mut().zip(sums) {
        *gradient = lanes.iter().sum();
    }
    for (gradient, lanes) in bias_gradient[..geometry.maps]
        .iter_mut()
        .zip(&sums[weights..])
    {
        *gradient = lanes.iter().sum();
    }
}

/// # Safety
/// As [`super::backward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
pub(super) unsafe fn backward(geometry: &Geometry, buffers: OneBackward<'_>) {
    let (maps, taps) = (geometry.maps, geometry.taps);
    let sums = buffers.scratch.as_mut_ptr();
    // SAFETY: scratch is sums for weights and biases, then slopes.
    unsafe {
        let bias_sums = sums.add(maps * taps * LANES);
        let slopes = bias_sums.add(maps * LANES);
        planes_unpool(
            geometry,
            buffers.slope.as_ptr(),
            buffers.choices.as_ptr(),
            bias_sums,
            slopes,
        );
        for map in (0..maps).step_by(3) {
            let count = (maps - map).min(3);
            by_count!(
                count,
                [1, 2, 3],
                planes_weights(geometry, map, buffers.image.as_ptr(), slopes, sums)
            );
        }
    }
}

/// Spreads the slopes of pooled planes over the pixels that were chosen.
///
/// # Safety
/// As [`backward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn planes_unpool(
    geometry: &Geometry,
    slope: *const f32,
    choices: *const f32,
    bias_sums: *mut f32,
    slopes: *mut f32,
) {
    let twice = [
        _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0),
        _mm512_set_epi32(15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8),
    ];
    let parity = _mm512_set_ps(
        1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0,
    );
    let lower = _mm512_add_ps(parity, _mm512_set1_ps(2.0));
    let stride = slope_stride(geometry);
    let pooled_rows = geometry.rows / 2;
    // SAFETY: rows of pooled planes are whole registers, rows of slopes pairs
    // of registers.
    unsafe {
        for map in 0..geometry.maps {
            let mut sum = _mm512_loadu_ps(bias_sums.add(map * LANES));
            for pooled_row in 0..pooled_rows {
                for block in 0..(geometry.columns / 2).div_ceil(LANES) {
                    let at =
                        (map * pooled_rows + pooled_row) * geometry.pooled_stride + block * LANES;
                    let value = _mm512_loadu_ps(slope.add(at));
                    let choice = _mm512_loadu_ps(choices.add(at));
                    sum = _mm512_add_ps(sum, value);
                    let to = slopes
                        .add((map * geometry.rows + 2 * pooled_row) * stride + 2 * block * LANES);
                    for (half, twice) in twice.into_iter().enumerate() {
                        let value = _mm512_permutexvar_ps(twice, value);
                        let choice = _mm512_permutexvar_ps(twice, choice);
                        let upper = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(choice, parity);
                        let lower = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(choice, lower);
                        let to = to.add(half * LANES);
                        _mm512_storeu_ps(to, _mm512_maskz_mov_ps(upper, value));
                        _mm512_storeu_ps(to.add(stride), _mm512_maskz_mov_ps(lower, value));
                    }
                }
            }
            _mm512_storeu_ps(bias_sums.add(map * LANES), sum);
        }
    }
}

/// Adds to the sums of the weights of `G` maps from `map` on.
///
/// # Safety
/// As [`backward`]; the maps are there.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn planes_weights<const G: usize>(
    geometry: &Geometry,
    map: usize,
    image: *const f32,
    slopes: *const f32,
    sums: *mut f32,
) {
    let Geometry {
        channels,
        height,
        stride,
        taps,
        rows,
        ..
    } = *geometry;
    let slope_stride = slope_stride(geometry);
    // SAFETY: as in `planes_forward`; there are `G` maps.
    unsafe {
        for line in 0..channels * K {
            let (channel, ky) = (line / K, line % K);
            let place = |g: usize, kx: usize| ((map + g) * taps + line * K + kx) * LANES;
            let mut lanes = [[_mm512_setzero_ps(); K]; G];
            for (g, lanes) in lanes.iter_mut().enumerate() {
                for (kx, lanes) in lanes.iter_mut().enumerate() {
                    *lanes = _mm512_loadu_ps(sums.add(place(g, kx)));
                }
            }
            for row in 0..rows {
                let pixels = image.add((channel * height + row + ky) * stride);
                let slopes = slopes.add((map * rows + row) * slope_stride);
                for at in (0..slope_stride).step_by(LANES) {
                    let mut shifted = [_mm512_setzero_ps(); K];
                    for (kx, shifted) in shifted.iter_mut().enumerate() {
                        *shifted = _mm512_loadu_ps(pixels.add(at + kx));
                    }
                    for (g, lanes) in lanes.iter_mut().enumerate() {
                        let slope = _mm512_loadu_ps(slopes.add(g * rows * slope_stride + at));
                        for (lanes, shifted) in lanes.iter_mut().zip(shifted) {
                            *lanes = _mm512_fmadd_ps(slope, shifted, *lanes);
                        }
                    }
                }
            }
            for (g, lanes) in lanes.iter().enumerate() {
                for (kx, lanes) in lanes.iter().enumerate() {
                    _mm512_storeu_ps(sums.add(place(g, kx)), *lanes);
                }
            }
        }
    }
}
