//! What is asked of a search: which factors vary, what is to be best, and
//! within which limits.

use super::TuneError;
use paceline_advise::pick::Limit;
use paceline_model::quantity::{self, Dimension};
use paceline_model::{Level, RunValue};
use paceline_study::{Factor, Study};
use serde_json::{Value, json};

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Less is better.
    Minimize,
    /// More is better.
    Maximize,
}

impl Direction {
    /// The direction as the user writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Minimize => "minimize",
            Self::Maximize => "maximize",
        }
    }

    /// The option that says so.
    fn option(self) -> &'static str {
        match self {
            Self::Minimize => "--minimize",
            Self::Maximize => "--maximize",
        }
    }

    /// A value as a cost: smaller is better.
    #[must_use]
    pub fn cost(self, value: f64) -> f64 {
        match self {
            Self::Minimize => value,
            Self::Maximize => -value,
        }
    }
}

/// A limit as the user wrote it.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The limited response.
    pub response: String,
    /// What its mean must keep.
    pub limit: Limit,
    /// The limit in the user's own words.
    pub text: String,
}

/// A checked question about a study.
pub struct Question {
    /// The response that is to be best.
    pub response: String,
    /// Which way is better.
    pub direction: Direction,
    /// What the means of a level must keep.
    pub limits: Vec<Bound>,
    /// The factors that vary, by position.
    pub varied: Vec<usize>,
    /// The level of every factor; those that vary have a stand-in.
    levels: Vec<Level>,
}

impl Question {
    /// Checks a question against its study.
    ///
    /// # Errors
    /// If the study lacks a factor, a level or a response that is named, or the
    /// level of a factor is left open.
    pub fn read(
        study: &Study,
        factors: &[String],
        given: &[(String, String)],
        (response, direction): (&str, Direction),
        limits: &[String],
    ) -> Result<Self, TuneError> {
        check_response(study, direction.option(), response)?;
        let mut varied = Vec::new();
        for name in factors {
            let at = position(study, "--factor", name)?;
            if varied.contains(&at) {
                return Err(TuneError::Twice(name.clone()));
            }
            varied.push(at);
        }
        let mut levels: Vec<Option<Level>> = vec![None; study.factors().len()];
        for (name, text) in given {
            let at = position(study, "--given", name)?;
            let level = Level::parse(text);
            let factor = &study.factors()[at];
            if varied.contains(&at) {
                return Err(TuneError::GivenVaries(name.clone()));
            }
            if !factor.admits(&level) {
                return Err(TuneError::NoLevel {
                    name: name.clone(),
                    level: text.clone(),
                    known: level_words(factor),
                });
            }
            levels[at] = Some(level);
        }
        for &at in &varied {
            levels[at] = study.factors()[at].levels.first().cloned();
        }
        if let Some(at) = levels.iter().position(Option::is_none) {
            let factor = &study.factors()[at];
            return Err(TuneError::Open {
                name: factor.name.clone(),
                known: level_words(factor),
            });
        }
        Ok(Self {
            response: response.to_owned(),
            direction,
            limits: limits
                .iter()
                .map(|text| bound(study, text))
                .collect::<Result<_, _>>()?,
            varied,
            levels: levels.into_iter().flatten().collect(),
        })
    }

    /// All levels of a run in which those that vary are these.
    #[must_use]
    pub fn levels(&self, varied: &[Level]) -> Vec<Level> {
        let mut levels = self.levels.clone();
        for (&at, level) in self.varied.iter().zip(varied) {
            levels[at] = level.clone();
        }
        levels
    }

    /// The levels that vary, in words.
    #[must_use]
    pub fn words(&self, study: &Study, levels: &[Level]) -> String {
        let word = |&at: &usize| format!("{}={}", study.factors()[at].name, levels[at]);
        let words: Vec<String> = self.varied.iter().map(word).collect();
        words.join(" ")
    }

    /// What must not change when a search goes on.
    #[must_use]
    pub fn frozen(&self, study: &Study) -> Value {
        let name = |at: usize| study.factors()[at].name.as_str();
        let given = (0..self.levels.len()).filter(|at| !self.varied.contains(at));
        let given: serde_json::Map<String, Value> = given
            .map(|at| (name(at).to_owned(), json!(self.levels[at].to_string())))
            .collect();
        json!({
            "factors": self.varied.iter().map(|&at| name(at)).collect::<Vec<_>>(),
            "given": given,
            "objective": format!("{} {}", self.direction.word(), self.response),
            "limits": self.limits.iter().map(|limit| limit.text.as_str()).collect::<Vec<_>>(),
        })
    }
}

impl Bound {
    /// Whether a mean keeps it.
    #[must_use]
    pub fn is_kept_by(&self, value: f64) -> bool {
        match self.limit {
            Limit::AtMost(most) => value <= most,
            Limit::AtLeast(least) => value >= least,
        }
    }
}

fn position(study: &Study, option: &'static str, name: &str) -> Result<usize, TuneError> {
    let names = || study.factors().iter().map(|factor| factor.name.as_str());
    let found = names().position(|own| own == name);
    found.ok_or_else(|| TuneError::NoFactor {
        option,
        name: name.to_owned(),
        known: names().map(ToOwned::to_owned).collect(),
    })
}

fn check_response(study: &Study, option: &'static str, name: &str) -> Result<(), TuneError> {
    let own = study.responses().iter().map(|own| own.name.as_str());
    let measured = RunValue::ALL.iter().map(|value| value.name());
    if own.clone().chain(measured).any(|known| known == name) {
        return Ok(());
    }
    Err(TuneError::NoResponse {
        option,
        name: name.to_owned(),
        known: own.map(ToOwned::to_owned).collect(),
    })
}

fn level_words(factor: &Factor) -> String {
    let words: Vec<String> = factor.levels.iter().map(Level::to_string).collect();
    words.join(if factor.is_range { " to " } else { ", " })
}

/// Reads `time <= 300s`, `accuracy >= 0.9`, `memory_peak_bytes <= 8GB`.
fn bound(study: &Study, text: &str) -> Result<Bound, TuneError> {
    let unusable = || TuneError::Limit(text.to_owned());
    let (name, value, at_most) = match (text.split_once("<="), text.split_once(">=")) {
        (Some((name, value)), None) => (name.trim(), value.trim(), true),
        (None, Some((name, value))) => (name.trim(), value.trim(), false),
        _ => return Err(unusable()),
    };
    check_response(study, "--limit", name)?;
    let number = quantity::amount(value, Dimension::of_column(name)).map_err(|error| {
        TuneError::LimitAmount {
            text: text.to_owned(),
            error,
        }
    })?;
    Ok(Bound {
        response: name.to_owned(),
        limit: match at_most {
            true => Limit::AtMost(number),
            false => Limit::AtLeast(number),
        },
        text: format!("{name} {} {value}", if at_most { "<=" } else { ">=" }),
    })
}
