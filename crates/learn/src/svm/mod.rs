//! Support vector machines.
//!
//! `linear` separates by hyperplanes and takes time proportional to the values
//! stored; `kernel` separates by a kernel and takes time between quadratic and
//! cubic in the rows.

mod kernel;
mod linear;

pub use kernel::{
    KernelSvm, KernelSvmModel, KernelSvmParams, KernelSvmParts, SupportVectors, SvmKernel,
};
pub use linear::{
    HingeLoss, LinearClassifier, LinearClassifierModel, LinearClassifierParams,
    LinearClassifierParts, LinearLoss, LinearMethod, SmoothLoss,
};
