//! Gaussian-process regression with a Matérn 5/2 kernel and noise.

mod ascent;
mod averaged;
mod kernel;
mod likelihood;
mod regressor;

pub use averaged::{
    AveragedPrediction, AveragedProcess, AveragedProcessModel, AveragedProcessParams, LeftOut,
};
pub use kernel::Kernel;
pub use regressor::{
    GaussianProcess, GaussianProcessModel, GaussianProcessParams, GpPrediction, Hyperparameters,
};
