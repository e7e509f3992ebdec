//! Maps pixel by pixel, back: slopes as pixels for the weights, turned into
//! planes for the image.

use std::arch::x86_64::*;

use super::{K, LANES, by_count, each_column, first_lanes};
use crate::conv::{Geometry, OneBackward};
use crate::simd::transposed;

/// Scratch values that the way back needs: turned weights, slopes and places of
/// pooled pixels, slopes of all pixels, the same as planes.
pub(super) fn scratch_len(geometry: &Geometry) -> usize {
    turned_len(geometry)
        + pooled_pixels(geometry) * 2 * LANES
        + geometry.rows * geometry.columns * LANES
        + LANES * geometry.rows * margin_stride(geometry)
}

/// Prepares what [`backward`] keeps in scratch from image to image.
pub(super) fn begin(geometry: &Geometry, weights: &[f32], scratch: &mut [f32]) {
    let (turned, rest) = scratch.split_at_mut(turned_len(geometry));
    turn_weights(geometry, weights, turned);
    // The margins of the slopes' rows stay zero.
    rest[..scratch_len(geometry) - turned.len()].fill(0.0);
}

fn pooled_pixels(geometry: &Geometry) -> usize {
    geometry.rows * geometry.columns / 4
}

/// Values from one row to the next where rows have a margin for the kernel on
/// both sides and are read in whole registers.
fn margin_stride(geometry: &Geometry) -> usize {
    geometry.width.next_multiple_of(LANES) + K - 1
}

/// # Safety
/// As [`super::backward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
pub(super) unsafe fn backward(geometry: &Geometry, buffers: OneBackward<'_>) {
    let turned = buffers.scratch.as_mut_ptr();
    let image_gradient = buffers.image_gradient.map(<[f32]>::as_mut_ptr);
    // SAFETY: scratch is the turned weights, what is known of the pooled
    // pixels, the slopes of all pixels, then as planes.
    unsafe {
        let chosen = turned.add(turned_len(geometry));
        let slopes = chosen.add(pooled_pixels(geometry) * 2 * LANES);
        let planes = slopes.add(geometry.rows * geometry.columns * LANES);
        for map in (0..geometry.maps).step_by(LANES) {
            pixels_unpool(
                geometry,
                map,
                buffers.slope.as_ptr(),
                buffers.choices.as_ptr(),
                buffers.bias_gradient.as_mut_ptr(),
                chosen,
                slopes,
            );
            pixels_weights(
                geometry,
                map,
                buffers.image.as_ptr(),
                chosen,
                buffers.weight_gradient.as_mut_ptr(),
            );
            if let Some(image_gradient) = image_gradient {
                into_planes(geometry, slopes, planes);
                for channel in (0..geometry.channels).step_by(CHANNELS) {
                    let count = (geometry.channels - channel).min(CHANNELS);
                    by_count!(
                        count,
                        [1, 2, 3, 4, 5, 6],
                        pixels_image(geometry, map, channel, turned, planes, image_gradient,)
                    );
                }
            }
        }
    }
}

/// Spreads the slopes of sixteen maps from `map` on over the pixels that were
/// chosen. For each pooled pixel, `chosen` receives its slopes and where in a
/// pair of rows of eight values each choice lies.
///
/// # Safety
/// As [`backward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn pixels_unpool(
    geometry: &Geometry,
    map: usize,
    slope: *const f32,
    choices: *const f32,
    bias_gradient: *mut f32,
    chosen: *mut f32,
    slopes: *mut f32,
) {
    let Geometry {
        maps,
        rows,
        columns,
        ..
    } = *geometry;
    let live = first_lanes(maps - map);
    let (one, eight) = (_mm512_set1_epi32(1), _mm512_set1_epi32(8));
    // SAFETY: masked beyond the last map; `slopes` has a register for each
    // pixel, `chosen` two for each pooled one.
    unsafe {
        let mut sum = _mm512_maskz_loadu_ps(live, bias_gradient.add(map));
        for pooled_row in 0..rows / 2 {
            for pooled_column in 0..columns / 2 {
                let pixel = pooled_row * columns / 2 + pooled_column;
                let at = pixel * maps + map;
                let value = _mm512_maskz_loadu_ps(live, slope.add(at));
                let choice = _mm512_maskz_loadu_ps(live, choices.add(at));
                sum = _mm512_add_ps(sum, value);
                let number = _mm512_cvtps_epi32(choice);
                let place = _mm512_mask_add_epi32(
                    _mm512_and_si512(number, one),
                    _mm512_cmpgt_epi32_mask(number, one),
                    _mm512_and_si512(number, one),
                    eight,
                );
                let chosen = chosen.add(pixel * 2 * LANES);
                _mm512_storeu_ps(chosen, value);
                _mm512_storeu_ps(chosen.add(LANES), _mm512_castsi512_ps(place));
                let to = slopes.add((2 * pooled_row * columns + 2 * pooled_column) * LANES);
                for (quarter, pixel) in [0, 1, columns, columns + 1].into_iter().enumerate() {
                    let chosen =
                        _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(choice, _mm512_set1_ps(quarter as f32));
                    _mm512_storeu_ps(to.add(pixel * LANES), _mm512_maskz_mov_ps(chosen, value));
                }
            }
        }
        _mm512_mask_storeu_ps(bias_gradient.add(map), live, sum);
    }
}

/// Adds to the gradient of the weights of sixteen maps from `map` on.
///
/// Each map chose one of the four pixels that were pooled. A permutation picks
/// for all maps at once what tap of the kernel met at the chosen pixel, so that
/// one product does for the four.
///
/// # Safety
/// As [`backward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn pixels_weights(
    geometry: &Geometry,
    map: usize,
    image: *const f32,
    chosen: *const f32,
    weight_gradient: *mut f32,
) {
    let Geometry {
        channels,
        height,
        stride,
        rows,
        columns,
        weight_stride,
        ..
    } = *geometry;
    let one = _mm512_set1_epi32(1);
    // SAFETY: rows of weights are whole registers; the kernels at the four
    // pixels reach `K + 1` rows and columns of the image, and no more is read.
    unsafe {
        for channel in 0..channels {
            let gradient = weight_gradient.add(channel * K * K * weight_stride + map);
            let mut sums = [[_mm512_setzero_ps(); K]; K];
            for (tap, sum) in sums.as_flattened_mut().iter_mut().enumerate() {
                *sum = _mm512_loadu_ps(gradient.add(tap * weight_stride));
            }
            let mut chosen = chosen;
            for pooled_row in 0..rows / 2 {
                let mut patch = image.add((channel * height + 2 * pooled_row) * stride);
                for _ in 0..columns / 2 {
                    let mut pairs = [_mm512_setzero_ps(); K];
                    let mut line = _mm256_maskz_loadu_ps(0b11_1111, patch);
                    for (ky, pair) in pairs.iter_mut().enumerate() {
                        let next = _mm256_maskz_loadu_ps(0b11_1111, patch.add((ky + 1) * stride));
                        *pair = _mm512_insertf32x8::<1>(_mm512_castps256_ps512(line), next);
                        line = next;
                    }
                    let slope = _mm512_loadu_ps(chosen);
                    let mut place = _mm512_castps_si512(_mm512_loadu_ps(chosen.add(LANES)));
                    for kx in 0..K {
                        for (sums, pair) in sums.iter_mut().zip(pairs) {
                            let met = _mm512_permutexvar_ps(place, pair);
                            sums[kx] = _mm512_fmadd_ps(slope, met, sums[kx]);
                        }
                        place = _mm512_add_epi32(place, one);
                    }
                    chosen = chosen.wrapping_add(2 * LANES);
                    patch = patch.wrapping_add(2);
                }
            }
            for (tap, sum) in sums.as_flattened().iter().enumerate() {
                _mm512_storeu_ps(gradient.add(tap * weight_stride), *sum);
            }
        }
    }
}

/// Turns slopes of sixteen maps from pixels into planes, between margins.
///
/// # Safety
/// As [`backward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn into_planes(geometry: &Geometry, slopes: *const f32, planes: *mut f32) {
    let Geometry { rows, columns, .. } = *geometry;
    let stride = margin_stride(geometry);
    // SAFETY: a plane has `rows` rows of `stride` values, which the columns and
    // a margin of `K - 1` before them do not exceed.
    unsafe {
        for row in 0..rows {
            for first in (0..columns).step_by(LANES) {
                let count = (columns - first).min(LANES);
                let mut block = [_mm512_setzero_ps(); LANES];
                for (column, block) in block.iter_mut().enumerate().take(count) {
                    *block = _mm512_loadu_ps(slopes.add((row * columns + first + column) * LANES));
                }
                let live = first_lanes(count);
                for (map, line) in transposed(block).into_iter().enumerate() {
                    let at = (map * rows + row) * stride + K - 1 + first;
                    _mm512_mask_storeu_ps(planes.add(at), live, line);
                }
            }
        }
    }
}

/// Rows of an image's gradient at a time.
const ROWS: usize = 4;
/// Channels of an image's gradient at a time.
const CHANNELS: usize = 6;

/// Values of the weights in the order that [`pixels_image`] reads them.
fn turned_len(geometry: &Geometry) -> usize {
    geometry.channels.div_ceil(CHANNELS) * geometry.maps * K * K * CHANNELS
}

/// Lays the weights out by groups of channels, maps, taps, channels.
fn turn_weights(geometry: &Geometry, weights: &[f32], turned: &mut [f32]) {
    for (index, block) in turned.chunks_exact_mut(K * K * CHANNELS).enumerate() {
        let (group, map) = (index / geometry.maps, index % geometry.maps);
        for (at, value) in block.iter_mut().enumerate() {
            let (tap, channel) = (at / CHANNELS, group * CHANNELS + at % CHANNELS);
            *value = if channel < geometry.channels {
                weights[(channel * K * K + tap) * geometry.weight_stride + map]
            } else {
                0.0
            };
        }
    }
}

/// The image's gradient in `C` channels from `channel` on, through sixteen maps
/// from `map` on. The first maps overwrite it, the others add.
///
/// # Safety
/// As [`backward`]; the channels are there.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn pixels_image<const C: usize>(
    geometry: &Geometry,
    map: usize,
    channel: usize,
    turned: *const f32,
    planes: *const f32,
    image_gradient: *mut f32,
) {
    let Geometry {
        maps,
        height,
        width,
        stride,
        rows,
        ..
    } = *geometry;
    let plane_stride = margin_stride(geometry);
    // SAFETY: rows of slopes have margins of `K - 1` on both sides, up to whole
    // registers of the image's width; rows of the image are whole registers.
    unsafe {
        let turned = turned.add((channel / CHANNELS * maps + map) * K * K * CHANNELS);
        for first in (0..height).step_by(ROWS) {
            for block in (0..width).step_by(LANES) {
                let place =
                    |c: usize, row: usize| ((channel + c) * height + first + row) * stride + block;
                let mut sums = [[_mm512_setzero_ps(); C]; ROWS];
                if map > 0 {
                    for (row, sums) in sums.iter_mut().enumerate().take(height - first) {
                        for (c, sum) in sums.iter_mut().enumerate() {
                            *sum = _mm512_loadu_ps(image_gradient.add(place(c, row)));
                        }
                    }
                }
                // Which of the rows of slopes that these rows of the image meet
                // there are: rows `first - (K - 1) + AHEAD`.
                let meets = |ahead: usize| (K - 1..rows + K - 1).contains(&(first + ahead));
                for o in 0..(maps - map).min(LANES) {
                    let weights = turned.add(o * K * K * CHANNELS);
                    let plane = planes
                        .add(o * rows * plane_stride + block + K - 1)
                        .wrapping_add(first * plane_stride)
                        .wrapping_sub((K - 1) * plane_stride);
                    macro_rules! lines {
                        ($($ahead:literal)*) => {$(
                            if meets($ahead) {
                                let line = plane.wrapping_add($ahead * plane_stride);
                                each_column!(image_tap::<C, $ahead>(&mut sums, line, weights));
                            }
                        )*};
                    }
                    lines!(0 1 2 3 4 5 6 7);
                }
                for (row, sums) in sums.iter().enumerate().take(height - first) {
                    for (c, sum) in sums.iter().enumerate() {
                        _mm512_storeu_ps(image_gradient.add(place(c, row)), *sum);
                    }
                }
            }
        }
    }
}

/// What row `AHEAD` of slopes, moved by column `KX` of the kernels, adds to the
/// rows of the image's gradient that its kernels reach.
///
/// # Safety
/// As [`pixels_image`], which it is a part of.
#[inline(always)]
unsafe fn image_tap<const C: usize, const AHEAD: usize, const KX: usize>(
    sums: &mut [[__m512; C]; ROWS],
    line: *const f32,
    weights: *const f32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let slope = _mm512_loadu_ps(line.sub(KX));
        for (row, sums) in sums.iter_mut().enumerate() {
            // The kernel's row between the two, if there is one.
            let Some(ky) = (row + K - 1).checked_sub(AHEAD) else {
                continue;
            };
            if ky < K {
                for (c, sum) in sums.iter_mut().enumerate() {
                    let weight = _mm512_set1_ps(*weights.add((ky * K + KX) * CHANNELS + c));
                    *sum = _mm512_fmadd_ps(slope, weight, *sum);
                }
            }
        }
    }
}
