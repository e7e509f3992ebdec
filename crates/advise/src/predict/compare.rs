//! Which predictor to trust: nested cross-validation grouped by trial.

use super::FitPredictorError;
use super::conformal::Residuals;
use super::fitted::{Fitted, Kind};
use super::training::Training;
use paceline_learn::{Fold, Metric, Threads, grouped_k_fold};

/// How well trials are predicted that were not learned from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The mean squared error.
    pub mse: f64,
    /// The coefficient of determination R².
    pub r2: f64,
    /// The mean absolute error relative to the truth, unless a true value is
    /// zero.
    pub mape: Option<f64>,
    /// The share of runs inside the interval that the other folds' residuals
    /// give.
    pub coverage: f64,
}

/// One line of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The predictor.
    pub kind: Kind,
    /// How well it predicts, or why it cannot be fitted.
    pub outcome: Result<Score, FitPredictorError>,
}

/// What was compared and what was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Every predictor that was tried, simplest first.
    pub compared: Vec<Compared>,
    /// The whole procedure, choice included, judged by trials that neither the
    /// choice nor the fit has seen. `None` if the caller named a predictor.
    pub auto: Option<Score>,
    /// The predictor that is used.
    pub chosen: Kind,
    /// Why, in words.
    pub reason: String,
    /// How many folds the trials were divided into.
    pub folds: usize,
}

/// What was predicted for each row without its trial, on both scales.
pub(super) struct OutOfFold {
    predictions: Vec<f64>,
    /// On the scale of the model that made the prediction.
    pub(super) residuals: Vec<f64>,
    /// How wide the model that made the prediction took its error to be.
    pub(super) deviations: Vec<Option<f64>>,
    fold_of: Vec<usize>,
}

/// How the comparison is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judging {
    pub(super) coverage: f64,
    pub(super) seed: u64,
    pub(super) threads: Threads,
}

const OUTER: usize = 5;
const INNER: usize = 3;
/// The final model learns from all trials. With ten folds the residuals come
/// from models that have seen nine tenths of them, so that intervals are not
/// much wider than the final model deserves.
const FINAL: usize = 10;

fn folds_of(data: &Training<'_>, most: usize, seed: u64) -> Result<Vec<Fold>, FitPredictorError> {
    let mut trials = data.trials.clone();
    trials.sort_unstable();
    trials.dedup();
    let folds = trials.len().min(most);
    grouped_k_fold(&data.trials, folds, seed).map_err(|_| FitPredictorError::TooFewSettings {
        needed: super::predictor::LEAST_TRIALS,
        found: trials.len(),
    })
}

/// Predicts every row from a fit to the folds it is not in.
fn out_of_fold(
    kind: Kind,
    data: &Training<'_>,
    folds: &[Fold],
    judging: Judging,
) -> Result<OutOfFold, FitPredictorError> {
    let rows = data.rows.len();
    let mut found = OutOfFold {
        predictions: vec![0.0; rows],
        residuals: vec![0.0; rows],
        deviations: vec![None; rows],
        fold_of: vec![0; rows],
    };
    for (number, fold) in folds.iter().enumerate() {
        let seed = judging.seed.wrapping_add(number as u64 + 1);
        let fitted = Fitted::fit(kind, &data.select(fold.train()), seed, judging.threads)?;
        found.enter(number, &fitted, data, fold, judging.threads);
    }
    if found.predictions.iter().all(|value| value.is_finite()) {
        Ok(found)
    } else {
        Err(FitPredictorError::NoSolution)
    }
}

impl OutOfFold {
    fn enter(
        &mut self,
        number: usize,
        fitted: &Fitted,
        data: &Training<'_>,
        fold: &Fold,
        threads: Threads,
    ) {
        let at: Vec<&[f64]> = fold.test().iter().map(|&row| data.rows[row]).collect();
        let scale = fitted.scale();
        for (&row, prediction) in fold.test().iter().zip(fitted.predict_all(&at, threads)) {
            self.predictions[row] = prediction;
            let residual = scale.to(data.response[row]) - scale.to(prediction);
            // A response that has no logarithm is as far off as can be.
            self.residuals[row] = residual.clamp(-1e300, 1e300);
            self.deviations[row] = fitted.deviation(data.rows[row]);
            self.fold_of[row] = number;
        }
    }

    fn squared_error(&self, truth: &[f64]) -> f64 {
        let pairs = truth.iter().zip(&self.predictions);
        pairs.map(|(y, p)| (y - p) * (y - p)).sum::<f64>() / truth.len() as f64
    }

    fn score(&self, data: &Training<'_>, coverage: f64) -> Score {
        let of = |metric: Metric| metric.of(&data.response, &self.predictions).ok();
        Score {
            mse: self.squared_error(&data.response),
            r2: of(Metric::R2).expect("there are rows, and as many predictions"),
            mape: of(Metric::MeanAbsolutePercentageError),
            coverage: self.covered(data, coverage),
        }
    }

    /// Each fold is judged by an interval from the residuals of the others.
    fn covered(&self, data: &Training<'_>, coverage: f64) -> f64 {
        let folds = self.fold_of.iter().max().map_or(0, |&last| last + 1);
        let mut inside = 0;
        for fold in 0..folds {
            let others = (0..self.residuals.len()).filter(|&row| self.fold_of[row] != fold);
            let (rows, others): (Vec<usize>, Vec<f64>) =
                others.map(|row| (row, self.residuals[row])).unzip();
            let mut trials: Vec<usize> = rows.iter().map(|&row| data.trials[row]).collect();
            trials.sort_unstable();
            trials.dedup();
            let half = Residuals::new(others, trials.len() as f64 - 1.0).half_width(coverage);
            inside += (0..self.residuals.len())
                .filter(|&row| self.fold_of[row] == fold && self.residuals[row].abs() <= half)
                .count();
        }
        inside as f64 / self.residuals.len() as f64
    }
}

/// Judges one predictor that the caller named.
pub(super) fn judge(
    kind: Kind,
    data: &Training<'_>,
    judging: Judging,
) -> Result<(Comparison, OutOfFold), FitPredictorError> {
    let folds = folds_of(data, FINAL, judging.seed)?;
    let found = out_of_fold(kind, data, &folds, judging)?;
    let score = found.score(data, judging.coverage);
    let comparison = Comparison {
        compared: vec![Compared {
            kind,
            outcome: Ok(score),
        }],
        auto: None,
        chosen: kind,
        reason: format!("{kind} was asked for"),
        folds: folds.len(),
    };
    Ok((comparison, found))
}

/// Judges every predictor and chooses the one of least out-of-fold error.
///
/// Within each outer fold the choice is made anew by inner folds of the other
/// trials, so that the score of the whole procedure is honest.
pub(super) fn choose(
    data: &Training<'_>,
    judging: Judging,
) -> Result<(Comparison, OutOfFold), FitPredictorError> {
    let folds = folds_of(data, OUTER, judging.seed)?;
    let mut compared = Vec::with_capacity(Kind::ALL.len());
    let mut best: Option<(f64, Kind)> = None;
    for kind in Kind::ALL {
        let outcome = out_of_fold(kind, data, &folds, judging).map(|found| {
            let score = found.score(data, judging.coverage);
            // Kinds come simplest first, so that a tie goes to the simpler.
            if best.as_ref().is_none_or(|(least, _)| score.mse < *least) {
                best = Some((score.mse, kind));
            }
            score
        });
        compared.push(Compared { kind, outcome });
    }
    let Some((_, chosen)) = best else {
        let first = compared.into_iter().find_map(|line| line.outcome.err());
        return Err(first.expect("without a best predictor every one has failed"));
    };
    let able: Vec<Kind> = compared
        .iter()
        .filter(|line| line.outcome.is_ok())
        .map(|line| line.kind)
        .collect();
    let auto = nested(&able, data, &folds, judging)?;
    let comparison = Comparison {
        reason: reason(&compared, chosen),
        auto: Some(auto),
        compared,
        chosen,
        folds: folds.len(),
    };
    let folds = folds_of(data, FINAL, judging.seed)?;
    let found = out_of_fold(chosen, data, &folds, judging)?;
    Ok((comparison, found))
}

fn nested(
    kinds: &[Kind],
    data: &Training<'_>,
    folds: &[Fold],
    judging: Judging,
) -> Result<Score, FitPredictorError> {
    let rows = data.rows.len();
    let mut found = OutOfFold {
        predictions: vec![0.0; rows],
        residuals: vec![0.0; rows],
        deviations: vec![None; rows],
        fold_of: vec![0; rows],
    };
    for (number, fold) in folds.iter().enumerate() {
        let inner = data.select(fold.train());
        let seed = judging.seed.wrapping_add(100 + number as u64);
        let inner_folds = grouped_k_fold(&inner.trials, INNER, seed).map_err(|_| {
            FitPredictorError::TooFewSettings {
                needed: super::predictor::LEAST_TRIALS,
                found: inner.settings(),
            }
        })?;
        let errors = kinds.iter().filter_map(|&kind| {
            let inside = out_of_fold(kind, &inner, &inner_folds, judging).ok()?;
            Some((inside.squared_error(&inner.response), kind))
        });
        let best = errors.min_by(|a, b| a.0.total_cmp(&b.0));
        // With so few trials that no inner fit succeeds, the simplest stands in.
        let kind = best.map_or(kinds[0], |(_, kind)| kind);
        let fitted = Fitted::fit(kind, &inner, seed, judging.threads)?;
        found.enter(number, &fitted, data, fold, judging.threads);
    }
    Ok(found.score(data, judging.coverage))
}

fn reason(compared: &[Compared], chosen: Kind) -> String {
    let mut scores: Vec<(Kind, Score)> = compared
        .iter()
        .filter_map(|line| line.outcome.map(|score| (line.kind, score)).ok())
        .collect();
    scores.sort_by(|a, b| a.1.mse.total_cmp(&b.1.mse));
    let next = scores.iter().find(|(kind, _)| *kind != chosen);
    let best = scores.iter().find(|(kind, _)| *kind == chosen);
    match (best, next) {
        (Some((_, best)), Some((other, next))) if next.mse > 0.0 => {
            let less = 100.0 * (1.0 - best.mse / next.mse);
            format!(
                "{chosen} predicts trials it has not seen with the least squared error, \
                 {less:.0}% below {other}"
            )
        }
        (_, Some((other, _))) => {
            format!("{chosen} is the simplest that predicts as well as {other}")
        }
        _ => format!("{chosen} is the only predictor that this table allows"),
    }
}
