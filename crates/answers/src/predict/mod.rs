//! What a response will be, by the predictor that deserves trust.

mod curves;

pub use curves::{Curves, without_epochs};

use crate::error::{Explained, Fault};
use crate::predictors::{FitError, Fitting, Predictors, ProbabilityError, check_probability};
use crate::promises::Learned;
use crate::results::{EpochsError, EpochsTable, LearnError, Results, RunsTable};
use crate::settings::settings_json;
use paceline_advise::predict::{
    DemandSource, FactorImportance, Holdout, Interval, IntervalMethod, Prediction, Predictor, Score,
};
use paceline_advise::runs::SettingError;
use paceline_model::Level;
use serde_json::{Value, json};

/// What is to be predicted.
#[derive(Debug, Clone)]
pub struct PredictQuestion {
    /// The columns to predict; a study's own responses if none is named.
    pub responses: Vec<String>,
    /// The configurations to predict.
    pub at: Vec<Vec<(String, Level)>>,
    /// Whether the number of epochs becomes a factor.
    pub curve: bool,
    /// How predictors are fitted.
    pub fitting: Fitting,
    /// The share of the trials that are set aside to judge predictors by.
    pub holdout: Option<f64>,
}

/// Predictions, and how far they can be trusted.
pub struct PredictAnswer {
    /// The runs that were learned from.
    pub table: RunsTable,
    /// The runs with a row per epoch, if that was asked for.
    pub epochs: Option<EpochsTable>,
    /// How each response goes on with the epochs.
    pub curves: Vec<Curves>,
    /// By response.
    pub predictors: Vec<Predictor>,
    /// How much each response's predictor rests on each factor, or why that is not
    /// known; in the order of the predictors.
    pub importances: Vec<Result<Vec<FactorImportance>, String>>,
    /// How predictors did on trials that were set aside, in the order of the
    /// predictors; empty if none were.
    pub holdouts: Vec<Holdout>,
    /// By configuration that was asked for.
    pub rows: Vec<Row>,
    /// How often an interval is to hold the truth.
    pub coverage: f64,
    /// Why the law of queues takes nothing from samples, where it does not.
    pub no_samples: String,
    /// Responses whose beliefs are wider for what earlier promises came to.
    pub learned: Vec<Learned>,
}

/// A configuration with each response's prediction.
pub struct Row {
    /// The level of every factor.
    pub settings: Vec<(String, Level)>,
    /// In the order of the predictors.
    pub predictions: Vec<Prediction>,
}

/// Why nothing is predicted.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// Nothing says what is to be predicted.
    #[error("no responses are named")]
    NoResponses,
    /// Nothing can be learned from the results.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The results do not tell how responses go on with the epochs.
    #[error(transparent)]
    Epochs(#[from] EpochsError),
    /// A response has no predictor.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A configuration cannot be.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The coverage is no probability that a table can speak of.
    #[error(transparent)]
    Coverage(#[from] ProbabilityError),
}

impl Explained for PredictError {
    fn fault(&self) -> Fault {
        match self {
            Self::Epochs(error) => error.fault(),
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoResponses => Some("name the columns to predict with --responses".to_owned()),
            Self::Learn(error) => error.hint(),
            Self::Epochs(error) => error.hint(),
            Self::Fit(error) => error.hint(),
            Self::Coverage(error) => error.hint(),
            Self::Setting(_) => None,
        }
    }
}

/// Predicts from results.
///
/// # Errors
/// If the results lack what is asked for, or have too few runs to learn from.
pub fn predict(
    results: &Results,
    question: &PredictQuestion,
) -> Result<PredictAnswer, PredictError> {
    check_probability("--coverage", question.fitting.coverage)?;
    let responses = match question.responses.is_empty() {
        true => results.responses(),
        false => &question.responses,
    };
    if responses.is_empty() {
        return Err(PredictError::NoResponses);
    }
    let epochs = match question.curve {
        true => Some(results.epochs(responses)?),
        false => None,
    };
    let curves = match &epochs {
        Some(epochs) => curves::curves(epochs, responses),
        None => Vec::new(),
    };
    let table = match &epochs {
        Some(epochs) => epochs.thin.clone(),
        None => results.runs(responses)?,
    };
    let factors = table.runs.factors();
    let at = question.at.iter();
    let configurations = at
        .map(|at| factors.configuration(at))
        .collect::<Result<Vec<_>, _>>()?;
    // Curves are shown without predictors unless something is to be predicted.
    let predicted = match question.curve && configurations.is_empty() {
        true => &[][..],
        false => responses,
    };
    let shapes = epochs.as_ref().map(|epochs| epochs.shapes(responses));
    let learned = match &shapes {
        Some(shapes) => Predictors::over_epochs(results, &table.runs, shapes, question.fitting),
        None => Predictors::new(results, &table.runs, question.fitting)?,
    };
    let learned = learned.comparing();
    // What cannot be set aside is said before anything is fitted.
    let holdouts = match question.holdout {
        Some(share) => predicted
            .iter()
            .map(|response| learned.hold_out(response, share))
            .collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    let predictors = predicted
        .iter()
        .map(|response| learned.fit(response))
        .collect::<Result<Vec<_>, _>>()?;
    let importances = predictors.iter().map(|predictor| {
        let found = learned.importances(predictor);
        found.map_err(|error| error.to_string())
    });
    let importances = importances.collect();
    let coverage = question.fitting.coverage;
    let rows = configurations.iter().map(|at| Row {
        settings: factors.settings(at),
        predictions: predictors.iter().map(|p| p.predict(at, coverage)).collect(),
    });
    Ok(PredictAnswer {
        rows: rows.collect(),
        no_samples: learned.no_samples(),
        learned: results.learned_by(&predictors, coverage),
        table,
        epochs,
        curves,
        predictors,
        importances,
        holdouts,
        coverage,
    })
}

impl PredictAnswer {
    /// The answer for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut document = document(&self.table, &self.predictors, &self.rows, self.coverage);
        for (at, importances) in self.importances.iter().enumerate() {
            document["responses"][at]["importance"] = importance_json(importances);
        }
        for (at, holdout) in self.holdouts.iter().enumerate() {
            document["responses"][at]["holdout"] = holdout_json(holdout);
        }
        if let Some(epochs) = &self.epochs {
            document["curves"] = curves::json(epochs, &self.curves);
        }
        document
    }
}

fn document(table: &RunsTable, predictors: &[Predictor], rows: &[Row], coverage: f64) -> Value {
    let responses: Vec<Value> = predictors
        .iter()
        .map(|p| predictor_json(p, coverage))
        .collect();
    let predictions: Vec<Value> = rows
        .iter()
        .map(|row| {
            let each = predictors.iter().zip(&row.predictions);
            let each =
                each.map(|(p, prediction)| (p.response().to_owned(), prediction_json(prediction)));
            json!({
                "configuration": settings_json(&row.settings),
                "responses": Value::Object(each.collect()),
            })
        })
        .collect();
    json!({
        "source": table.source,
        "runs": table.count,
        "left_out": table.left_out,
        "coverage": coverage,
        "responses": responses,
        "predictions": predictions,
    })
}

/// How a response is predicted and what else was tried.
#[must_use]
pub fn predictor_json(predictor: &Predictor, coverage: f64) -> Value {
    let comparison = predictor.comparison();
    let compared: Vec<Value> = comparison
        .compared
        .iter()
        .map(|line| match &line.outcome {
            Ok(found) => json!({ "predictor": line.kind.name(), "score": score_json(found) }),
            Err(error) => json!({ "predictor": line.kind.name(), "error": error.to_string() }),
        })
        .collect();
    json!({
        "response": predictor.response(),
        "predictor": predictor.kind().name(),
        "reason": comparison.reason,
        "folds": comparison.folds,
        "interval_method": match predictor.method(coverage) {
            IntervalMethod::Conformal => "conformal",
            IntervalMethod::Student => "student",
            IntervalMethod::Posterior => "posterior",
        },
        "compared": compared,
        "score": comparison.score().map(score_json),
        "settled": predictor.settled(),
        "unequal_spread": predictor.unequal_spread(),
        "widened": predictor.widened(),
        "queue_demands_from": predictor.demand_source().map(|source| match source {
            DemandSource::Samples => "samples",
            DemandSource::Table => "table",
        }),
    })
}

/// A prediction with its interval.
#[must_use]
pub fn prediction_json(prediction: &Prediction) -> Value {
    let ends = prediction.interval.ends();
    json!({
        "value": prediction.value,
        "low": ends.map(|(low, _)| low),
        "high": ends.map(|(_, high)| high),
        "interval": match prediction.interval {
            Interval::Known { .. } => "known",
            Interval::NotKnown(why) => why.name(),
        },
        "extrapolated": !prediction.outside.is_empty(),
    })
}

fn score_json(score: &Score) -> Value {
    json!({
        "mse": score.mse,
        "r2": score.r2,
        "mape": score.mape,
        "interval_coverage": score.coverage,
    })
}

fn importance_json(importances: &Result<Vec<FactorImportance>, String>) -> Value {
    match importances {
        Ok(each) => each
            .iter()
            .map(|one| {
                json!({
                    "factor": one.factor,
                    "share_of_variance": one.share,
                    "low": one.low,
                    "high": one.high,
                })
            })
            .collect(),
        Err(_) => Value::Null,
    }
}

fn holdout_json(holdout: &Holdout) -> Value {
    let lines: Vec<Value> = holdout
        .lines
        .iter()
        .map(|line| match &line.outcome {
            Ok(found) => json!({
                "predictor": line.kind.name(),
                "score": score_json(found),
                "settled": line.settled,
            }),
            Err(error) => json!({ "predictor": line.kind.name(), "error": error.to_string() }),
        })
        .collect();
    json!({
        "learned_from_trials": holdout.learned_from,
        "set_aside_trials": holdout.set_aside,
        "predictors": lines,
    })
}
