//! What a study's results say, gathered once for the page.

use super::ReportQuestion;
use crate::analyze::{AnalyzeAnswer, AnalyzeError, AnalyzeQuestion, analyze};
use crate::error::Explained;
use crate::pick::{AloneAnswer, PickError, PickQuestion, pick_by};
use crate::predictors::{FitError, Fitting, Predictors};
use crate::promises::{PromisesAnswer, of_study};
use crate::results::{OpenResultsError, Results, StudyResults};
use crate::settings::settings_json;
use paceline_advise::predict::{Choice, Comparison, FactorImportance, Score};
use paceline_design::Design;
use paceline_model::error_chain;
use paceline_records::study::Plan;
use paceline_runner::study::plan as planned;
use serde_json::{Value, json};
use std::sync::Arc;

/// Everything that a study's results say together.
pub struct StudyReport {
    /// The study.
    pub study: Arc<StudyResults>,
    /// Its runs that count, or that there are none.
    pub results: Result<Results, OpenResultsError>,
    /// The responses, those that were asked for first.
    pub responses: Vec<String>,
    /// What explains each response, or why nothing can be said; nothing at all if no
    /// run counts.
    pub analyses: Vec<Result<AnalyzeAnswer, AnalyzeError>>,
    /// How well each response is predicted, or why it is not; nothing at all if no
    /// run counts.
    pub forecasts: Vec<Result<Forecast, FitError>>,
    /// Which configuration to run, as `pick` would say, or why none is recommended;
    /// nothing at all if no run counts.
    pub advice: Option<Result<AloneAnswer, PickError>>,
    /// The design that the runs are of; nothing if they grew while they were made.
    pub design: Option<Design>,
    /// The probability with which a deadline must be kept, and the coverage of
    /// intervals.
    pub confidence: f64,
    /// Whether the deadline can be kept; nothing without one, or where nothing can
    /// be said.
    pub met: Option<bool>,
    /// What was promised of runs, and what came.
    pub promises: PromisesAnswer,
}

/// How well a response is predicted.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// How the predictors compare, and which is used.
    pub comparison: Comparison,
    /// The coverage at which intervals were judged.
    pub coverage: f64,
    /// How much the prediction rests on each factor, the greatest first.
    pub importances: Vec<FactorImportance>,
}

impl Forecast {
    /// The score of the predictor that is used.
    #[must_use]
    pub fn score(&self) -> Option<&Score> {
        self.comparison.score()
    }

    /// Each run as `(actual, predicted)`, predicted without its own trial: what the
    /// score is made of.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.comparison.points
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The study has no such response.
    #[error("the study has no response `{name}`")]
    NoResponse {
        /// What was asked for.
        name: String,
        /// The study's responses.
        known: Vec<String>,
    },
    /// A plain table has no runs to show.
    #[error("`{0}` is a plain table, and a page is on a study")]
    NoStudy(String),
}

impl Explained for ReportError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoResponse { known, .. } => format!("its responses are {}", known.join(", ")),
            Self::NoStudy(_) => "name the directory of a study".to_owned(),
        })
    }
}

/// Gathers what a page on a study shows.
///
/// A run that does not count is left out. A study too small for statistics is no
/// error: its parts say why they are empty.
///
/// # Errors
/// If the study has no response that is asked for.
pub fn study(
    study: Arc<StudyResults>,
    question: &ReportQuestion,
) -> Result<StudyReport, ReportError> {
    let plan = &study.state.plan;
    let responses = responses(plan, question)?;
    // A search adds runs as it goes: its plan is not the design's.
    let again = planned(&study.study).ok();
    // A promised run may be of a trial that was not planned; the others are.
    let design = again.filter(|(_, made)| plan.trials.starts_with(&made.trials));
    let results = Results::of_study(Arc::clone(&study));
    let mut report = StudyReport {
        promises: of_study(&study.state),
        study,
        responses,
        analyses: Vec::new(),
        forecasts: Vec::new(),
        advice: None,
        design: design.map(|(design, _)| design),
        confidence: question.confidence,
        met: None,
        results,
    };
    if let Ok(results) = &report.results {
        let responses = &report.responses;
        let explained = responses.iter().map(|response| explain(results, response));
        report.analyses = explained.collect();
        let (forecasts, advice) = foresee(results, responses, question);
        report.met = match (&advice, question.deadline_s) {
            (Ok(advice), Some(_)) => Some(advice.is_met()),
            _ => None,
        };
        report.forecasts = forecasts;
        report.advice = Some(advice);
    }
    Ok(report)
}

fn explain(results: &Results, response: &str) -> Result<AnalyzeAnswer, AnalyzeError> {
    let question = AnalyzeQuestion {
        response: Some(response.to_owned()),
        ..AnalyzeQuestion::default()
    };
    analyze(results, &question)
}

/// How well each response is predicted, and the pick by these predictors.
fn foresee(
    results: &Results,
    responses: &[String],
    question: &ReportQuestion,
) -> (
    Vec<Result<Forecast, FitError>>,
    Result<AloneAnswer, PickError>,
) {
    let fitting = Fitting {
        predictor: Choice::Auto,
        coverage: question.confidence,
        seed: Fitting::SEED,
    };
    let pick = PickQuestion {
        objective: question.objective.clone(),
        deadline_s: question.deadline_s,
        time: question.time.clone(),
        fitting,
        ..PickQuestion::default()
    };
    // A response that cannot be learned from must not take the others with it.
    let usable = |name: &String| results.runs(std::slice::from_ref(name)).is_ok();
    let usable: Vec<String> = responses
        .iter()
        .filter(|name| usable(name))
        .cloned()
        .collect();
    let table = match results.runs(&usable) {
        Ok(table) => table,
        Err(error) => return (Vec::new(), Err(error.into())),
    };
    let learned = match Predictors::new(results, &table.runs, fitting) {
        Ok(learned) => learned.comparing(),
        Err(error) => return (Vec::new(), Err(error.into())),
    };
    let mut predictors = Vec::with_capacity(responses.len());
    let forecasts = responses.iter().map(|response| {
        let predictor = learned.fit(response)?;
        let forecast = Forecast {
            comparison: predictor.comparison().clone(),
            coverage: question.confidence,
            importances: learned.importances(&predictor).unwrap_or_default(),
        };
        predictors.push(predictor);
        Ok(forecast)
    });
    let forecasts = forecasts.collect();
    (forecasts, pick_by(results, &pick, table, predictors))
}

impl StudyReport {
    /// Why no configuration is recommended, where none is.
    #[must_use]
    pub fn why_not(&self) -> Option<String> {
        match &self.advice {
            None => Some("no run is done yet".to_owned()),
            Some(Err(error)) => {
                let hint = error.hint();
                let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
                Some(format!("{}{hint}", error_chain(error)))
            }
            Some(Ok(_)) => None,
        }
    }

    /// What the page says, for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let counts = self.study.state.progress.counts();
        let advice = self.advice.as_ref().and_then(|advice| advice.as_ref().ok());
        json!({
            "kind": "study",
            "runs": counts.total(),
            "done": counts.done,
            "failed": counts.failed,
            "responses": self.responses,
            "recommended": advice.map(|advice| {
                settings_json(&advice.settings(&advice.best().configuration))
            }),
            "why_not": self.why_not(),
            "meets_the_deadline": self.met,
            "promises": self.promises.json(),
        })
    }
}

/// The study's responses, those that were asked for first.
fn responses(plan: &Plan, question: &ReportQuestion) -> Result<Vec<String>, ReportError> {
    let weights = question
        .objective
        .iter()
        .flat_map(|objective| objective.weights());
    let named = weights.map(|(name, _)| name);
    let asked = question.responses.iter().chain(&question.time);
    for name in asked.map(String::as_str).chain(named) {
        if !plan.responses.iter().any(|known| known == name) {
            return Err(ReportError::NoResponse {
                name: name.to_owned(),
                known: plan.responses.clone(),
            });
        }
    }
    let mut shown: Vec<String> = Vec::new();
    for name in question.responses.iter().chain(&plan.responses) {
        if !shown.contains(name) {
            shown.push(name.clone());
        }
    }
    Ok(shown)
}
