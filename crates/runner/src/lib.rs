//! Executes runs.
//!
//! [`reports`] reads what a job says of itself.

pub mod reports;
