//! Kernel support vector machines: sequential minimal optimisation over cached
//! rows of the kernel matrix, one machine per pair of classes.
//!
//! A kernel value is computed the same way whatever block it is computed in, so
//! a machine depends neither on the size of the cache nor on the number of
//! threads.

mod cache;
mod classifier;
mod exponential;
mod function;
mod model;
mod points;
mod products;
mod smo;
mod stored;

pub use classifier::{KernelSvm, KernelSvmParams};
pub use function::SvmKernel;
pub use model::KernelSvmModel;
pub use stored::{KernelSvmParts, SupportVectors};
