//! From measurements to advice.
//!
//! [`diagnose`] says what held a run back, from its samples. [`queue`] says how
//! long jobs wait and how many a cluster can take.
//!
//! This crate deliberately reads no files and prints nothing: it takes what a
//! record holds and returns findings with their evidence; how they look is the
//! report's business.

pub mod diagnose;
pub mod least_squares;
pub mod predict;
pub mod queue;
pub mod runs;
