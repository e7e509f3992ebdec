//! The best configuration that keeps its promises.

mod epochs;
mod error;
mod json;
mod objective;
mod offers;
mod promise;
mod running;
mod tradeoff;
mod weak;

pub use epochs::FreeEpochs;
pub use error::PickError;
pub use offers::{Offer, Offers, STEPS, offers};
pub use promise::{Settings, Standing, StateError, settings_of, standing, state};
pub use running::{BesideAnswer, Line, RunningJob};
pub use tradeoff::Tradeoff;
pub use weak::WeakPredictor;

use crate::predictors::{Fitting, Predictors, check_probability, threads};
use crate::promises::Learned;
use crate::results::{Results, RunsTable};
use paceline_advise::curve::candidates_over_epochs;
use paceline_advise::pick::{
    Constraint, Objective, Pick, PickRequest, Picked, Space, SuggestOptions, Suggestion, Verdict,
    candidates, pick as picked, suggest,
};
use paceline_advise::predict::{Choice, Predictor};
use paceline_advise::runs::Configuration;
use paceline_model::Level;
use serde_json::Value;

/// What is to be picked.
#[derive(Debug, Clone)]
pub struct PickQuestion {
    /// What is called best; by the names of a study's responses if nothing is said.
    pub objective: Option<Objective>,
    /// What must be kept.
    pub limits: Vec<Constraint>,
    /// The deadline of a run: a limit of its time.
    pub deadline_s: Option<f64>,
    /// The response that is the duration of a run; by its name if nothing is said.
    pub time: Option<String>,
    /// Factors that are fixed.
    pub given: Vec<(String, Level)>,
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
    /// How predictors are fitted. Their coverage is the probability with which
    /// each limit must be kept.
    pub fitting: Fitting,
}

impl Default for PickQuestion {
    fn default() -> Self {
        Self {
            objective: None,
            limits: Vec::new(),
            deadline_s: None,
            time: None,
            given: Vec::new(),
            grid: None,
            epochs_free: None,
            running: Vec::new(),
            contention: None,
            suggest: 0,
            fitting: Fitting {
                predictor: Choice::Auto,
                coverage: 0.95,
                seed: Fitting::SEED,
            },
        }
    }
}

/// What is picked from and by what.
pub struct Setup {
    /// The runs that were learned from.
    pub table: RunsTable,
    /// What is known of the epochs, if their number is free.
    pub epochs: Option<FreeEpochs>,
    /// The configurations that are considered.
    pub choices: Vec<Configuration>,
    /// One for each response that is asked for, and for the time where there is one.
    pub predictors: Vec<Predictor>,
    /// Responses whose beliefs are wider for what earlier promises came to.
    pub learned: Vec<Learned>,
}

/// A question as it is understood.
pub(crate) struct Understood {
    request: PickRequest,
    /// Why this is called best, in words.
    because: String,
    /// The response that is a time, where there is one.
    time: Option<String>,
    /// What the time is weighed against, and whether more (1) or less (-1) is better.
    result: Option<(String, f64)>,
}

impl Understood {
    /// Whether the pick depends on a response.
    fn rests_on(&self, response: &str) -> bool {
        let weights = self.request.objective.weights();
        let mut limited = self.request.constraints.iter();
        weights.iter().any(|(name, _)| *name == response)
            || limited.any(|limit| limit.response == response)
    }
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
    /// Why this is called best, in words.
    pub because: String,
    /// The answer.
    pub pick: Pick,
    /// What is gained by taking longer, where there are a time and a result.
    pub tradeoff: Option<Tradeoff>,
    /// What makes the answer less certain.
    pub cautions: Vec<WeakPredictor>,
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
            Self::Alone(alone) => alone.is_met(),
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

impl AloneAnswer {
    /// The configuration that is advised, or the nearest to what was asked.
    #[must_use]
    pub fn best(&self) -> &Picked {
        advised(&self.pick)
    }

    /// Whether it keeps every limit.
    #[must_use]
    pub fn is_met(&self) -> bool {
        matches!(self.pick.verdict, Verdict::Met { .. })
    }

    /// A configuration's levels, by the names of their factors.
    #[must_use]
    pub fn settings(&self, at: &[f64]) -> Vec<(String, Level)> {
        self.setup.table.runs.factors().settings(at)
    }
}

fn advised(pick: &Pick) -> &Picked {
    match &pick.verdict {
        Verdict::Met { best, .. } => best,
        Verdict::Unmet { nearest, .. } => nearest,
    }
}

/// Picks by results.
///
/// # Errors
/// If the results lack what is asked for, or have too few runs to learn from.
pub fn pick(results: &Results, question: &PickQuestion) -> Result<PickAnswer, PickError> {
    let understood = understand(results, question)?;
    let setup = set_up(results, question, &understood)?;
    if !question.running.is_empty() {
        return running::pick_beside(results, question, understood, setup);
    }
    let mut answer = answer(understood, setup)?;
    answer.suggestions = suggestions(results, question, &answer)?;
    answer.suggestions_asked = question.suggest > 0;
    answer.epochs_could_be_free = answer.setup.epochs.is_none() && results.report_epochs();
    Ok(PickAnswer::Alone(Box::new(answer)))
}

/// Picks by predictors that are fitted already, as [`pick`] would fit them: more of
/// them than are asked for change nothing in the pick.
pub(crate) fn pick_by(
    results: &Results,
    question: &PickQuestion,
    table: RunsTable,
    predictors: Vec<Predictor>,
) -> Result<AloneAnswer, PickError> {
    let understood = understand(results, question)?;
    let choices = candidates(&table.runs, &[], Space::Observed)?;
    let setup = Setup {
        learned: results.learned_by(&predictors, question.fitting.coverage),
        table,
        epochs: None,
        choices,
        predictors,
    };
    answer(understood, setup)
}

/// What a question means for these results.
fn understand(results: &Results, question: &PickQuestion) -> Result<Understood, PickError> {
    let confidence = question.fitting.coverage;
    check_probability("--confidence", confidence)?;
    let time = objective::time(results, question);
    let names = results.responses();
    let (objective, because) = objective::objective(names, time.as_deref(), question)?;
    let mut constraints = question.limits.clone();
    if let Some(deadline) = question.deadline_s {
        let Some(time) = &time else {
            return Err(PickError::NoTime {
                responses: names.to_vec(),
            });
        };
        constraints.push(Constraint::at_most(time, deadline));
    }
    let result = time.as_deref();
    let result = result.and_then(|time| objective::result(names, &objective, time));
    Ok(Understood {
        result,
        request: PickRequest {
            objective,
            constraints,
            confidence,
            coverage: confidence,
        },
        because,
        time,
    })
}

fn answer(understood: Understood, setup: Setup) -> Result<AloneAnswer, PickError> {
    let Understood {
        request,
        because,
        time,
        result,
    } = understood;
    let pick = picked(&setup.predictors, &setup.choices, &request)?;
    let tradeoff = time.zip(result).and_then(|(time, (result, sign))| {
        let (predictors, choices) = (&setup.predictors, &setup.choices);
        Tradeoff::of(predictors, choices, (&result, sign), &time, advised(&pick))
    });
    Ok(AloneAnswer {
        cautions: WeakPredictor::among(&setup.predictors, &request),
        setup,
        request,
        because,
        pick,
        tradeoff,
        suggestions: Vec::new(),
        suggestions_asked: false,
        epochs_could_be_free: false,
    })
}

fn suggestions(
    results: &Results,
    question: &PickQuestion,
    answer: &AloneAnswer,
) -> Result<Vec<Suggestion>, PickError> {
    if question.suggest == 0 {
        return Ok(Vec::new());
    }
    let runs = &answer.setup.table.runs;
    let time = objective::time(results, question);
    let time = time.filter(|time| runs.response(time).is_some());
    let options = SuggestOptions {
        count: question.suggest,
        seed: question.fitting.seed,
        threads: threads(),
    };
    Ok(suggest(
        runs,
        &answer.setup.choices,
        &answer.request.objective,
        &answer.request.constraints,
        time.as_deref(),
        &results.roles(runs.factors())?,
        options,
    )?)
}

/// The responses that must be predicted, each once: those of the objective, the
/// limited ones, and of a study the time and the result that is weighed against it.
fn asked(results: &Results, question: &PickQuestion, understood: &Understood) -> Vec<String> {
    let request = &understood.request;
    let weights = request.objective.weights();
    let best = weights.iter().map(|(name, _)| *name);
    let limited = request.constraints.iter();
    let limited = limited.map(|limit| limit.response.as_str());
    // A newcomer is chosen by how long it takes, limited or not.
    let needed = !question.running.is_empty() || question.time.is_some();
    let time = understood.time.as_deref();
    let weighed = weighed(results, question);
    let time = time.filter(|_| needed || weighed);
    let result = understood.result.as_ref().map(|(name, _)| name.as_str());
    let result = result.filter(|_| weighed);
    let mut names: Vec<String> = Vec::new();
    for name in best.chain(limited).chain(time).chain(result) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether a study's time and result are predicted although nobody asked for them.
/// After each epoch a study need not tell them.
fn weighed(results: &Results, question: &PickQuestion) -> bool {
    results.study().is_some() && question.epochs_free.is_none()
}

/// Fits a predictor to every response that is asked for.
fn set_up(
    results: &Results,
    question: &PickQuestion,
    understood: &Understood,
) -> Result<Setup, PickError> {
    let responses = asked(results, question, understood);
    let (table, epochs) = match question.epochs_free {
        Some(wanted) => {
            let (table, epochs) = FreeEpochs::read(results, &responses, wanted)?;
            (table, Some(epochs))
        }
        None => (results.runs(&responses)?, None),
    };
    let factors = table.runs.factors();
    let mut given = factors.fixed(&question.given)?;
    if !question.running.is_empty() {
        given.extend(running::alone(&results.roles(factors)?, &given));
    }
    let space = question
        .grid
        .map_or(Space::Observed, |most| Space::Grid { most });
    let choices = match &epochs {
        Some(epochs) => candidates_over_epochs(&table.runs, &given, space, epochs.most)?,
        None => candidates(&table.runs, &given, space)?,
    };
    let fitting = question.fitting;
    let learned = match &epochs {
        Some(epochs) => Predictors::over_epochs(results, &table.runs, epochs.shapes(), fitting),
        None => Predictors::new(results, &table.runs, fitting)?,
    };
    let mut predictors = Vec::with_capacity(responses.len());
    for response in &responses {
        match learned.fit(response) {
            Ok(predictor) => predictors.push(predictor),
            // Without a time there is a pick, only no trade-off against it.
            Err(_) if !understood.rests_on(response) && question.running.is_empty() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Setup {
        learned: results.learned_by(&predictors, fitting.coverage),
        table,
        epochs,
        choices,
        predictors,
    })
}
