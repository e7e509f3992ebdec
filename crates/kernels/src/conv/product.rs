//! What a convolution by matrix products needs around them: values gathered
//! into a matrix and back, and pooling.

use crate::conv::{ConvPool, Geometry, MapOrder};
use crate::kernels::dispatch;
use crate::simd::Simd;
use crate::{AlignedBuffer, Kernels};

impl Kernels {
    /// Copies what each pixel's kernel meets into a matrix: taps by pixels where
    /// maps are planes, else pixels by taps.
    pub(crate) fn gather(self, shape: &ConvPool, image: &[f32], columns: &mut [f32]) {
        let geometry = shape.geometry();
        dispatch!(self => gather(geometry: Geometry, image: &[f32], columns: &mut [f32]));
    }

    /// The reverse of [`Kernels::gather`]: adds up what belongs to the same
    /// value.
    pub(crate) fn scatter(self, shape: &ConvPool, columns: &[f32], image: &mut [f32]) {
        let geometry = shape.geometry();
        dispatch!(self => scatter(geometry: Geometry, columns: &[f32], image: &mut [f32]));
    }

    /// The largest of each four pixels plus the bias, and which it was.
    pub(crate) fn pool(
        self,
        shape: &ConvPool,
        maps: &[f32],
        bias: &[f32],
        pooled: &mut [f32],
        choices: &mut [f32],
    ) {
        let geometry = shape.geometry();
        dispatch!(self => pool(
            geometry: Geometry,
            maps: &[f32],
            bias: &[f32],
            pooled: &mut [f32],
            choices: &mut [f32],
        ));
    }

    /// The reverse of [`Kernels::pool`]: each slope goes to the pixel that was
    /// chosen, and is added to the gradient of the bias.
    pub(crate) fn unpool(
        self,
        shape: &ConvPool,
        slope: &[f32],
        choices: &[f32],
        bias_gradient: &mut [f32],
        slopes: &mut [f32],
    ) {
        let geometry = shape.geometry();
        dispatch!(self => unpool(
            geometry: Geometry,
            slope: &[f32],
            choices: &[f32],
            bias_gradient: &mut [f32],
            slopes: &mut [f32],
        ));
    }
}

/// Calls `$body` with each run of values that lie side by side both in the
/// matrix and in the image: where they begin, and how many there are.
macro_rules! each_run {
    ($geometry:ident, |$at:ident, $from:ident, $len:ident| $body:block) => {{
        let Geometry {
            channels,
            kernel,
            height,
            stride,
            taps,
            rows,
            columns: width,
            ..
        } = $geometry;
        match $geometry.order {
            MapOrder::Planes => {
                let $len = width;
                for tap in 0..taps {
                    let line = tap / kernel;
                    let (channel, ky) = (line / kernel, line % kernel);
                    for row in 0..rows {
                        let $from = (channel * height + row + ky) * stride + tap % kernel;
                        let $at = (tap * rows + row) * width;
                        $body
                    }
                }
            }
            MapOrder::Pixels => {
                let $len = kernel;
                for row in 0..rows {
                    for column in 0..width {
                        for line in 0..channels * kernel {
                            let (channel, ky) = (line / kernel, line % kernel);
                            let $from = (channel * height + row + ky) * stride + column;
                            let $at = (row * width + column) * taps + line * kernel;
                            $body
                        }
                    }
                }
            }
        }
    }};
}

#[inline(always)]
fn gather<S: Simd>(_: S, geometry: Geometry, image: &[f32], columns: &mut [f32]) {
    each_run!(geometry, |at, from, len| {
        let (to, from) = (&mut columns[at..at + len], &image[from..from + len]);
        if let (Ok(to), Ok(from)) = (
            <&mut [f32; 5]>::try_from(&mut *to),
            <&[f32; 5]>::try_from(from),
        ) {
            // The usual kernel: five moves instead of a call.
            *to = *from;
        } else {
            to.copy_from_slice(from);
        }
    });
}

#[inline(always)]
fn scatter<S: Simd>(_: S, geometry: Geometry, columns: &[f32], image: &mut [f32]) {
    image.fill(0.0);
    each_run!(geometry, |at, from, len| {
        let (to, from) = (&mut image[from..from + len], &columns[at..at + len]);
        if let (Ok(to), Ok(from)) = (
            <&mut [f32; 5]>::try_from(&mut *to),
            <&[f32; 5]>::try_from(from),
        ) {
            for (to, from) in to.iter_mut().zip(from) {
                *to += *from;
            }
        } else {
            for (to, from) in to.iter_mut().zip(from) {
                *to += *from;
            }
        }
    });
}

/// The largest of four and which it is: 0 and 1 above, 2 and 3 below. Of equals
/// the left one, and there the upper one.
#[inline(always)]
fn largest([a, b, c, d]: [f32; 4]) -> (f32, f32) {
    let (left, left_choice) = if c > a { (c, 2.0) } else { (a, 0.0) };
    let (right, right_choice) = if d > b { (d, 3.0) } else { (b, 1.0) };
    if right > left {
        (right, right_choice)
    } else {
        (left, left_choice)
    }
}

#[inline(always)]
fn pool<S: Simd>(
    _: S,
    geometry: Geometry,
    maps: &[f32],
    bias: &[f32],
    pooled: &mut [f32],
    choices: &mut [f32],
) {
    let (rows, width) = (geometry.rows, geometry.columns);
    match geometry.order {
        MapOrder::Planes => {
            pooled.fill(0.0);
            choices.fill(0.0);
            let stride = geometry.pooled_stride;
            let lines = pooled
                .chunks_exact_mut(stride)
                .zip(choices.chunks_exact_mut(stride));
            let pairs = maps.chunks_exact(2 * width).take(geometry.maps * rows / 2);
            for (index, ((pooled, choices), pair)) in lines.zip(pairs).enumerate() {
                let bias = bias[index / (rows / 2)];
                let (upper, lower) = pair.split_at(width);
                let pixels = upper
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .zip(lower.as_chunks::<2>().0);
                let results = pooled.iter_mut().zip(choices);
                for ((pooled, choice), (upper, lower)) in results.zip(pixels) {
                    let (value, which) = largest([upper[0], upper[1], lower[0], lower[1]]);
                    *pooled = value + bias;
                    *choice = which;
                }
            }
        }
        MapOrder::Pixels => {
            let (count, stride) = (geometry.maps, AlignedBuffer::padded(geometry.maps));
            let results = pooled
                .chunks_exact_mut(count)
                .zip(choices.chunks_exact_mut(count));
            for (index, (pooled, choices)) in results.enumerate() {
                let corner = 2 * (index / (width / 2)) * width + 2 * (index % (width / 2));
                let four = [0, 1, width, width + 1]
                    .map(|pixel| &maps[(corner + pixel) * stride..][..count]);
                for map in 0..count {
                    let (value, which) = largest(four.map(|maps| maps[map]));
                    pooled[map] = value + bias[map];
                    choices[map] = which;
                }
            }
        }
    }
}

#[inline(always)]
fn unpool<S: Simd>(
    _: S,
    geometry: Geometry,
    slope: &[f32],
    choices: &[f32],
    bias_gradient: &mut [f32],
    slopes: &mut [f32],
) {
    let (rows, width) = (geometry.rows, geometry.columns);
    match geometry.order {
        MapOrder::Planes => {
            let stride = geometry.pooled_stride;
            let lines = slope.chunks_exact(stride).zip(choices.chunks_exact(stride));
            let pairs = slopes
                .chunks_exact_mut(2 * width)
                .take(geometry.maps * rows / 2);
            for (index, ((slope, choices), pair)) in lines.zip(pairs).enumerate() {
                let (upper, lower) = pair.split_at_mut(width);
                let pixels = upper
                    .as_chunks_mut::<2>()
                    .0
                    .iter_mut()
                    .zip(lower.as_chunks_mut::<2>().0);
                let mut sum = 0.0;
                for ((slope, choice), (upper, lower)) in slope.iter().zip(choices).zip(pixels) {
                    sum += slope;
                    let [a, b, c, d] = spread(*slope, *choice);
                    (*upper, *lower) = ([a, b], [c, d]);
                }
                bias_gradient[index / (rows / 2)] += sum;
            }
        }
        MapOrder::Pixels => {
            let (count, stride) = (geometry.maps, AlignedBuffer::padded(geometry.maps));
            let lines = slope.chunks_exact(count).zip(choices.chunks_exact(count));
            for (index, (slope, choices)) in lines.enumerate() {
                let corner = 2 * (index / (width / 2)) * width + 2 * (index % (width / 2));
                for (sum, slope) in bias_gradient.iter_mut().zip(slope) {
                    *sum += slope;
                }
                for (quarter, pixel) in [0, 1, width, width + 1].into_iter().enumerate() {
                    let to = &mut slopes[(corner + pixel) * stride..][..count];
                    for ((to, slope), choice) in to.iter_mut().zip(slope).zip(choices) {
                        *to = if *choice == quarter as f32 {
                            *slope
                        } else {
                            0.0
                        };
                    }
                }
            }
        }
    }
}

/// The slope at the chosen of four pixels, zero at the others.
#[inline(always)]
fn spread(slope: f32, choice: f32) -> [f32; 4] {
    [0.0, 1.0, 2.0, 3.0].map(|quarter| if choice == quarter { slope } else { 0.0 })
}
