//! The assumption panel: each check with its numbers, its meaning and advice.

mod model;
mod residuals;
mod runs;

pub(super) use residuals::{equal_variances, normality};

use super::curvature::Curvature;
use super::influential::Decisive;
use crate::cells::Cells;
use crate::collinearity::VarianceInflation;
use crate::fit::Fit;
use crate::influence::{Influence, Outlier};
use crate::lack_of_fit::LackOfFit;
use model::{collinearity, form};
use residuals::constant_spread;
use runs::{independence, influence};

/// One line of the assumption panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// What is assumed.
    pub kind: AssumptionKind,
    /// The tests behind the verdict.
    pub results: Vec<CheckResult>,
    /// Whether the assumption can be relied on.
    pub verdict: Verdict,
    /// What the numbers mean for this analysis.
    pub meaning: String,
    /// What to do about it; empty if nothing needs doing.
    pub advice: String,
}

/// What a linear model assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssumptionKind {
    /// Residuals follow a normal distribution.
    Normality,
    /// The response varies as much in every cell of the design.
    EqualVariances,
    /// The residuals' spread does not follow the model's columns.
    ConstantSpread,
    /// Runs do not influence each other.
    Independence,
    /// Columns are not nearly combinations of each other.
    Collinearity,
    /// No single run decides the result.
    Influence,
    /// The model's form is right.
    Form,
}

/// The outcome of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckResult {
    /// The test's name.
    pub test: &'static str,
    /// Its statistic.
    pub statistic: f64,
    /// Its p-value, for tests that have one.
    pub p: Option<f64>,
}

/// Whether an assumption can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Holds,
    /// It is not quite right, but the conclusions hardly suffer.
    Doubtful,
    /// It is wrong enough to change the method.
    Violated,
    /// It could not be checked.
    NotChecked,
}

/// What the panel looks at.
pub(super) struct Evidence<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) cells: &'a Cells,
    /// The run order of every row of the table.
    pub(super) run_order: Option<&'a [f64]>,
    pub(super) variance_inflation: &'a [VarianceInflation],
    pub(super) influence: &'a Influence,
    pub(super) outliers: &'a [Outlier],
    pub(super) decisive: Option<&'a Decisive>,
    pub(super) lack_of_fit: Option<&'a LackOfFit>,
    pub(super) curvature: Option<&'a Curvature>,
    pub(super) level: f64,
}

pub(super) fn panel(evidence: &Evidence<'_>) -> Vec<Assumption> {
    if evidence.fit.is_exact() {
        let without_error = [
            AssumptionKind::Normality,
            AssumptionKind::EqualVariances,
            AssumptionKind::ConstantSpread,
            AssumptionKind::Independence,
            AssumptionKind::Influence,
            AssumptionKind::Form,
        ];
        let why = match evidence.fit.is_saturated() {
            true => "not checked: the model has as many parameters as runs, so no error is left",
            false => "not checked: the model reproduces every row, so there is no error to look at",
        };
        return without_error
            .into_iter()
            .map(|kind| not_checked(kind, why.to_owned(), ""))
            .chain([collinearity(evidence)])
            .collect();
    }
    vec![
        normality(evidence.fit.residuals(), evidence.level),
        equal_variances(evidence.fit, evidence.cells, evidence.level),
        constant_spread(evidence.fit, evidence.level),
        independence(evidence),
        collinearity(evidence),
        influence(evidence),
        form(evidence),
    ]
}

/// A p-value this small counts as a violation; between it and the level the
/// assumption is doubtful.
const CLEAR: f64 = 0.01;
/// Tests that build an orthonormal basis are run up to this much work.
const BASIS_WORK: usize = 100_000_000;

/// The verdict of a p-value.
fn judged(p: f64, level: f64) -> Verdict {
    match p {
        p if p >= level => Verdict::Holds,
        p if p >= CLEAR => Verdict::Doubtful,
        _ => Verdict::Violated,
    }
}

fn not_checked(kind: AssumptionKind, why: String, advice: &str) -> Assumption {
    Assumption {
        kind,
        results: Vec::new(),
        verdict: Verdict::NotChecked,
        meaning: why,
        advice: advice.to_owned(),
    }
}

fn estimated_columns(fit: &Fit<'_>) -> Vec<Vec<f64>> {
    fit.solution
        .independent
        .iter()
        .map(|&column| fit.matrix().column_values(column))
        .collect()
}
