//! Statistics people can trust: formulas, least squares, analysis of variance,
//! effects, and the checks that say whether to believe them.
//!
//! This crate deliberately reads no file and draws no plot: tables come in as
//! columns already read, results go out as numbers and sentences.

pub mod anova;
pub mod box_cox;
mod cells;
pub mod checks;
pub mod collinearity;
pub mod contrast;
pub mod effects;
pub mod fit;
pub mod formula;
pub mod influence;
pub mod lack_of_fit;
mod lstsq;
pub mod matrix;
mod spelling;
pub mod table;
