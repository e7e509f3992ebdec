//! The best configuration that keeps its promises.

mod epochs;
mod running;
mod weak;

pub use epochs::FreeEpochs;
pub use running::{BesideAnswer, Line, RunningJob};
pub use weak::WeakPredictor;

use crate::failure::Failure;
use crate::predict::{prediction_json, predictor_json};
use crate::runs_table::{Demands, OpenTable, RunsTable, report_epochs, settings_json, threads};
use paceline_advise::curve::candidates_over_epochs;
use paceline_advise::pick::{
    Constraint, Objective, Pick, PickRequest, Picked, Space, SuggestOptions, Suggestion, Verdict,
    candidates, pick as picked, suggest,
};
use paceline_advise::predict::{Choice, PredictOptions, Predictor};
use paceline_advise::runs::Configuration;
use paceline_model::Level;
use serde_json::{Value, json};

/// What is to be picked.
#[derive(Debug, Clone)]
pub struct PickQuestion {
    /// What is called best.
    pub objective: Objective,
    /// What must be kept.
    pub limits: Vec<Constraint>,
    /// Factors that are fixed.
    pub given: Vec<(String, Level)>,
    /// The probability with which each limit must be kept.
    pub confidence: f64,
    /// How many configurations between the observed levels are considered as well.
    pub grid: Option<usize>,
    /// Whether the number of epochs is picked too, and up to how many; zero is the
    /// most that were run.
    pub epochs_free: Option<u32>,
    /// Jobs that run meanwhile.
    pub running: Vec<RunningJob>,
    /// How much a job takes from another beside it; fitted to runs of several jobs
    /// if it is not said.
    pub contention: Option<f64>,
    /// How many runs are proposed that would be worth most.
    pub suggest: usize,
    /// The column that holds the duration of a run.
    pub time: String,
    /// Which predictor to use.
    pub predictor: Choice,
    /// The seed of folds and learners.
    pub seed: u64,
}

/// What is picked from and by what.
pub struct Setup {
    /// The runs that were learned from.
    pub table: RunsTable,
    /// What is known of the epochs, if their number is free.
    pub epochs: Option<FreeEpochs>,
    /// The configurations that are considered.
    pub choices: Vec<Configuration>,
    /// One for each response that is asked for.
    pub predictors: Vec<Predictor>,
}

/// A pick.
pub enum PickAnswer {
    /// With the cluster to itself.
    Alone(Box<AloneAnswer>),
    /// Beside jobs that run.
    Beside(Box<BesideAnswer>),
}

/// A pick with the cluster to itself.
pub struct AloneAnswer {
    /// What is picked from and by what.
    pub setup: Setup,
    /// What was asked.
    pub request: PickRequest,
    /// The answer.
    pub pick: Pick,
    /// Runs worth making next.
    pub suggestions: Vec<Suggestion>,
    /// Whether any were asked for.
    pub suggestions_asked: bool,
    /// Whether the runs reported each epoch, and nobody asked about epochs.
    pub epochs_could_be_free: bool,
}

impl PickAnswer {
    /// Whether the pick keeps every limit and every promise.
    #[must_use]
    pub fn keeps_every_limit(&self) -> bool {
        match self {
            Self::Alone(alone) => matches!(alone.pick.verdict, Verdict::Met { .. }),
            Self::Beside(beside) => beside.admission.promises_kept,
        }
    }

    /// The answer for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        match self {
            Self::Alone(alone) => alone.json(),
            Self::Beside(beside) => beside.json(),
        }
    }
}

/// Picks by the runs of a table.
///
/// # Errors
/// If the table lacks what is asked for, or has too few runs to learn from.
pub fn pick(open: &OpenTable, question: &PickQuestion) -> Result<PickAnswer, Failure> {
    let confidence = question.confidence;
    crate::predict::check_probability("--confidence", confidence)?;
    let request = PickRequest {
        objective: question.objective.clone(),
        constraints: question.limits.clone(),
        confidence,
        coverage: confidence,
    };
    if question.running.is_empty() {
        return Ok(PickAnswer::Alone(Box::new(pick_alone(
            open, question, request,
        )?)));
    }
    // A newcomer is chosen by how long it takes, limited or not.
    let setup = set_up(open, question, &request, Some(&question.time))?;
    running::pick_beside(open, question, request, setup)
}

fn pick_alone(
    open: &OpenTable,
    question: &PickQuestion,
    request: PickRequest,
) -> Result<AloneAnswer, Failure> {
    let setup = set_up(open, question, &request, None)?;
    let pick = picked(&setup.predictors, &setup.choices, &request).map_err(Failure::user)?;
    let suggestions = if question.suggest == 0 {
        Vec::new()
    } else {
        let timed = setup.table.runs.response(&question.time).is_some();
        let options = SuggestOptions {
            count: question.suggest,
            seed: question.seed,
            threads: threads(),
        };
        suggest(
            &setup.table.runs,
            &setup.choices,
            &request.objective,
            &request.constraints,
            timed.then_some(question.time.as_str()),
            &open.roles(setup.table.runs.factors())?,
            options,
        )
        .map_err(Failure::user)?
    };
    Ok(AloneAnswer {
        epochs_could_be_free: setup.epochs.is_none() && report_epochs(open),
        setup,
        request,
        pick,
        suggestions,
        suggestions_asked: question.suggest > 0,
    })
}

/// Fits a predictor to every response that is asked for.
fn set_up(
    open: &OpenTable,
    question: &PickQuestion,
    request: &PickRequest,
    also: Option<&str>,
) -> Result<Setup, Failure> {
    let mut responses: Vec<String> = Vec::new();
    let weights = request.objective.weights();
    let asked = weights.iter().map(|(name, _)| *name);
    let limited = request
        .constraints
        .iter()
        .map(|limit| limit.response.as_str());
    for name in asked.chain(limited).chain(also) {
        if !responses.iter().any(|known| known == name) {
            responses.push(name.to_owned());
        }
    }
    let epochs = match question.epochs_free {
        Some(wanted) => Some(FreeEpochs::read(open, &responses, wanted)?),
        None => None,
    };
    let (table, epochs) = match epochs {
        Some((table, epochs)) => (table, Some(epochs)),
        None => (open.runs(&responses)?, None),
    };
    let factors = table.runs.factors();
    let mut given = factors.fixed(&question.given).map_err(Failure::user)?;
    if also.is_some() {
        given.extend(running::alone(&open.roles(factors)?, &given));
    }
    let space = question
        .grid
        .map_or(Space::Observed, |most| Space::Grid { most });
    let choices = match &epochs {
        Some(epochs) => candidates_over_epochs(&table.runs, &given, space, epochs.most),
        None => candidates(&table.runs, &given, space),
    };
    let choices = choices
        .map_err(|error| Failure::user(error).hint("fix factors with --given, or raise --grid"))?;
    // Samples are of whole runs and not of their epochs.
    let demands = match &epochs {
        Some(_) => Demands::Unknown("the epochs are free".to_owned()),
        None => open.demands(&open.roles(factors)?),
    };
    let predictors = responses
        .iter()
        .map(|response| {
            let roles = match &epochs {
                Some(epochs) => epochs.roles(open, factors, response)?,
                None => open.roles(factors)?,
            };
            let options = PredictOptions {
                choice: question.predictor,
                coverage: question.confidence,
                roles: Some(roles),
                demands: open.demands_of(&demands, response),
                seed: question.seed,
                threads: threads(),
                ..PredictOptions::default()
            };
            Predictor::fit(&table.runs, response, &options).map_err(Failure::user)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Setup {
        table,
        epochs,
        choices,
        predictors,
    })
}

impl AloneAnswer {
    fn json(&self) -> Value {
        let verdict = match &self.pick.verdict {
            Verdict::Met {
                best,
                runner_up,
                binding,
            } => json!({
                "met": true,
                "pick": self.picked_json(best),
                "runner_up": runner_up.as_ref().map(|runner_up| json!({
                    "pick": self.picked_json(&runner_up.picked),
                    "gives_up": runner_up.gives_up,
                })),
                "binding": binding.map(|binding| json!({
                    "limit": self.request.constraints[binding.constraint].to_string(),
                    "would_gain": binding.would_gain,
                })),
            }),
            Verdict::Unmet { nearest, reason } => json!({
                "met": false,
                "nearest": self.picked_json(nearest),
                "reason": reason,
            }),
        };
        let front: Vec<Value> = self
            .pick
            .front
            .iter()
            .map(|at| self.picked_json(at))
            .collect();
        let predictors: Vec<Value> = self
            .setup
            .predictors
            .iter()
            .map(|predictor| predictor_json(predictor, self.request.coverage))
            .collect();
        let suggestions: Vec<Value> = self
            .suggestions
            .iter()
            .map(|suggestion| {
                let settings = self
                    .setup
                    .table
                    .runs
                    .factors()
                    .settings(&suggestion.configuration);
                json!({
                    "configuration": settings_json(&settings),
                    "expected_improvement": suggestion.improvement,
                    "seconds": suggestion.seconds,
                    "worth": suggestion.worth,
                    "probability_of_limits": suggestion.feasible,
                })
            })
            .collect();
        json!({
            "source": self.setup.table.source,
            "runs": self.setup.table.count,
            "epochs": self.setup.epochs.as_ref().map(FreeEpochs::json),
            "objective": self.request.objective.to_string(),
            "confidence": self.request.confidence,
            "considered": self.pick.considered,
            "feasible": self.pick.feasible,
            "verdict": verdict,
            "front": front,
            "predictors": predictors,
            "suggestions": suggestions,
        })
    }

    fn picked_json(&self, picked: &Picked) -> Value {
        let responses = picked.predictions.iter();
        let responses = responses.map(|(name, p)| (name.clone(), prediction_json(p)));
        let limits = self.request.constraints.iter().zip(&picked.chances);
        let limits: Vec<Value> = limits
            .map(|(limit, chance)| json!({ "limit": limit.to_string(), "probability": chance }))
            .collect();
        json!({
            "configuration": settings_json(&self.setup.table.runs.factors().settings(&picked.configuration)),
            "objective": picked.objective,
            "responses": Value::Object(responses.collect()),
            "limits": limits,
        })
    }
}
