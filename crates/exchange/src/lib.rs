//! Runs and studies for other tools, and other tools' runs for Paceline.
//!
//! - [`Source`] is what is exported: one run, or all runs of a study.
//! - [`write_tables`] makes tables of it: CSV, JSON lines, Parquet, Arrow. A study
//!   becomes one set of tables whose rows say which run they are of.
//! - [`tensorboard`] and [`openmetrics`] write the files of those programs,
//!   [`mlflow`] talks to its server.
//! - [`import`] makes a table for `analyze` and `pick` of what MLflow, Weights &
//!   Biases, Optuna or Spark have kept.
//!
//! Every file is whole or absent. Secrets are as the record has them: removed.
//!
//! This crate deliberately interprets nothing: what is exported is what was
//! recorded, and what is imported is what the other tool says. It reads neither a
//! clock nor the environment.

mod error;
mod http;
pub mod import;
pub mod mlflow;
pub mod openmetrics;
mod source;
mod tables;
pub mod tensorboard;

pub use error::ExportError;
pub use http::{HttpError, Server};
pub use source::{Source, SourceRun};
pub use tables::{TableFormat, write_tables};

/// Is told how much of the work is done: so many of so many steps, and which one
/// comes now.
pub type Progress<'a> = dyn FnMut(usize, usize, &str) + 'a;
