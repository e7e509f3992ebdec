//! Choosing among learners by cross-validation.

use super::cross::{CrossValidateError, check_folds, predict_fold};
use super::folds::Fold;
use crate::{Dataset, Learner, Metric, MetricError, Threads};
use thiserror::Error;

/// How every candidate did.
#[derive(Debug, Clone, PartialEq)]
pub struct GridSearch {
    scores: Vec<f64>,
    best: usize,
}

/// Why candidates could not be compared.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum GridSearchError {
    /// There is nothing to choose from.
    #[error("a grid needs at least one candidate")]
    NoCandidates,
    /// A candidate could not be judged.
    #[error("candidate {candidate}: {error}")]
    Candidate {
        /// The candidate, counted from zero.
        candidate: usize,
        /// Why it failed.
        #[source]
        error: CrossValidateError,
    },
    /// The folds do not belong to the data.
    #[error(transparent)]
    Folds(CrossValidateError),
    /// The metric is not defined for these data.
    #[error(transparent)]
    Metric(#[from] MetricError),
}

/// Judges every candidate on the same folds and seeds by the mean over folds of
/// a metric; the first of equally good candidates is the best.
///
/// Candidates times folds are shared among the threads.
pub fn grid_search(
    candidates: &[&dyn Learner],
    data: &Dataset,
    folds: &[Fold],
    metric: Metric,
    seed: u64,
    threads: Threads,
) -> Result<GridSearch, GridSearchError> {
    if candidates.is_empty() {
        return Err(GridSearchError::NoCandidates);
    }
    check_folds(data, folds).map_err(GridSearchError::Folds)?;
    let truths: Vec<Vec<f64>> = folds
        .iter()
        .map(|fold| fold.test().iter().map(|&row| data.target()[row]).collect())
        .collect();
    let parts = threads.map(candidates.len() * folds.len(), |part| {
        let (candidate, fold) = (part / folds.len(), part % folds.len());
        let predicted = predict_fold(candidates[candidate], data, &folds[fold], fold, seed)
            .map_err(|error| GridSearchError::Candidate { candidate, error })?;
        Ok(metric.of(&truths[fold], &predicted)?)
    });
    let parts = parts
        .into_iter()
        .collect::<Result<Vec<f64>, GridSearchError>>()?;
    let scores: Vec<f64> = parts
        .chunks(folds.len())
        .map(|of_folds| of_folds.iter().sum::<f64>() / folds.len() as f64)
        .collect();
    let mut best = 0;
    for candidate in 1..scores.len() {
        if metric.is_better(scores[candidate], scores[best]) {
            best = candidate;
        }
    }
    Ok(GridSearch { scores, best })
}

impl GridSearch {
    /// The mean metric of each candidate.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The best candidate, counted from zero.
    pub fn best(&self) -> usize {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, Ridge, RidgeParams, k_fold};

    fn line() -> Dataset {
        let rows: Vec<[f64; 1]> = (0..20).map(|i| [f64::from(i)]).collect();
        let target = rows.iter().map(|row| 1.0 + 2.0 * row[0]).collect();
        Dataset::new(Features::from_rows(&rows).unwrap(), target).unwrap()
    }

    fn ridge(penalty: f64) -> Ridge {
        RidgeParams {
            penalty,
            intercept: true,
        }
        .check()
        .unwrap()
    }

    #[test]
    fn the_least_penalty_wins_on_a_line() {
        let folds = k_fold(20, 4, 0).unwrap();
        let (heavy, light) = (ridge(1e4), ridge(0.0));
        let grid: [&dyn Learner; 2] = [&heavy, &light];
        for metric in [Metric::MeanSquaredError, Metric::R2] {
            let search = grid_search(&grid, &line(), &folds, metric, 0, Threads::new(2)).unwrap();
            assert_eq!(search.best(), 1);
        }
    }

    #[test]
    fn folds_of_other_data_and_empty_grids_are_refused() {
        let folds = k_fold(21, 3, 0).unwrap();
        let learner = ridge(1.0);
        let grid: [&dyn Learner; 1] = [&learner];
        let metric = Metric::R2;
        let error = grid_search(&grid, &line(), &folds, metric, 0, Threads::ONE).unwrap_err();
        assert_eq!(error.to_string(), "the folds hold 21 rows, the data 20");
        let none = grid_search(&[], &line(), &folds, metric, 0, Threads::ONE);
        assert_eq!(none, Err(GridSearchError::NoCandidates));
    }
}
