//! Statistics people can trust: formulas, least squares, analysis of variance,
//! effects, and the checks that say whether to believe them.
//!
//! A [`table::Table`] and a [`formula::Formula`] make a
//! [`formula::ModelFrame`]; a [`matrix::ModelMatrix`] codes it, [`fit::fit`]
//! solves it, and everything else reads the [`fit::Fit`]:
//!
//! ```
//! use paceline_stats::anova::{Anova, AnovaType};
//! use paceline_stats::fit::{FitOptions, fit};
//! use paceline_stats::formula::{Formula, FrameOptions};
//! use paceline_stats::matrix::{Contrast, ModelMatrix};
//! use paceline_stats::table::{Column, Table};
//!
//! let table = Table::new(vec![
//!     Column::numeric("workers", vec![1.0, 1.0, 2.0, 2.0, 4.0, 4.0]),
//!     Column::numeric("time", vec![9.8, 10.1, 6.2, 5.9, 3.4, 3.7]),
//! ])?;
//! let frame = Formula::parse("time ~ C(workers)")?.frame(&table, &FrameOptions::default())?;
//! let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
//! let model = fit(&matrix, &FitOptions::default())?;
//! let anova = Anova::of(&model, AnovaType::II)?;
//! assert_eq!(anova.rows[0].df, 2);
//! assert!(anova.rows[0].test.is_some_and(|test| test.p < 0.001));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`analysis::analyze`] does all of that at once and says what it means.
//!
//! Numbers are computed so that they can be compared with certified ones: the
//! model matrix is factored by Householder reflections, block by block, in
//! `f64` or, where the problem is small or nearly collinear, in 32 digits. The
//! result does not depend on the number of cores.
//!
//! This crate deliberately reads no file, draws no plot, asks no clock and keeps
//! no state: tables come in as columns already read, seeds as arguments, results
//! go out as numbers and sentences. It fits linear models only; predictors that
//! learn live elsewhere.

pub mod analysis;
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
pub mod marginal;
pub mod matrix;
mod parallel;
pub mod table;
