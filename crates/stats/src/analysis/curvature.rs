//! Whether the response bends where the model draws a straight line.

use super::AnalysisOptions;
use super::fit_options;
use crate::checks::holm;
use crate::fit::{Fit, fit, upper_f};
use crate::formula::{Coding, ModelFrame, Shape};
use crate::matrix::{Contrast, ModelMatrix};

/// The test of squared terms that the model does not have. It needs no
/// replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Curvature {
    /// The F statistic of all squares together.
    pub f: f64,
    /// Their degrees of freedom.
    pub df: usize,
    /// Degrees of freedom left for error.
    pub residual_df: usize,
    /// The p-value of all squares together.
    pub p: f64,
    /// Each square that could be told from the others.
    pub bends: Vec<Bend>,
    /// How many runs were looked at, where that is not all.
    pub sampled: Option<usize>,
}

/// The test of one squared term, or of several that these runs cannot tell apart
/// (the centre points of a two-level design).
#[derive(Clone, Debug, PartialEq)]
pub struct Bend {
    /// The columns, one or more.
    pub columns: Vec<String>,
    /// The p-value after Holm's correction for all bends.
    pub adjusted: f64,
    /// Whether the response lies above the straight line in the middle.
    pub up_in_the_middle: bool,
}

/// Larger fits are tested on a sample of the rows.
const WORK: usize = 50_000_000;

impl Curvature {
    /// The bends that are significant.
    pub(super) fn clear(&self, level: f64) -> Vec<&Bend> {
        let clear = self.bends.iter().filter(|bend| bend.adjusted < level);
        clear.filter(|_| self.p < level || self.df == 1).collect()
    }
}

/// The columns that enter as a straight line and nowhere else, with their
/// squares from the middle of their range.
fn squares(frame: &ModelFrame) -> Vec<(String, Vec<f64>)> {
    let mut squares = Vec::new();
    for (index, variable) in frame.variables().iter().enumerate() {
        let alone = |name: &str| {
            let users = frame.variables().iter();
            users
                .filter(|other| other.columns().contains(&name))
                .count()
                == 1
        };
        let main = frame.terms().iter().any(|term| *term.variables == [index]);
        let line = variable.shape() == Some(Shape::Line) && variable.coding() == Coding::Numeric;
        let Some(name) = variable.column().filter(|name| main && line && alone(name)) else {
            continue;
        };
        if frame.has_at_most(2, index) {
            continue;
        }
        let Some(values) = frame.column_values(name) else {
            continue;
        };
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (middle, half) = (f64::midpoint(low, high), high / 2.0 - low / 2.0);
        let from_middle = values.iter().map(|value| ((value - middle) / half).powi(2));
        squares.push((name.to_owned(), from_middle.collect()));
    }
    squares
}

/// The test, if a number with three values or more enters as a straight line and
/// runs are left to judge by.
pub(super) fn curvature(model: &Fit<'_>, options: &AnalysisOptions<'_>) -> Option<Curvature> {
    let whole = model.matrix().frame();
    if model.is_exact() {
        return None;
    }
    let work = whole
        .len()
        .saturating_mul((model.rank() + whole.variables().len()).pow(2));
    let sample;
    let (frame, sampled) = match work > WORK {
        true => {
            sample = whole.sample();
            let size = sample.len();
            (&sample, (size < whole.len()).then_some(size))
        }
        false => (whole, None),
    };
    let squares = squares(frame);
    if squares.is_empty() {
        return None;
    }
    let base_rank;
    let base_square;
    match sampled {
        None => (base_rank, base_square) = (model.rank(), model.residual_sum_of_squares()),
        Some(_) => {
            let matrix = ModelMatrix::new(frame, Contrast::Treatment);
            let base = fit(&matrix, &fit_options(options)).ok()?;
            (base_rank, base_square) = (base.rank(), base.residual_sum_of_squares());
        }
    }
    let first = frame.terms().len();
    let names: Vec<String> = squares.iter().map(|(name, _)| name.clone()).collect();
    let wider = frame.with_terms(squares);
    let matrix = ModelMatrix::new(&wider, Contrast::Treatment);
    let bent = fit(&matrix, &fit_options(options)).ok()?;
    let df = bent.rank().checked_sub(base_rank).filter(|&df| df > 0)?;
    let error = bent.error_variance();
    let f = (base_square - bent.residual_sum_of_squares()).max(0.0) / df as f64 / error;
    if bent.is_exact() || !f.is_finite() {
        return None;
    }
    let mut bends: Vec<Bend> = Vec::new();
    for (position, name) in names.iter().enumerate() {
        let Some(own) = bent
            .coefficients()
            .iter()
            .find(|coefficient| coefficient.term == Some(first + position))
        else {
            continue;
        };
        // Squares that equal this one in every run are part of the same bend.
        let same = bent.aliases().iter().filter(|alias| {
            let made_of_it = alias.equals.iter().any(|(_, column)| *column == own.name);
            made_of_it && alias.term.is_some_and(|term| term >= first)
        });
        let others = same.filter_map(|alias| names.get(alias.term? - first).cloned());
        bends.push(Bend {
            columns: std::iter::once(name.clone()).chain(others).collect(),
            adjusted: own.p,
            up_in_the_middle: own.estimate < 0.0,
        });
    }
    let alone: Vec<f64> = bends.iter().map(|bend| bend.adjusted).collect();
    for (bend, adjusted) in bends.iter_mut().zip(holm(&alone).unwrap_or(alone)) {
        bend.adjusted = adjusted;
    }
    Some(Curvature {
        f,
        df,
        residual_df: bent.residual_df(),
        p: upper_f(f, df, bent.residual_df()),
        bends,
        sampled,
    })
}

/// The residuals of the model with the squares of these columns added, if it can
/// be fitted.
pub(super) fn residuals_with_squares(
    model: &Fit<'_>,
    columns: &[&str],
    options: &AnalysisOptions<'_>,
) -> Option<Vec<f64>> {
    let frame = model.matrix().frame();
    let mut added = squares(frame);
    added.retain(|(name, _)| columns.contains(&name.as_str()));
    let wider = frame.with_terms(added);
    let matrix = ModelMatrix::new(&wider, Contrast::Treatment);
    let bent = fit(&matrix, &fit_options(options)).ok()?;
    (!bent.is_exact()).then(|| bent.residuals().to_vec())
}
