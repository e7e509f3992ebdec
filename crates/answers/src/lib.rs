//! From results to answers.
//!
//! Every question that Paceline answers from runs that were made has one path
//! here, whoever asks: the terminal, the page of `report`, or another program.
//!
//! ```no_run
//! use paceline_answers::pick::{PickQuestion, pick};
//! use paceline_answers::results::Results;
//!
//! let results = Results::open("study.study".as_ref())?;
//! let question = PickQuestion {
//!     deadline_s: Some(300.0),
//!     ..PickQuestion::default()
//! };
//! println!("{:#}", pick(&results, &question)?.json());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`results`] opens a study's directory, from its plan and journal, or a CSV
//!   file; one rule says which runs count.
//! - [`analyze`], [`predict`], [`pick`] and [`size`] answer what matters, what will
//!   be, what to run and with how many machines. [`Results::ask`] takes any of
//!   their questions.
//! - [`simulate`] says how a training would go on a cluster that was never run.
//! - [`promises`] holds what was promised of runs against what came.
//! - [`behaviour`] says which runs of a study behave alike, and which is odd.
//! - [`compare`] says whether runs differ, and in what.
//! - [`tune`] says what a search runs next, from the runs that have ended.
//! - [`design`] says what a planned study will be able to tell.
//! - [`report`] gathers all of it for a page: it asks the same questions.
//! - [`units`] says in which units a study's responses are.
//!
//! An error says whose fault it is and what to do about it ([`Explained`]).
//!
//! This crate deliberately prints nothing and lays nothing out: an answer is a
//! value with a form for programs (JSON); how people see it is the business of
//! the crate `report`. It reads files, and neither a clock nor the environment.
//!
//! [`Results::ask`]: results::Results::ask

pub mod analyze;
pub mod behaviour;
pub mod compare;
pub mod design;
pub mod disturbed;
mod error;
pub mod pick;
pub mod predict;
mod predictors;
pub mod promises;
mod question;
pub mod report;
pub mod results;
mod settings;
pub mod simulate;
pub mod size;
pub mod study_file;
pub mod tune;
pub mod units;

pub use error::{Explained, Fault};
pub use predictors::{FitError, Fitting, ProbabilityError};
pub use question::{Answer, AskError, Question};
pub use settings::{level_json, settings_json, written};
