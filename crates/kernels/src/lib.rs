//! Compute kernels: what the trainer's time is spent in.
//!
//! - [`AlignedBuffer`]: zeroed `f32` storage on a cache-line boundary; all
//!   parameters of a model live in one, and so do its gradients.
//! - [`Isa`]: which instructions a kernel may use. Found once at run time;
//!   tests force each path.
//! - [`Team`]: threads that wait for work by spinning, because a training step
//!   of a small model is shorter than waking a thread.
//!
//! All `unsafe` of the trainer is in this crate. It knows nothing of models,
//! data sets or optimisers' schedules: it offers the loops they are made of.

mod buffer;
mod isa;
mod team;

pub use buffer::AlignedBuffer;
pub use isa::Isa;
pub use team::{Member, Team};
