//! Direct convolutions of 5 × 5 with pooling, for AVX-512.
//!
//! Nothing is gathered into a matrix: sums stay in registers from the first tap
//! to the pooled value. Where the maps lie as planes, a register holds sixteen
//! pixels of a map and the kernel's weights are broadcast; where they lie pixel
//! by pixel, it holds sixteen maps of a pixel and the image's pixels are
//! broadcast.
//!
//! Each order of maps has a file of its own; what they share is here.

#![expect(
    unsafe_code,
    reason = "register blocks over raw pointers, checked by the callers"
)]

mod pixels_backward;
mod pixels_forward;
mod planes;

use std::arch::x86_64::__mmask16;

use super::{ConvPool, MapOrder, OneBackward};
use crate::AlignedBuffer;

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
        MapOrder::Planes => planes::scratch_len(&geometry),
        MapOrder::Pixels => pixels_backward::scratch_len(&geometry),
    }
}

/// Ones for the first `count` lanes.
#[inline(always)]
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

use {by_count, each_column};

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
                planes::forward(geometry, image, weights, bias, pooled, choices);
            }
            MapOrder::Pixels => {
                pixels_forward::forward(geometry, image, weights, bias, pooled, choices);
            }
        }
    }
}

/// Prepares what [`backward`] keeps in scratch from image to image.
pub(crate) fn begin(shape: &ConvPool, weights: &[f32], scratch: &mut [f32]) {
    let geometry = shape.geometry();
    match geometry.order {
        MapOrder::Planes => planes::begin(&geometry, scratch),
        MapOrder::Pixels => pixels_backward::begin(&geometry, weights, scratch),
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
        planes::finish(&geometry, weight_gradient, bias_gradient, scratch);
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
            MapOrder::Planes => planes::backward(geometry, buffers),
            MapOrder::Pixels => pixels_backward::backward(geometry, buffers),
        }
    }
}
