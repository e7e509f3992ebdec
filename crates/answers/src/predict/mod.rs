//! What a response will be, by the predictor that deserves trust.

mod curves;

pub use curves::{Curves, without_epochs};

use crate::failure::Failure;
use crate::runs_table::{Demands, EpochsTable, OpenTable, RunsTable, settings_json, threads};
use anyhow::anyhow;
use paceline_advise::predict::{
    Choice, DemandSource, IntervalMethod, PredictOptions, Prediction, Predictor, Score,
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
    let predictors = predicted
        .iter()
        .map(|response| {
            let roles = match &epochs {
                Some(epochs) => epochs.roles(open, response)?,
                None => open.roles(factors)?,
            };
            let options = PredictOptions {
                choice: question.predictor,
                coverage: question.coverage,
                roles: Some(roles),
                demands: open.demands_of(&demands, response),
                seed: question.seed,
                threads: threads(),
            };
            Predictor::fit(&table.runs, response, &options).map_err(Failure::user)
        })
        .collect::<Result<Vec<_>, _>>()?;
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
    let score = |score: &Score| {
        json!({
            "mse": score.mse,
            "r2": score.r2,
            "mape": score.mape,
            "interval_coverage": score.coverage,
        })
    };
    let compared: Vec<Value> = comparison
        .compared
        .iter()
        .map(|line| match &line.outcome {
            Ok(found) => json!({ "predictor": line.kind.name(), "score": score(found) }),
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
        },
        "compared": compared,
        "auto": comparison.auto.as_ref().map(score),
        "queue_demands_from": predictor.demand_source().map(|source| match source {
            DemandSource::Samples => "samples",
            DemandSource::Table => "table",
        }),
    })
}

/// A prediction with its interval.
#[must_use]
pub fn prediction_json(prediction: &Prediction) -> Value {
    json!({
        "value": prediction.value,
        "low": prediction.low,
        "high": prediction.high,
        "extrapolated": !prediction.outside.is_empty(),
    })
}
