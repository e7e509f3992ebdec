//! What the runs teach about configurations that were not run.

use crate::pick::score_of;
use crate::runs_table::threads;
use paceline_advise::predict::{Choice, Comparison, PredictOptions, Predictor, Score};
use paceline_advise::runs::Runs;

/// The seed of folds and learners.
const SEED: u64 = 1;

/// How well a response is predicted.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// How the predictors compare, and which is used.
    pub comparison: Comparison,
    /// The coverage at which intervals were judged.
    pub coverage: f64,
    /// Each run as `(actual, predicted)`, predicted without its own trial.
    pub points: Vec<(f64, f64)>,
}

impl Forecast {
    /// The score of the procedure that is used.
    #[must_use]
    pub fn score(&self) -> Option<&Score> {
        score_of(&self.comparison)
    }
}

/// A predictor of a response, or why there is none.
pub(super) struct Learned {
    pub(super) response: String,
    pub(super) predictor: Result<Predictor, String>,
}

/// Fits every response.
pub(super) fn fit(runs: &Runs, responses: &[String], coverage: f64) -> Vec<Learned> {
    let options = options(Choice::Auto, coverage);
    let fitted = responses.iter().map(|response| Learned {
        response: response.clone(),
        predictor: Predictor::fit(runs, response, &options).map_err(|error| error.to_string()),
    });
    fitted.collect()
}

fn options(choice: Choice, coverage: f64) -> PredictOptions {
    PredictOptions {
        choice,
        coverage,
        seed: SEED,
        threads: threads(),
        ..PredictOptions::default()
    }
}

impl Learned {
    /// How well the response is foreseen for configurations that were not
    /// learned from.
    pub(super) fn forecast(&self, runs: &Runs, coverage: f64) -> Result<Forecast, String> {
        let predictor = self.predictor.as_ref().map_err(Clone::clone)?;
        Ok(Forecast {
            comparison: predictor.comparison().clone(),
            coverage,
            points: out_of_fold(runs, predictor, coverage),
        })
    }
}

/// Each run as `(actual, predicted)` by a model that was fitted without its
/// trial; empty if there are too few trials for that.
fn out_of_fold(runs: &Runs, predictor: &Predictor, coverage: f64) -> Vec<(f64, f64)> {
    let options = options(Choice::Only(predictor.kind()), coverage);
    let Some(actual) = runs.response(predictor.response()) else {
        return Vec::new();
    };
    let mut points = Vec::with_capacity(actual.len());
    for held_out in folds(runs.trials()) {
        let learned_from: Vec<usize> = (0..runs.rows())
            .filter(|row| !held_out.contains(row))
            .collect();
        let fitted = Predictor::fit(&runs.select(&learned_from), predictor.response(), &options);
        // Too few trials remain, or a fold leaves nothing that varies: a chart of
        // some of the runs would mislead.
        let Ok(fitted) = fitted else {
            return Vec::new();
        };
        let at: Vec<&[f64]> = held_out
            .iter()
            .map(|&row| runs.settings()[row].as_slice())
            .collect();
        let beliefs = fitted.beliefs(&at);
        points.extend(
            held_out
                .iter()
                .zip(&beliefs)
                .map(|(&row, b)| (actual[row], b.value())),
        );
    }
    points
}

/// The rows of each fold. Replicates of a trial stay together; trials are dealt
/// out in an order that follows no factor.
fn folds(trials: &[usize]) -> Vec<Vec<usize>> {
    let mut distinct = trials.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.sort_by_key(|&trial| scattered(trial as u64));
    // Few trials are needed for learning; of many, five folds say as much and
    // cost half.
    let most = if distinct.len() > 20 { 5 } else { 10 };
    let folds = distinct.len().min(most);
    (0..folds)
        .map(|fold| {
            let own: Vec<usize> = distinct.iter().copied().skip(fold).step_by(folds).collect();
            (0..trials.len())
                .filter(|&row| own.contains(&trials[row]))
                .collect()
        })
        .collect()
}

/// A number without visible order (splitmix64, Steele, Lea and Flood 2014).
fn scattered(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_held_out_once_and_replicates_stay_together() {
        let trials: Vec<usize> = (0..60).map(|row| row % 24).collect();
        let folds = folds(&trials);
        assert_eq!(folds.len(), 5);
        let mut rows: Vec<usize> = folds.iter().flatten().copied().collect();
        rows.sort_unstable();
        assert_eq!(rows, (0..60).collect::<Vec<_>>());
        for trial in 0..24 {
            let with = folds
                .iter()
                .filter(|fold| fold.iter().any(|&row| trials[row] == trial));
            assert_eq!(with.count(), 1, "trial {trial}");
        }
    }
}
