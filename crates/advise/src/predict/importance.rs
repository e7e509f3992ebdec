//! How much a prediction rests on each factor.

use super::fitted::{Fitted, Kind};
use super::predictor::{PredictOptions, PredictorError, Table};
use crate::runs::Runs;
use paceline_dist::StudentT;
use paceline_learn::{Threads, grouped_k_fold};
use paceline_numeric::splitmix64;

/// By how much trials that were not learned from are predicted worse when a
/// factor's levels are exchanged between runs.
#[derive(Debug, Clone, PartialEq)]
pub struct FactorImportance {
    /// The factor.
    pub factor: String,
    /// The squared error that is added, as a share of the response's variance, both
    /// by the logarithm for a response that spans a factor of two.
    pub share: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

const FOLDS: usize = 5;
/// Exchanges in each fold.
const REPETITIONS: usize = 10;

/// The importance of each factor to a predictor (Breiman 2001, section 10), the
/// greatest first, with an interval of the asked coverage over folds that share
/// most of their runs (the corrected t of Nadeau and Bengio 2003).
pub fn importances(
    runs: &Runs,
    response: &str,
    kind: Kind,
    options: &PredictOptions,
) -> Result<Vec<FactorImportance>, PredictorError> {
    let table = Table::read(runs, response, options)?;
    let data = table.training(runs);
    let fail = |error| PredictorError::Fit { kind, error };
    let folds =
        grouped_k_fold(&data.trials, table.trials.min(FOLDS), options.seed).map_err(|_| {
            PredictorError::TooFewTrials {
                found: table.trials,
            }
        })?;
    let count = data.rows.len();
    // Errors of times are relative: in seconds the slowest runs would decide alone.
    let scale = data.scale();
    let truth: Vec<f64> = data.response.iter().map(|&y| scale.to(y)).collect();
    let mean = truth.iter().sum::<f64>() / count as f64;
    let squares: f64 = truth.iter().map(|y| (y - mean) * (y - mean)).sum();
    let variance = squares / count as f64;
    let factors = runs.factors().len();
    let mut losses = vec![Vec::with_capacity(folds.len()); factors];
    for (number, fold) in folds.iter().enumerate() {
        let seed = options.seed.wrapping_add(number as u64 + 1);
        let train = data.select(fold.train());
        let fitted = Fitted::fit(kind, &train, seed, options.threads).map_err(fail)?;
        let test: Vec<&[f64]> = fold.test().iter().map(|&row| data.rows[row]).collect();
        let error = |rows: &[&[f64]], threads: Threads| {
            let predicted = fitted.predict_all(rows, threads);
            let pairs = fold.test().iter().zip(predicted);
            let missed = pairs.map(|(&row, y)| (truth[row] - scale.to(y)).powi(2));
            missed.sum::<f64>() / fold.test().len() as f64
        };
        let intact = error(&test, options.threads);
        for (at, losses) in losses.iter_mut().enumerate() {
            // Levels come from all runs: a small fold may hold only one.
            let mut exchanged: Vec<Vec<f64>> = Vec::with_capacity(REPETITIONS * test.len());
            for repetition in 0..REPETITIONS {
                for (place, row) in test.iter().enumerate() {
                    let turn = (at * REPETITIONS + repetition) * test.len() + place;
                    let from = splitmix64(seed, turn as u64);
                    let mut changed = row.to_vec();
                    changed[at] = data.rows[(from % count as u64) as usize][at];
                    exchanged.push(changed);
                }
            }
            let mut worse = 0.0;
            for rows in exchanged.chunks(test.len()) {
                let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
                worse += error(&rows, options.threads) / REPETITIONS as f64;
            }
            let share = if variance > 0.0 {
                (worse - intact) / variance
            } else {
                0.0
            };
            losses.push(share);
        }
    }
    let mut found: Vec<FactorImportance> = runs
        .factors()
        .iter()
        .zip(losses)
        .map(|(factor, losses)| summary(factor.name(), &losses, options.coverage))
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.factor.cmp(&b.factor)));
    Ok(found)
}

fn summary(factor: &str, losses: &[f64], coverage: f64) -> FactorImportance {
    let count = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / count;
    let squares: f64 = losses.iter().map(|l| (l - mean) * (l - mean)).sum();
    let variance = squares / (count - 1.0).max(1.0);
    // A fold is tested on one part and learned from the others.
    let error = (variance * (1.0 / count + 1.0 / (count - 1.0).max(1.0))).sqrt();
    let t = StudentT::new((count - 1.0).max(1.0)).expect("there are at least two folds");
    let half = t.upper_quantile(0.5 * (1.0 - coverage)) * error;
    FactorImportance {
        factor: factor.to_owned(),
        share: mean,
        low: mean - half,
        high: mean + half,
    }
}
