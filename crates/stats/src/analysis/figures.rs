//! Figures of a fit for readers: summary, shares, rows, and what to know of them.

use super::means;
use crate::anova::Anova;
use crate::fit::Fit;
use crate::formula::ModelFrame;
use crate::table::Table;

/// Figures of a fit as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitSummary {
    /// Share of the variation explained.
    pub r_squared: f64,
    /// The same, corrected for the number of parameters.
    pub adjusted_r_squared: f64,
    /// The F statistic of the whole model and its p-value.
    pub f_test: Option<(f64, f64)>,
    /// Degrees of freedom of the model.
    pub model_df: usize,
    /// Degrees of freedom of error.
    pub residual_df: usize,
    /// The residual standard deviation.
    pub error_sd: f64,
    /// The Gaussian log-likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// Schwarz's criterion.
    pub bic: f64,
    /// Condition number of the model matrix.
    pub condition_number: f64,
}

/// A term's share of the variation; the residual has no term.
#[derive(Clone, Debug, PartialEq)]
pub struct VariationShare {
    /// The term, or `None` for what is left.
    pub term: Option<String>,
    /// Percent of the total sum of squares.
    pub percent: f64,
}

/// One row of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The row of the table, counted from zero.
    pub row: u32,
    /// The response.
    pub observed: f64,
    /// What the model says.
    pub fitted: f64,
    /// The difference.
    pub residual: f64,
}

/// What the reader must know of the fit: rows left out, columns that cannot be
/// told apart, tests that do not exist.
pub(super) fn remarks(
    table: &Table,
    frame: &ModelFrame,
    fitted: &Fit<'_>,
    anova: &Anova,
) -> Vec<String> {
    const NAMED: usize = 3;
    let mut notes = Vec::new();
    if frame.dropped() > 0 {
        notes.push(format!(
            "{} of {} rows miss a value and were left out",
            frame.dropped(),
            table.rows()
        ));
    }
    let mut emptied = Vec::new();
    for (index, row) in anova.rows.iter().enumerate() {
        let aliased = fitted
            .aliases()
            .iter()
            .any(|alias| alias.term == Some(index));
        let empty = match aliased && means::categorical(frame, index) {
            true => means::empty_cells(frame, index, NAMED + 1),
            false => Vec::new(),
        };
        if empty.is_empty() {
            continue;
        }
        emptied.push(index);
        let mut named: Vec<String> = empty.iter().take(NAMED).cloned().collect();
        if empty.len() > NAMED {
            named.push("others".to_owned());
        }
        notes.push(format!(
            "`{}` is tested only where there are runs: none has {}",
            row.name,
            named.join(", nor ")
        ));
    }
    for row in anova.rows.iter().filter(|row| !row.estimable) {
        notes.push(format!(
            "the type III test of `{}` is not estimable: it averages over combinations that were \
             never run; type II is",
            row.name
        ));
    }
    for alias in fitted.aliases() {
        if alias.term.is_some_and(|term| emptied.contains(&term)) {
            continue;
        }
        let label = |name: &str| fitted.matrix().label_of(name);
        notes.push(format!(
            "`{}` cannot be estimated: in these runs it equals {}",
            label(&alias.column),
            alias.combination_of(label)
        ));
    }
    notes
}

pub(super) fn summary(fit: &Fit<'_>) -> FitSummary {
    FitSummary {
        r_squared: fit.r_squared(),
        adjusted_r_squared: fit.adjusted_r_squared(),
        f_test: fit.f_test(),
        model_df: fit.model_df(),
        residual_df: fit.residual_df(),
        error_sd: fit.error_sd(),
        log_likelihood: fit.log_likelihood(),
        aic: fit.aic(),
        bic: fit.bic(),
        condition_number: fit.condition_number(),
    }
}

pub(super) fn variation(anova: &Anova) -> Vec<VariationShare> {
    let mut shares: Vec<VariationShare> = anova
        .rows
        .iter()
        .filter(|row| row.percent.is_finite())
        .map(|row| VariationShare {
            term: Some(row.term.clone()),
            percent: row.percent,
        })
        .collect();
    shares.push(VariationShare {
        term: None,
        percent: anova.residual.percent,
    });
    shares.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    shares
}

pub(super) fn points(fit: &Fit<'_>) -> Vec<Point> {
    let frame = fit.matrix().frame();
    frame
        .table_rows()
        .iter()
        .zip(frame.response_values())
        .zip(fit.residuals())
        .map(|((&row, &observed), &residual)| Point {
            row,
            observed,
            fitted: observed - residual,
            residual,
        })
        .collect()
}
