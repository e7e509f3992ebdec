//! The vocabulary of Paceline: the nouns every other crate shares.
//!
//! A *run* is one execution of a trial. While it lasts, probes emit [`Sample`]s
//! and workers emit [`Event`]s and, in a training, [`Iteration`]s; when it ends it
//! has an [`Outcome`]. Quantities are in SI base units and the unit is the last
//! part of a serialized name (`net_rx_bytes`, `cpu_user_s`). How people type a time,
//! a size or a rate is said in [`quantity`], and what they meant by a mistyped name
//! in [`spelling`].
//!
//! This crate deliberately does nothing: no I/O, no clock, no serde. Formats
//! are owned by the crate that writes them, so that renaming a field here can
//! never break a record on disk.

mod error_chain;
mod event;
mod id;
mod iteration;
mod level;
mod machine;
mod measure;
mod named;
mod notice;
mod outcome;
mod process_name;
pub mod quantity;
mod run_value;
mod sample;
pub mod spelling;
mod stream;
mod time;
mod worker_metric;

pub use error_chain::error_chain;
pub use event::{EndAsked, Event, EventKind, ExitStatus, Lifecycle};
pub use id::{NodeName, RunId, RunIdError, WorkerId};
pub use iteration::Iteration;
pub use level::Level;
pub use machine::Machine;
pub use measure::{Aggregate, Measure, PartKind, PartMeasure, Unit};
pub use notice::RunNotice;
pub use outcome::{Outcome, Verdict};
pub use process_name::ProcessName;
pub use run_value::RunValue;
pub use sample::{GapReason, PartReading, PartReadings, Readings, Sample};
pub use stream::Stream;
pub use time::Micros;
pub use worker_metric::{WorkerMetric, waited_for_metric, waited_for_of};
