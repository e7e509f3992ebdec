//! What a pick promises of its next run, ready for the study's ledger.

use super::{AloneAnswer, PickError, PickQuestion, Understood, understand};
use crate::error::Explained;
use crate::promises::{Held, held};
use crate::results::{Results, StudyResults};
use paceline_advise::pick::Limit;
use paceline_advise::predict::{Choice, Role};
use paceline_model::Level;
use paceline_records::study::{Promise, PromisedLimit, PromisedValue};

/// Why a pick cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A plain table has no command to run and no ledger to note promises in.
    #[error("`{0}` is a plain table: there is no study to run the pick in")]
    NoStudy(String),
    /// The pick does not say what a factor of the study is to be.
    #[error("the pick says nothing about the study's factor `{0}`")]
    NoLevel(String),
    /// The pick has another value of something that the study's command does not
    /// take.
    #[error("the pick has {name}={level}, and the study's command takes no `{name}`")]
    NoConstant {
        /// What is set.
        name: String,
        /// To what.
        level: Level,
    },
    /// The question means nothing for these results.
    #[error(transparent)]
    Question(#[from] PickError),
}

impl Explained for StateError {
    fn fault(&self) -> crate::Fault {
        match self {
            Self::Question(error) => error.fault(),
            _ => crate::Fault::User,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoStudy(_) => Some(
                "--run is for the directory of a study, which knows its command: paceline study \
                 run STUDY.toml"
                    .to_owned(),
            ),
            Self::NoLevel(_) => Some("leave --factors out: a run needs every factor".to_owned()),
            Self::NoConstant { name, .. } => Some(format!(
                "use {{{name}}} in the command and put it under [fixed] or [factors]"
            )),
            Self::Question(error) => error.hint(),
        }
    }
}

/// What the ledger says of a question, before it is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// Nothing was promised, or what was rests on other runs than there are now.
    New,
    /// A promise was made, and its run has not ended.
    Open(Box<Promise>),
    /// A promise was made from these runs, and this came of it.
    Answered(Box<Held>),
}

/// How a question stands. `again` takes one that was answered as new.
///
/// # Errors
/// If the results are no study's, or the question means nothing for them.
pub fn standing(
    results: &Results,
    question: &PickQuestion,
    again: bool,
) -> Result<Standing, StateError> {
    let study = study_of(results)?;
    let asked = in_one_line(results, question, &understand(results, question)?);
    let promises = held(&study.state);
    let last = promises.into_iter().rev();
    let last = last.clone().find(|held| held.promise.question == asked);
    Ok(match last {
        None => Standing::New,
        Some(Held {
            promise,
            outcome: None,
        }) => Standing::Open(Box::new(promise)),
        Some(held) if !again && counted_without(study, &held) == held.promise.counted => {
            Standing::Answered(Box::new(held))
        }
        Some(_) => Standing::New,
    })
}

/// How many runs count besides the one that the promise was held against.
fn counted_without(study: &StudyResults, held: &Held) -> usize {
    let counted = study.counted().into_iter();
    let own = |&position: &usize| {
        let run = &study.state.plan.runs[position];
        run.promise.as_ref() == Some(&held.promise.id)
    };
    counted.filter(|position| !own(position)).count()
}

/// The promise of a pick that keeps every limit. `time` is when it is stated.
///
/// # Errors
/// If the results are no study's, or the question means nothing for them.
pub fn state(
    results: &Results,
    question: &PickQuestion,
    answer: &AloneAnswer,
    time: String,
) -> Result<Promise, StateError> {
    let study = study_of(results)?;
    let best = answer.best();
    let settings = answer.settings(&best.configuration).into_iter();
    let limits = answer.request.constraints.iter().zip(&best.chances);
    let limits = limits.map(|(constraint, &probability)| PromisedLimit {
        response: constraint.response.clone(),
        at_most: matches!(constraint.limit, Limit::AtMost(_)),
        value: constraint.limit.value(),
        probability,
    });
    let predictions = best.predictions.iter().filter_map(|(response, found)| {
        let predictors = answer.setup.predictors.iter();
        let predictor = predictors.clone().find(|p| p.response() == response)?;
        let (low, high) = found.interval.ends()?;
        Some(PromisedValue {
            response: response.clone(),
            value: found.value?,
            low,
            high,
            coverage: answer.request.coverage,
            by: predictor.kind().name().to_owned(),
            widened: predictor.widened(),
        })
    });
    Ok(Promise {
        id: Promise::name_after(held(&study.state).len()),
        time,
        question: in_one_line(results, question, &understand(results, question)?),
        configuration: settings
            .map(|(name, level)| (name, level.to_string()))
            .collect(),
        objective: answer.request.objective.to_string(),
        confidence: answer.request.confidence,
        learned_from: answer.setup.table.count,
        counted: study.counted().len(),
        limits: limits.collect(),
        predictions: predictions.collect(),
    })
}

/// What a promised run is made with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The level of every factor, in the study's order.
    pub levels: Vec<Level>,
    /// Constants of the study that the run has otherwise.
    pub constants: Vec<(String, Level)>,
}

/// What the run of a promise is made with, as the study's plan spells it.
///
/// # Errors
/// If the study cannot make such a run.
pub fn settings_of(study: &StudyResults, promise: &Promise) -> Result<Settings, StateError> {
    let plan = &study.state.plan;
    let factors = plan.factors.iter().enumerate();
    let levels = factors.map(|(at, name)| {
        let text = promise.configuration.get(name);
        let text = text.ok_or_else(|| StateError::NoLevel(name.clone()))?;
        let planned = plan.trials.iter().map(|trial| &trial.levels[at]);
        let same = planned.clone().find(|level| level.to_string() == *text);
        Ok(same.cloned().unwrap_or_else(|| Level::parse(text)))
    });
    let levels = levels.collect::<Result<Vec<_>, StateError>>()?;
    let others = promise.configuration.iter();
    let others = others.filter(|(name, _)| !plan.factors.contains(name));
    let mut constants = Vec::new();
    for (name, text) in others {
        let level = Level::parse(text);
        let name = constant_of(study, name).ok_or_else(|| StateError::NoConstant {
            name: name.clone(),
            level: level.clone(),
        })?;
        constants.push((name, level));
    }
    Ok(Settings { levels, constants })
}

/// What the study calls a constant that plays this part.
fn constant_of(study: &StudyResults, name: &str) -> Option<String> {
    let study = &study.study;
    if study.takes_constant(name) {
        return Some(name.to_owned());
    }
    let part = Role::parse(name)?;
    let fixed = study.fixed().iter().map(|(own, _)| own);
    let same = fixed.clone().find(|own| Role::parse(own) == Some(part))?;
    Some(same.clone())
}

fn study_of(results: &Results) -> Result<&StudyResults, StateError> {
    let study = results.study();
    study.ok_or_else(|| StateError::NoStudy(results.source()))
}

/// Everything that makes one question another, in one line.
fn in_one_line(results: &Results, question: &PickQuestion, understood: &Understood) -> String {
    let request = &understood.request;
    let mut parts = vec![request.objective.to_string()];
    parts.extend(request.constraints.iter().map(ToString::to_string));
    parts.push(format!("confidence {}", request.confidence));
    if let Some(time) = &question.time {
        parts.push(format!("time {time}"));
    }
    let given = question.given.iter();
    parts.extend(given.map(|(name, level)| format!("given {name}={level}")));
    if let Some(most) = question.grid {
        parts.push(format!("grid {most}"));
    }
    if let Some(most) = question.epochs_free {
        parts.push(format!("epochs free up to {most}"));
    }
    if let Choice::Only(kind) = question.fitting.predictor {
        parts.push(format!("predictor {kind}"));
    }
    parts.push(format!("seed {}", question.fitting.seed));
    parts.extend(results.said());
    parts.join("; ")
}
