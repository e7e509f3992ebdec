//! Models that learn by gradient.
//!
//! **All parameters of a model live in one flat, aligned `f32` buffer, and so
//! do its gradients; layers are views.** Servers and all-reduce then need no
//! copies, a checkpoint is one write, and an update is one loop.
//!
//! [`Model`] is the contract: a batch and the parameters in, a loss and the
//! gradient out, into memory the caller owns. A model holds no parameters and
//! no state, so one value serves every thread and every worker. [`Layout`]
//! names the parts of the buffer; [`Batch`] is what a model reads.
//!
//! [`ModelSpec`] names the models and builds them for the rows of a data set:
//! linear classifiers of dense and sparse rows, fully connected networks,
//! LeNet-5, and recurrent networks over tokens or the lines of an image.
//!
//! What is not here: data sets, optimisers, threads, files. A model computes
//! one shard of a batch on one thread; the trainer gives each thread a shard.

mod batch;
mod draw;
mod gradient;
mod layout;
mod lenet;
mod linear;
mod mlp;
mod model;
mod recurrent;
mod spec;
mod stack;

pub use batch::{Batch, Csr, Inputs};
pub use gradient::Gradient;
pub use layout::{Layout, LayoutBuilder, Segment, SegmentKind};
pub use lenet::{LeNet, LeNetSizeError, LeNetVariant};
pub use linear::{DenseLinear, MarginLoss, SparseLinear, SparseSoftmax};
pub use mlp::Mlp;
pub use model::{Input, Model, ModelBase, RowStep, Tally};
pub use recurrent::{Cell, Reading, RecurrentClassifier, RecurrentShape, Sequence};
pub use spec::{BuildModelError, ModelSpec, ParseModelError, RecurrentSpec, RowKind};
pub use stack::Activation;
