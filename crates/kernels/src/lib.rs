//! Compute kernels: what the trainer's time is spent in.
//!
//! - [`AlignedBuffer`]: zeroed `f32` storage on a cache-line boundary; all
//!   parameters of a model live in one, and so do its gradients.
//! - [`Isa`]: which instructions a kernel may use. Found at run time, or chosen
//!   for the whole process ([`Isa::choose`]); tests go through all of them.
//! - [`Work`]: a caller's own loops, compiled for each instruction set.
//! - [`Kernels`]: the kernels for one instruction set: matrix products with what
//!   follows them fused in ([`Kernels::gemm`]), convolution with pooling
//!   ([`ConvPool`]), softmax with its loss, activations, optimisers' updates
//!   ([`Slope`]), sums, transposes and conversions.
//! - [`Team`]: threads that wait for work by spinning, because a training step
//!   of a small model is shorter than waking a thread.
//!
//! All `unsafe` of the trainer's arithmetic is in this crate (that of memory
//! shared between processes is in `wire`). It knows nothing of models,
//! data sets or optimisers' schedules: it offers the loops they are made of.

mod activation;
mod buffer;
mod conv;
mod convert;
mod descent;
mod gemm;
mod isa;
mod kernels;
mod lstm_cell;
mod matrix;
mod reduce;
#[cfg(test)]
mod reference;
#[expect(
    unsafe_code,
    reason = "instructions, and vectors loaded from and stored to raw pointers"
)]
mod simd;
mod softmax;
mod sparse;
mod team;
mod update;
mod work;

pub use buffer::AlignedBuffer;
pub use conv::{ConvBackward, ConvForward, ConvPool, ConvShapeError, MapOrder};
pub use gemm::{Finish, Start};
pub use isa::{ChooseIsaError, Isa};
pub use kernels::Kernels;
pub use lstm_cell::LstmStep;
pub use matrix::{Matrix, MatrixMut};
pub use softmax::CrossEntropy;
pub use sparse::{prefetch, sparse_axpy, sparse_dot};
pub use team::{Member, Team};
pub use update::{AdamStep, Slope};
pub use work::{Vectors, Work};
