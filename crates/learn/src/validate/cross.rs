//! Predicting every row by what was learned without it.

use super::folds::Fold;
use crate::{Dataset, FitError, Learner, Metric, MetricError, Threads};
use thiserror::Error;

/// For each row, what was predicted without it.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfFold {
    predictions: Vec<f64>,
}

/// Why a learner could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum CrossValidateError {
    /// The folds were made for another number of rows.
    #[error("the folds hold {folds} rows, the data {rows}")]
    OtherRows {
        /// How many rows the folds hold.
        folds: usize,
        /// How many rows the data have.
        rows: usize,
    },
    /// The learner could not learn from the other folds.
    #[error("fold {fold}: {error}")]
    Fit {
        /// The fold that was left out, counted from zero.
        fold: usize,
        /// Why it failed.
        #[source]
        error: FitError,
    },
}

/// Learns once per fold from the other rows and predicts the fold's own.
///
/// Folds are shared among the threads; each fold has its own seed.
pub fn cross_validate(
    learner: &dyn Learner,
    data: &Dataset,
    folds: &[Fold],
    seed: u64,
    threads: Threads,
) -> Result<OutOfFold, CrossValidateError> {
    check_folds(data, folds)?;
    let parts = threads.map(folds.len(), |fold| {
        predict_fold(learner, data, &folds[fold], fold, seed)
    });
    let mut predictions = vec![0.0; data.rows()];
    for (fold, part) in folds.iter().zip(parts) {
        for (&row, prediction) in fold.test().iter().zip(part?) {
            predictions[row] = prediction;
        }
    }
    Ok(OutOfFold { predictions })
}

/// Every fold divides exactly the rows of the data, and every row is tested.
pub(super) fn check_folds(data: &Dataset, folds: &[Fold]) -> Result<(), CrossValidateError> {
    let rows = data.rows();
    let tested: usize = folds.iter().map(|fold| fold.test().len()).sum();
    let divided = folds
        .iter()
        .map(|fold| fold.test().len() + fold.train().len());
    match divided.chain([tested]).find(|&count| count != rows) {
        Some(folds) => Err(CrossValidateError::OtherRows { folds, rows }),
        None => Ok(()),
    }
}

pub(super) fn predict_fold(
    learner: &dyn Learner,
    data: &Dataset,
    fold: &Fold,
    index: usize,
    seed: u64,
) -> Result<Vec<f64>, CrossValidateError> {
    let seed = paceline_numeric::Chance::of_learner(seed, index as u64).seed();
    let model = learner
        .learn(&data.select(fold.train()), seed, Threads::ONE)
        .map_err(|error| CrossValidateError::Fit { fold: index, error })?;
    Ok(model.predict_all_checked(&data.features().select(fold.test()), Threads::ONE))
}

impl OutOfFold {
    /// What was predicted for each row.
    pub fn predictions(&self) -> &[f64] {
        &self.predictions
    }

    /// The metric over all rows at once.
    pub fn metric(&self, metric: Metric, data: &Dataset) -> Result<f64, MetricError> {
        metric.of(data.target(), &self.predictions)
    }

    /// Truth minus prediction for each row.
    pub fn residuals(&self, data: &Dataset) -> Vec<f64> {
        let pairs = data.target().iter().zip(&self.predictions);
        pairs.map(|(truth, predicted)| truth - predicted).collect()
    }
}
