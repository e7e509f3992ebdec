//! From a study's results to answers.
//!
//! Every question that Paceline answers from runs that were made has one path
//! here, whoever asks: the terminal, the page of `report`, or another program.
//!
//! - [`table_file`] and [`runs_table`] open results: a study's directory or a
//!   CSV file, and which of its rows count.
//! - [`predict`], [`pick`], [`size`] and [`tune`] answer what will be, what to
//!   run, with how many machines, and what to try next.
//! - [`design`] says what a planned study will be able to tell.
//! - [`report`] gathers what a page on a study shows.
//! - [`units`] says in which units a study's responses are.
//!
//! This crate deliberately prints nothing and lays nothing out: an answer is a
//! value with a form for programs (JSON); how people see it is the business of
//! `report`. It reads files, and neither a clock nor the environment.

pub mod design;
mod failure;
pub mod pick;
pub mod predict;
mod records;
pub mod report;
pub mod runs_table;
pub mod size;
pub mod study_file;
pub mod table_file;
pub mod tune;
pub mod units;

pub use failure::{Failure, Fault, error_chain};
pub use records::open as open_record;
