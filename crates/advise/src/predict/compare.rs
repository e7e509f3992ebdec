//! How well each predictor foretells trials that it has not seen:
//! cross-validation grouped by trial.

use super::FitPredictorError;
use super::averaged::Averaged;
use super::conformal::Residuals;
use super::fitted::{Fitted, Kind};
use super::training::Training;
use super::tuned::thinned;
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
    /// The share of runs inside their interval, which knows nothing of their
    /// trial.
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

/// What was compared and what is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Every predictor that was tried, simplest first.
    pub compared: Vec<Compared>,
    /// The predictor that is used.
    pub chosen: Kind,
    /// Why, in words.
    pub reason: String,
    /// How many folds the trials were divided into; zero if each setting was left
    /// out in turn without fitting again.
    pub folds: usize,
    /// Each run as `(actual, predicted)` by what was learned without its trial.
    pub points: Vec<(f64, f64)>,
}

impl Comparison {
    /// The score of the predictor that is used.
    pub fn score(&self) -> Option<&Score> {
        let mut lines = self.compared.iter();
        let chosen = lines.find(|line| line.kind == self.chosen)?;
        chosen.outcome.as_ref().ok()
    }
}

/// What was predicted for each row without its trial, on both scales.
pub(super) struct OutOfFold {
    predictions: Vec<f64>,
    /// On the scale of the model that made the prediction.
    pub(super) residuals: Vec<f64>,
    /// How wide the model that made the prediction took its error to be.
    pub(super) deviations: Vec<Option<f64>>,
    /// Whether the interval of the model that made the prediction, if it gives
    /// one, holds the truth.
    inside: Vec<Option<bool>>,
    fold_of: Vec<usize>,
}

/// How the comparison is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judging {
    pub(super) coverage: f64,
    pub(super) seed: u64,
    pub(super) threads: Threads,
}

const COMPARED: usize = 5;
/// The final model learns from all trials. With ten folds the residuals come
/// from models that have seen nine tenths of them, so that intervals are not
/// much wider than the final model deserves.
const FINAL: usize = 10;
/// Predictors are compared by at most so many runs, of whole trials.
const MOST_ROWS: usize = 2000;
/// Above so many runs, errors of five folds are as good as those of ten.
const MANY_ROWS: usize = 400;

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
        inside: vec![None; rows],
        fold_of: vec![0; rows],
    };
    for (number, fold) in folds.iter().enumerate() {
        let seed = judging.seed.wrapping_add(number as u64 + 1);
        let fitted = Fitted::fit(kind, &data.select(fold.train()), seed, judging.threads)?;
        found.enter(number, &fitted, data, fold, judging);
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
        judging: Judging,
    ) {
        let at: Vec<&[f64]> = fold.test().iter().map(|&row| data.rows[row]).collect();
        let scale = fitted.scale();
        let predictions = fitted.predict_all(&at, judging.threads);
        for (&row, prediction) in fold.test().iter().zip(predictions) {
            self.predictions[row] = prediction;
            let residual = scale.to(data.response[row]) - scale.to(prediction);
            // A response that has no logarithm is as far off as can be.
            self.residuals[row] = residual.clamp(-1e300, 1e300);
            self.deviations[row] = fitted.deviation(data.rows[row]);
            self.fold_of[row] = number;
        }
        if let Fitted::Gp(model) = fitted {
            let beliefs = model.beliefs(&at, judging.threads);
            for (&row, (_, mixture)) in fold.test().iter().zip(beliefs) {
                let below = mixture.cdf(scale.to(data.response[row]));
                self.inside[row] = Some((2.0 * below - 1.0).abs() <= judging.coverage);
            }
        }
    }

    fn score(&self, data: &Training<'_>, coverage: f64) -> Score {
        let covered = self.inside.iter().copied().collect::<Option<Vec<bool>>>();
        let covered = match covered {
            Some(inside) => share(inside.into_iter()),
            None => self.covered(data, coverage),
        };
        score(&data.response, &self.predictions, covered)
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

    fn points(&self, data: &Training<'_>) -> Vec<(f64, f64)> {
        let pairs = data.response.iter().zip(&self.predictions);
        pairs
            .map(|(&actual, &predicted)| (actual, predicted))
            .collect()
    }
}

fn share(inside: impl ExactSizeIterator<Item = bool>) -> f64 {
    let all = inside.len() as f64;
    inside.filter(|&inside| inside).count() as f64 / all
}

pub(super) fn score(truth: &[f64], predicted: &[f64], coverage: f64) -> Score {
    let of = |metric: Metric| metric.of(truth, predicted).ok();
    let known = "there are rows, and as many predictions";
    Score {
        mse: of(Metric::MeanSquaredError).expect(known),
        r2: of(Metric::R2).expect(known),
        mape: of(Metric::MeanAbsolutePercentageError),
        coverage,
    }
}

/// Judges one predictor that the caller named.
pub(super) fn judge(
    kind: Kind,
    data: &Training<'_>,
    judging: Judging,
) -> Result<(Comparison, OutOfFold), FitPredictorError> {
    let most = if data.rows.len() > MANY_ROWS {
        COMPARED
    } else {
        FINAL
    };
    let folds = folds_of(data, most, judging.seed)?;
    let found = out_of_fold(kind, data, &folds, judging)?;
    let comparison = Comparison {
        compared: vec![Compared {
            kind,
            outcome: Ok(found.score(data, judging.coverage)),
        }],
        chosen: kind,
        reason: format!("{kind} was asked for"),
        folds: folds.len(),
        points: found.points(data),
    };
    Ok((comparison, found))
}

/// The averaged process by itself: every setting is left out in turn, in closed
/// form and without the forest.
pub(super) fn averaged(
    model: &Averaged,
    data: &Training<'_>,
    coverage: f64,
    asked: bool,
) -> Comparison {
    let scale = model.scale();
    let half = model.half_width(coverage);
    let unseen: Vec<(f64, f64)> = model.unseen().collect();
    let predicted: Vec<f64> = unseen.iter().map(|(mean, _)| scale.back(*mean)).collect();
    let pairs = data.response.iter().zip(&unseen);
    let inside =
        pairs.map(|(&y, (mean, deviation))| (scale.to(y) - mean).abs() <= half * deviation);
    let covered = share(inside.collect::<Vec<_>>().into_iter());
    Comparison {
        compared: vec![Compared {
            kind: Kind::Gp,
            outcome: Ok(score(&data.response, &predicted, covered)),
        }],
        chosen: Kind::Gp,
        reason: if asked {
            "gp was asked for".to_owned()
        } else {
            "gp, whose promises hold best on small tables".to_owned()
        },
        folds: 0,
        points: data.response.iter().copied().zip(predicted).collect(),
    }
}

/// Why the averaged process does not suit a table.
pub(super) fn unsuited(data: &Training<'_>) -> Option<&'static str> {
    if data.settings() > Averaged::MOST_SETTINGS {
        Some("there are too many settings for gp")
    } else if data.trials_span_settings() {
        // The process takes runs to err independently.
        Some("the epochs of a run err together, which gp does not know")
    } else {
        None
    }
}

/// Judges every predictor on the same folds. The averaged process is used if it
/// suits the table; otherwise the predictor of least error.
pub(super) fn all(
    data: &Training<'_>,
    judging: Judging,
    unsuited: Option<&str>,
) -> Result<Comparison, FitPredictorError> {
    let rows = thinned(&data.trials, MOST_ROWS);
    let part = data.select(&rows);
    let folds = folds_of(&part, COMPARED, judging.seed)?;
    let mut compared = Vec::with_capacity(Kind::ALL.len());
    let mut points = Vec::new();
    let mut best: Option<(f64, Kind)> = None;
    for kind in Kind::ALL {
        if kind == Kind::Gp && unsuited.is_some() {
            continue;
        }
        let outcome = out_of_fold(kind, &part, &folds, judging).map(|found| {
            let score = found.score(&part, judging.coverage);
            let wanted = unsuited.is_none() && kind == Kind::Gp;
            // Kinds come simplest first, so that a tie goes to the simpler.
            let better = best.as_ref().is_none_or(|(least, _)| score.mse < *least);
            if wanted || (unsuited.is_some() && better) {
                points = found.points(&part);
            }
            if better {
                best = Some((score.mse, kind));
            }
            score
        });
        compared.push(Compared { kind, outcome });
    }
    let Some((_, best)) = best else {
        let first = compared.into_iter().find_map(|line| line.outcome.err());
        return Err(first.expect("without a best predictor every one has failed"));
    };
    let gp = compared
        .iter()
        .any(|line| line.kind == Kind::Gp && line.outcome.is_ok());
    let chosen = if gp { Kind::Gp } else { best };
    Ok(Comparison {
        reason: reason(&compared, chosen, unsuited),
        compared,
        chosen,
        folds: folds.len(),
        points,
    })
}

fn reason(compared: &[Compared], chosen: Kind, unsuited: Option<&str>) -> String {
    let mut scores: Vec<(Kind, Score)> = compared
        .iter()
        .filter_map(|line| line.outcome.map(|score| (line.kind, score)).ok())
        .collect();
    scores.sort_by(|a, b| a.1.mse.total_cmp(&b.1.mse));
    let own = scores.iter().find(|(kind, _)| *kind == chosen);
    let other = scores.iter().find(|(kind, _)| *kind != chosen);
    let because = unsuited.map_or(String::new(), |why| format!("; {why}"));
    match (own, other) {
        (Some((_, own)), Some((other, next))) if own.mse <= next.mse => {
            let less = match next.mse > 0.0 {
                true => 100.0 * (1.0 - own.mse / next.mse),
                false => 0.0,
            };
            format!(
                "{chosen} predicts trials it has not seen with the least squared error, \
                 {less:.0}% below {other}{because}"
            )
        }
        (Some((_, own)), Some((other, next))) => {
            let more = 100.0 * (1.0 - next.mse / own.mse);
            format!(
                "{chosen}, whose intervals hold best on small tables; here {other} has {more:.0}% \
                 less squared error on trials it has not seen"
            )
        }
        _ => format!("{chosen} is the only predictor that this table allows{because}"),
    }
}
