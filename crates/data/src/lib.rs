//! Data sets: rows of features with a class for each, ready to train on.
//!
//! [`open`] turns a [`DataSpec`] (what a user typed: `mnist`, `tweets`,
//! `synthetic:dense,…`, a file or a directory) into a [`Split`] of training
//! and test rows. A [`DataSet`] is immutable, its memory is shared by all
//! clones and slices, and it may lie in a memory-mapped file.
//!
//! Reading is strict: a file that is not what its format promises is an error
//! with its place, what was expected and what was found, never a shorter data
//! set.
//!
//! This crate deliberately does not standardise, augment or impute: what a
//! file says is what a model sees. It reads no environment and no clock, and
//! it downloads nothing. Labels are classes; there is no regression target.

mod builtin;
mod cache;
mod chance;
mod classes;
mod csr;
mod csv;
mod dataset;
mod error;
mod files;
mod format;
mod idx;
mod libsvm;
mod lines;
mod mapped;
mod npy;
mod number;
mod open;
mod options;
mod order;
mod shared;
mod source;
mod spec;
mod split;
mod synthetic;
mod text;
mod tweets;

pub use cache::{Cache, CacheError};
pub use csr::{Csr, CsrError};
pub use csv::{Columns, Header, LabelColumn};
pub use dataset::{DataSet, Features, Labels, ShapeError, Split};
pub use error::{Difference, Malformed, OpenDataError, Position};
pub use format::{Format, FormatError};
pub use open::{open, open_noting};
pub use options::Options;
pub use order::{epoch_order_into, shard};
pub use shared::{Bytes, Element, Floats, Ids, Offsets, Shared};
pub use spec::{DataSpec, DataSpecError};
pub use split::{Fold, Holdout, HoldoutError, Parts, TestFraction, stratified};
pub use synthetic::{Blobs, BlobsTruth, Generated, Law, Logistic, LogisticTruth};
pub use text::{
    Encoding, LabelSource, Mood, Neutral, TextEncoder, TextOptions, TextOptionsError, TooWideError,
    Words,
};
