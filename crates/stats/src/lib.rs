//! Statistics people can trust: formulas, least squares, analysis of variance,
//! effects, and the checks that say whether to believe them.
//!
//! This crate deliberately reads no file and draws no plot: tables come in as
//! columns already read, results go out as numbers and sentences.

pub mod checks;
