//! Direct convolutions of 5 × 5 with pooling, for AVX-512.
//!
//! Nothing is gathered into a matrix: sums stay in registers from the first tap
//! to the pooled value. Where the maps lie as planes, a register holds sixteen
//! pixels of a map and the kernel's weights are broadcast; where they lie pixel
//! by pixel, it holds sixteen maps of a pixel and the image's pixels are
//! broadcast.

#![expect(
    unsafe_code,
    reason = "register blocks over raw pointers, checked by the callers"
)]

use std::arch::x86_64::*;

use crate::AlignedBuffer;
use crate::conv::{ConvPool, Geometry, MapOrder, OneBackward};
use crate::x86::transposed;

/// The kernel's side, which the register blocks are cut for.
const K: usize = 5;
/// Pixels or maps in a register.
const LANES: usize = AlignedBuffer::LANES;

/// Whether these kernels know the shape.
pub(crate) fn covers(shape: &ConvPool) -> bool {
    shape.geometry().kernel == K
}

/// Scratch values that the way back needs.
pub(crate) fn scratch_len(shape: &ConvPool) -> usize {
    let geometry = shape.geometry();
    match geometry.order {
        MapOrder::Planes => {
            let sums = geometry.maps * (geometry.taps + 1) * LANES;
            sums + geometry.maps * geometry.rows * slope_stride(&geometry)
        }
        MapOrder::Pixels => {
            // Slopes and places of pooled pixels, slopes of all pixels.
            turned_len(&geometry)
                + pooled_pixels(&geometry) * 2 * LANES
                + geometry.rows * geometry.columns * LANES
                + LANES * geometry.rows * margin_stride(&geometry)
        }
    }
}

fn pooled_pixels(geometry: &Geometry) -> usize {
    geometry.rows * geometry.columns / 4
}

/// Values from one row of unpooled slopes to the next, as planes: whole pairs
/// of registers.
fn slope_stride(geometry: &Geometry) -> usize {
    geometry.columns.next_multiple_of(2 * LANES)
}

/// Values from one row to the next where rows have a margin for the kernel on
/// both sides and are read in whole registers.
fn margin_stride(geometry: &Geometry) -> usize {
    geometry.width.next_multiple_of(LANES) + K - 1
}

/// Ones for the first `count` lanes.
fn first_lanes(count: usize) -> __mmask16 {
    if count >= LANES { !0 } else { (1 << count) - 1 }
}

/// Calls `$function::<N>` with `N` the number of a group's members.
macro_rules! by_count {
    ($count:expr, [$($n:literal),*], $call:ident $arguments:tt) => {
        match $count {
            $($n => by_count!(@one $n, $call $arguments),)*
            _ => unreachable!("a group has at most as many members as it was cut for"),
        }
    };
    (@one $n:literal, $call:ident ($($argument:expr),* $(,)?)) => {
        $call::<$n>($($argument),*)
    };
}

/// Calls a function for each of the kernel's columns, as its last const
/// argument. The compiler keeps a loop over them as a loop, with sums in memory.
macro_rules! each_column {
    ($function:ident::<$($generic:tt),*> $arguments:tt) => {{
        each_column!(@one $function [$($generic),*] 0 $arguments);
        each_column!(@one $function [$($generic),*] 1 $arguments);
        each_column!(@one $function [$($generic),*] 2 $arguments);
        each_column!(@one $function [$($generic),*] 3 $arguments);
        each_column!(@one $function [$($generic),*] 4 $arguments);
    }};
    (@one $function:ident [$($generic:tt),*] $kx:literal ($($argument:expr),* $(,)?)) => {
        $function::<$($generic,)* $kx>($($argument),*)
    };
}

/// One image forward.
///
/// # Safety
/// The machine has AVX-512 F, VL, DQ, BW and BMI2. Each slice is as long as the
/// shape says, [`covers`] holds.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
pub(crate) unsafe fn forward(
    shape: &ConvPool,
    image: &[f32],
    weights: &[f32],
    bias: &[f32],
    pooled: &mut [f32],
    choices: &mut [f32],
) {
    let geometry = &shape.geometry();
    let (image, weights, bias) = (image.as_ptr(), weights.as_ptr(), bias.as_ptr());
    let (pooled, choices) = (pooled.as_mut_ptr(), choices.as_mut_ptr());
    // SAFETY: groups of maps and blocks of pixels lie within the shape.
    unsafe {
        match geometry.order {
            MapOrder::Planes => {
                for map in (0..geometry.maps).step_by(6) {
                    let count = (geometry.maps - map).min(6);
                    by_count!(
                        count,
                        [1, 2, 3, 4, 5, 6],
                        planes_forward(geometry, map, image, weights, bias, pooled, choices)
                    );
                }
            }
            MapOrder::Pixels => {
                for map in (0..geometry.maps).step_by(LANES) {
                    for row in 0..geometry.rows / 2 {
                        let mut column = 0;
                        while column < geometry.columns {
                            let count = (geometry.columns - column).min(12);
                            by_count!(
                                count,
                                [2, 4, 6, 8, 10, 12],
                                pixels_forward(
                                    geometry,
                                    [map, row, column],
                                    image,
                                    weights,
                                    bias,
                                    pooled,
                                    choices,
                                )
                            );
                            column += count;
                        }
                    }
                }
            }
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

/// Prepares what [`backward`] keeps in scratch from image to image.
pub(crate) fn begin(shape: &ConvPool, weights: &[f32], scratch: &mut [f32]) {
    let geometry = shape.geometry();
    match geometry.order {
        MapOrder::Planes => scratch[..geometry.maps * (geometry.taps + 1) * LANES].fill(0.0),
        MapOrder::Pixels => {
            let (turned, rest) = scratch.split_at_mut(turned_len(&geometry));
            turn_weights(&geometry, weights, turned);
            // The margins of the slopes' rows stay zero.
            rest[..scratch_len(shape) - turned.len()].fill(0.0);
        }
    }
}

/// Adds up the lanes of the sums that [`backward`] kept.
pub(crate) fn finish(
    shape: &ConvPool,
    weight_gradient: &mut [f32],
    bias_gradient: &mut [f32],
    scratch: &[f32],
) {
    let geometry = shape.geometry();
    if geometry.order == MapOrder::Planes {
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
}

/// One image back, after [`begin`] and before [`finish`].
///
/// # Safety
/// As [`forward`]; scratch holds [`scratch_len`] values. Only images convolved
/// to [`MapOrder::Pixels`] have a gradient.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
pub(crate) unsafe fn backward(shape: &ConvPool, buffers: OneBackward<'_>) {
    let geometry = &shape.geometry();
    // SAFETY: the caller's promise.
    unsafe {
        match geometry.order {
            MapOrder::Planes => planes_backward(geometry, buffers),
            MapOrder::Pixels => pixels_backward(geometry, buffers),
        }
    }
}

/// # Safety
/// As [`backward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn planes_backward(geometry: &Geometry, buffers: OneBackward<'_>) {
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
/// As [`planes_backward`].
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
/// As [`planes_backward`]; the maps are there.
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

/// # Safety
/// As [`backward`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
unsafe fn pixels_backward(geometry: &Geometry, buffers: OneBackward<'_>) {
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
/// As [`pixels_backward`].
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
/// As [`pixels_backward`].
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
/// As [`pixels_backward`].
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
/// As [`pixels_backward`]; the channels are there.
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
