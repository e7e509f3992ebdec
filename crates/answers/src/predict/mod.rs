//! What a response will be, by the predictor that deserves trust.

mod curves;

pub use curves::{Curves, without_epochs};

use crate::failure::Failure;
use crate::runs_table::{Demands, EpochsTable, OpenTable, RunsTable, settings_json, threads};
use anyhow::anyhow;
use paceline_advise::predict::{
    Choice, DemandSource, FactorImportance, Holdout, Interval, IntervalMethod, LEAST_CONFIDENCE,
    MOST_CONFIDENCE, PredictOptions, Prediction, Predictor, Score, hold_out, importances,
    is_confidence,
};
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
    /// Which predictor to use.
    pub predictor: Choice,
    /// The share of the trials that are set aside to judge predictors by.
    pub holdout: Option<f64>,
    /// How often an interval is to hold the truth.
    pub coverage: f64,
    /// The seed of folds and learners.
    pub seed: u64,
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
}

/// A configuration with each response's prediction.
pub struct Row {
    /// The level of every factor.
    pub settings: Vec<(String, Level)>,
    /// In the order of the predictors.
    pub predictions: Vec<Prediction>,
}

/// Predicts from the runs of a table.
///
/// # Errors
/// If the table lacks what is asked for, or has too few runs to learn from.
pub fn predict(open: &OpenTable, question: &PredictQuestion) -> Result<PredictAnswer, Failure> {
    check_probability("--coverage", question.coverage)?;
    let responses = match question.responses.is_empty() {
        true => open.responses.clone(),
        false => question.responses.clone(),
    };
    if responses.is_empty() {
        return Err(Failure::user(anyhow!("no responses are named"))
            .hint("name the columns to predict with --responses"));
    }
    let epochs = match question.curve {
        true => Some(open.epochs(&responses)?),
        false => None,
    };
    let curves = match &epochs {
        Some(epochs) => curves::curves(epochs, &responses),
        None => Vec::new(),
    };
    let table = match &epochs {
        Some(epochs) => epochs.thin.clone(),
        None => open.runs(&responses)?,
    };
    let factors = table.runs.factors();
    let configurations = question
        .at
        .iter()
        .map(|at| factors.configuration(at).map_err(Failure::user))
        .collect::<Result<Vec<_>, _>>()?;
    // Curves are shown without predictors unless something is to be predicted.
    let predicted = match question.curve && configurations.is_empty() {
        true => &[][..],
        false => &responses,
    };
    // Samples are of whole runs and not of their epochs.
    let demands = match question.curve {
        true => Demands::Unknown("the epochs are a factor".to_owned()),
        false => open.demands(&open.roles(factors)?),
    };
    let options = predicted
        .iter()
        .map(|response| {
            let roles = match &epochs {
                Some(epochs) => epochs.roles(open, response)?,
                None => open.roles(factors)?,
            };
            Ok(PredictOptions {
                choice: question.predictor,
                compare: true,
                coverage: question.coverage,
                roles: Some(roles),
                demands: open.demands_of(&demands, response),
                seed: question.seed,
                threads: threads(),
                ..PredictOptions::default()
            })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let asked = || predicted.iter().zip(&options);
    // What cannot be set aside is said before anything is fitted.
    let holdouts = match question.holdout {
        Some(share) => asked()
            .map(|(response, options)| {
                hold_out(&table.runs, response, options, share).map_err(Failure::user)
            })
            .collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    let predictors = asked()
        .map(|(response, options)| {
            Predictor::fit(&table.runs, response, options).map_err(Failure::user)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let importances = asked()
        .zip(&predictors)
        .map(|((response, options), predictor)| {
            importances(&table.runs, response, predictor.kind(), options)
                .map_err(|error| error.to_string())
        })
        .collect();
    let rows: Vec<Row> = configurations
        .iter()
        .map(|at| Row {
            settings: factors.settings(at),
            predictions: predictors
                .iter()
                .map(|p| p.predict(at, question.coverage))
                .collect(),
        })
        .collect();
    let no_samples = match demands {
        Demands::Recorded(_) => "it is not the duration of the runs".to_owned(),
        Demands::Unknown(why) => why,
    };
    Ok(PredictAnswer {
        table,
        epochs,
        curves,
        predictors,
        importances,
        holdouts,
        rows,
        coverage: question.coverage,
        no_samples,
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

/// A coverage or confidence that a table of runs can speak of.
pub(crate) fn check_probability(name: &str, value: f64) -> Result<(), Failure> {
    if is_confidence(value) {
        return Ok(());
    }
    let failure = Failure::user(anyhow!(
        "{name} {value} is not between {LEAST_CONFIDENCE} and {MOST_CONFIDENCE}"
    ));
    Err(failure.hint("a usual value is 0.95; more than 0.9999 no table of runs supports"))
}
