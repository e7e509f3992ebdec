//! The training images of MNIST, as they are distributed.
//!
//! They are a crate of their own because a registry takes packages of at most 10 MB:
//! together with the other data sets they are more. Where they come from, and their
//! licence, is in `crates/data/data/mnist/README.md`. It deliberately does not read
//! them.

/// `train-images-idx3-ubyte.gz`: 60,000 images of 28 by 28 pixels.
pub static TRAIN_IMAGES: &[u8] = include_bytes!("../data/train-images-idx3-ubyte.gz");
