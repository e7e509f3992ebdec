//! The plots of an analysis.

use super::estimates::{bounds, by_size, spoken};
use crate::chart::{
    Chart, DanielEffect, Limit, QqLine, cooks_distance, half_normal, quantile_quantile,
    residuals_and_fitted,
};
use paceline_dist::Normal;
use paceline_stats::analysis::Analysis;
use paceline_stats::checks::half_normal_quantiles;

/// A plot of ordered values needs no more points than it has pixels.
const MOST_QUANTILES: usize = 1_000;
/// Of a large table, the rows that move the fit most are drawn.
const MOST_STEMS: usize = 1_000;

pub(super) fn residuals(analysis: &Analysis) -> Chart {
    let points: Vec<(f64, f64)> = analysis
        .points
        .iter()
        .map(|point| (point.fitted, point.residual))
        .collect();
    residuals_and_fitted(&analysis.response, &points)
}

/// Ordered residuals against normal quantiles at the plotting positions of Blom
/// (1958), `(i − 3/8) / (n + 1/4)`; the line passes through the quartiles.
pub(super) fn quantiles(analysis: &Analysis) -> Chart {
    let mut ordered: Vec<f64> = analysis.points.iter().map(|p| p.residual).collect();
    ordered.sort_by(f64::total_cmp);
    let n = ordered.len();
    let theory = |i: usize| Normal.quantile((i as f64 + 0.625) / (n as f64 + 0.25));
    // The ends, where tails show, are kept whole; the middle is thinned evenly.
    let ends = MOST_QUANTILES / 4;
    let step = (n / MOST_QUANTILES).max(1);
    let points: Vec<(f64, f64)> = (0..n)
        .filter(|&i| i < ends || i + ends >= n || i.is_multiple_of(step))
        .map(|i| (theory(i), ordered[i]))
        .collect();
    let quartile = |share: f64| ordered[((n - 1) as f64 * share).round() as usize];
    let slope = (quartile(0.75) - quartile(0.25)) / (2.0 * Normal.quantile(0.75));
    let intercept = f64::midpoint(quartile(0.25), quartile(0.75));
    quantile_quantile(&points, QqLine { intercept, slope })
}

/// Cook's distances against the limit 4 / n; `None` if the analysis did not look
/// at single rows.
pub(super) fn cooks(analysis: &Analysis) -> Option<Chart> {
    let influence = analysis.influence.as_ref()?;
    let mut distances: Vec<(f64, f64)> = analysis
        .points
        .iter()
        .zip(&influence.cooks_distance)
        .map(|(point, distance)| (f64::from(point.row) + 1.0, *distance))
        .collect();
    let limit = 4.0 / distances.len() as f64;
    if distances.len() > MOST_STEMS {
        distances.sort_by(|a, b| b.1.total_cmp(&a.1));
        distances.truncate(MOST_STEMS);
    }
    Some(cooks_distance(&distances, limit))
}

/// The half-normal plot of a two-level design.
///
/// Without replicates the margins are Lenth's. With replicates each effect has
/// an interval of its own, and the margin is half the widest.
pub(super) fn daniel(analysis: &Analysis, coverage: &str) -> Option<Chart> {
    let effects = analysis.effects.as_ref()?;
    let mut named: Vec<(String, f64)> = by_size(effects)
        .iter()
        .map(|effect| (spoken(&effect.term), effect.estimate.abs()))
        .collect();
    let (pseudo, limits) = match &analysis.lenth {
        Some(lenth) => {
            // Lenth looks at all effects, also those of orders the model leaves
            // out; these stay without a name.
            let mut all: Vec<(String, f64)> = lenth
                .effects
                .iter()
                .map(|e| (String::new(), e.effect.abs()))
                .collect();
            for (size, name) in all.iter_mut().map(|(name, size)| (*size, name)) {
                let close = |(_, other): &(String, f64)| (other - size).abs() <= 1e-9 * size;
                if let Some(at) = named.iter().position(close) {
                    *name = named.remove(at).0;
                }
            }
            named = all;
            (
                lenth.pseudo_standard_error,
                vec![
                    Limit {
                        size: lenth.margin,
                        label: format!("margin of error, {coverage}"),
                    },
                    Limit {
                        size: lenth.simultaneous_margin,
                        label: "simultaneous margin of error".to_owned(),
                    },
                ],
            )
        }
        None => {
            let half = |(low, _, high): (f64, f64, f64)| (high - low) / 2.0;
            let margin = effects
                .effects
                .iter()
                .map(|effect| half(bounds(effect)))
                .filter(|half| half.is_finite())
                .reduce(f64::max)?;
            let error = effects
                .effects
                .iter()
                .filter_map(|effect| Some(effect.interval?.standard_error))
                .fold(0.0, f64::max);
            let label = format!("margin of error, {coverage}");
            (
                error,
                vec![Limit {
                    size: margin,
                    label,
                }],
            )
        }
    };
    named.sort_by(|a, b| a.1.total_cmp(&b.1));
    let margin = limits.first().map_or(f64::INFINITY, |limit| limit.size);
    let quantiles = half_normal_quantiles(named.len());
    let points: Vec<DanielEffect> = named
        .into_iter()
        .zip(quantiles)
        .map(|((label, size), quantile)| DanielEffect {
            label,
            quantile,
            size,
            active: size > margin,
        })
        .collect();
    (points.len() > 2).then(|| half_normal(&analysis.response, &points, pseudo, &limits))
}
