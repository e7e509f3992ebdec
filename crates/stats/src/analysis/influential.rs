//! Single runs that decide the result, and what it would be without them.

use super::{AnalysisOptions, fit_options};
use crate::anova::Anova;
use crate::checks::holm;
use crate::fit::{Fit, fit};
use crate::influence::{Influence, Outlier};
use crate::matrix::{Contrast, ModelMatrix};

/// A run without which the result is another.
#[derive(Clone, Debug, PartialEq)]
pub struct Decisive {
    /// The row of the table, counted from one.
    pub row: usize,
    /// Its Cook's distance.
    pub cooks_distance: f64,
    /// The share of the residual variation that is its own.
    pub share: f64,
    /// Terms, in people's words, that count without it and not with it.
    pub gained: Vec<String>,
    /// Terms that count with it and not without it.
    pub lost: Vec<String>,
}

/// A distance of one moves the fit to the edge of its 50% confidence region
/// (Cook 1977).
const FAR: f64 = 1.0;
/// A run that makes more than this share of the residual variation is what the
/// error is about.
const MOST_OF_THE_ERROR: f64 = 0.5;

/// The run that decides most, if one does: by its distance, or as an outlier that
/// makes most of the residual variation by itself.
pub(super) fn decisive(
    fitted: &Fit<'_>,
    influence: &Influence,
    outliers: &[Outlier],
    options: &AnalysisOptions<'_>,
) -> Option<Decisive> {
    let far = influence
        .cooks_distance
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, distance)| distance.is_finite())
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|&(_, distance)| distance >= FAR)
        .map(|(row, _)| row);
    let loud = outliers
        .first()
        .map(|outlier| outlier.row)
        .filter(|&row| influence.share_of_residual(row) > MOST_OF_THE_ERROR);
    let row = loud.or(far)?;
    let frame = fitted.matrix().frame();
    let (gained, lost) = changes(fitted, row, options).unwrap_or_default();
    Some(Decisive {
        row: frame.table_rows()[row] as usize + 1,
        cooks_distance: influence.cooks_distance[row],
        share: influence.share_of_residual(row),
        gained,
        lost,
    })
}

/// The terms whose F test, after Holm's correction, changes sides without a row.
fn changes(
    fitted: &Fit<'_>,
    row: usize,
    options: &AnalysisOptions<'_>,
) -> Option<(Vec<String>, Vec<String>)> {
    let frame = fitted.matrix().frame();
    let rest: Vec<u32> = (0..frame.len() as u32)
        .filter(|&r| r as usize != row)
        .collect();
    let smaller = frame.pick(&rest);
    let matrix = ModelMatrix::new(&smaller, Contrast::Treatment);
    let without = fit(&matrix, &fit_options(options)).ok()?;
    let before = counting(&Anova::of(fitted, options.kind).ok()?, options);
    let after = counting(&Anova::of(&without, options.kind).ok()?, options);
    let missing = |from: &[String], others: &[String]| -> Vec<String> {
        from.iter()
            .filter(|name| !others.contains(name))
            .cloned()
            .collect()
    };
    Some((missing(&after, &before), missing(&before, &after)))
}

fn counting(anova: &Anova, options: &AnalysisOptions<'_>) -> Vec<String> {
    let tested: Vec<(&str, f64)> = anova
        .rows
        .iter()
        .filter_map(|row| Some((row.name.as_str(), row.test?.p)))
        .collect();
    let alone: Vec<f64> = tested.iter().map(|&(_, p)| p).collect();
    let adjusted = holm(&alone).unwrap_or(alone);
    let level = options.level();
    tested
        .into_iter()
        .zip(adjusted)
        .filter(|(_, p)| *p < level)
        .map(|((name, _), _)| name.to_owned())
        .collect()
}
