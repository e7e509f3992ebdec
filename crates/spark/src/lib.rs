//! Spark's event log, read: what an application did, what held it back, and how
//! long it would take otherwise.
//!
//! [`find`] names the logs in a folder, [`read`] makes an [`Application`] of one,
//! whatever state it is in: half written, rolled, damaged. [`Held`] says what held
//! the application back, by simulating its own tasks on other slots or without
//! what delayed them. [`Measure`] lists the numbers a run is given for it.
//!
//! The crate deliberately neither talks to a cluster nor prints: a log that lies
//! on another machine is not its business, and words for people are the report's.

mod application;
mod event;
mod held;
mod log;
mod measure;
mod simulate;
mod snappy;

pub use application::{Application, Executor, Job, Stage, Totals};
pub use held::{Cause, Held, Saving, WhatIf};
pub use log::{LogNotice, ReadLogError, find, read};
pub use measure::Measure;
