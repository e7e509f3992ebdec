//! Maps pixel by pixel, forward: a register holds sixteen maps of a pixel.

use std::arch::x86_64::*;

use super::{K, LANES, by_count, each_column, first_lanes};
use crate::conv::Geometry;

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
    for map in (0..geometry.maps).step_by(LANES) {
        for row in 0..geometry.rows / 2 {
            let mut column = 0;
            while column < geometry.columns {
                let count = (geometry.columns - column).min(12);
                let place = [map, row, column];
                // SAFETY: the maps and the block of pixels lie within the shape.
                unsafe {
                    by_count!(
                        count,
                        [2, 4, 6, 8, 10, 12],
                        pixels_forward(geometry, place, image, weights, bias, pooled, choices)
                    );
                }
                column += count;
            }
        }
    }
}

/// Sixteen maps of `X` pixels side by side, in two rows.
///
/// # Safety
/// As [`forward`]; the pixels and at least one of the maps are there.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn pixels_forward<const X: usize>(
    geometry: &Geometry,
    [map, pooled_row, column]: [usize; 3],
    image: *const f32,
    weights: *const f32,
    bias: *const f32,
    pooled: *mut f32,
    choices: *mut f32,
) {
    let Geometry {
        channels,
        maps,
        height,
        stride,
        columns,
        weight_stride,
        ..
    } = *geometry;
    let (one, two) = (_mm512_set1_ps(1.0), _mm512_set1_ps(2.0));
    // SAFETY: `column + X` pixels and the kernel beyond them lie in the image;
    // rows of weights are whole registers.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); X]; 2];
        let line_of_weights = K * weight_stride;
        for channel in 0..channels {
            let first = image.add((channel * height + 2 * pooled_row) * stride + column);
            let weights = weights.add(channel * K * line_of_weights + map);
            each_column!(pixels_tap::<X, true, false>(
                &mut sums,
                first,
                weights,
                weight_stride
            ));
            for line in 1..K {
                let (row, weights) = (
                    first.add(line * stride),
                    weights.add(line * line_of_weights),
                );
                each_column!(pixels_tap::<X, true, true>(
                    &mut sums,
                    row,
                    weights,
                    weight_stride
                ));
            }
            let (row, weights) = (
                first.add(K * stride),
                weights.wrapping_add(K * line_of_weights),
            );
            each_column!(pixels_tap::<X, false, true>(
                &mut sums,
                row,
                weights,
                weight_stride
            ));
        }
        let live = first_lanes(maps - map);
        let bias = _mm512_maskz_loadu_ps(live, bias.add(map));
        for x in 0..X / 2 {
            let [left_upper, right_upper] = [sums[0][2 * x], sums[0][2 * x + 1]];
            let [left_lower, right_lower] = [sums[1][2 * x], sums[1][2 * x + 1]];
            let left_below = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(left_lower, left_upper);
            let right_below = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(right_lower, right_upper);
            let left = _mm512_max_ps(left_upper, left_lower);
            let right = _mm512_max_ps(right_upper, right_lower);
            let is_right = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(right, left);
            let is_below = (left_below & !is_right) | (right_below & is_right);
            let value = _mm512_add_ps(_mm512_max_ps(left, right), bias);
            let choice = _mm512_add_ps(
                _mm512_maskz_mov_ps(is_below, two),
                _mm512_maskz_mov_ps(is_right, one),
            );
            let at = (pooled_row * columns / 2 + column / 2 + x) * maps + map;
            _mm512_mask_storeu_ps(pooled.add(at), live, value);
            _mm512_mask_storeu_ps(choices.add(at), live, choice);
        }
    }
}

/// `X` pixels of a row of the image under column `KX` of the kernels: of their
/// row at `weights` for the upper row of sums, of the one before it for the
/// lower.
///
/// # Safety
/// As [`pixels_forward`], which it is a part of.
#[inline(always)]
unsafe fn pixels_tap<const X: usize, const UPPER: bool, const LOWER: bool, const KX: usize>(
    sums: &mut [[__m512; X]; 2],
    row: *const f32,
    weights: *const f32,
    weight_stride: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let zero = _mm512_setzero_ps();
        let weights = weights.wrapping_add(KX * weight_stride);
        let current = if UPPER {
            _mm512_loadu_ps(weights)
        } else {
            zero
        };
        let before = if LOWER {
            _mm512_loadu_ps(weights.wrapping_sub(K * weight_stride))
        } else {
            zero
        };
        let [upper, lower] = sums;
        for (x, (upper, lower)) in upper.iter_mut().zip(lower).enumerate() {
            let pixel = _mm512_set1_ps(*row.add(x + KX));
            if UPPER {
                *upper = _mm512_fmadd_ps(pixel, current, *upper);
            }
            if LOWER {
                *lower = _mm512_fmadd_ps(pixel, before, *lower);
            }
        }
    }
}
