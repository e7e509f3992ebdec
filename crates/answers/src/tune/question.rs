//! What is asked of a search: which factors vary, what is to be best, and
//! within which limits.

use crate::failure::Failure;
use anyhow::anyhow;
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
    ) -> Result<Self, Failure> {
        let option = format!("--{}", direction.word());
        check_response(study, &option, response)?;
        let mut varied = Vec::new();
        for name in factors {
            let at = position(study, "--factor", name)?;
            if varied.contains(&at) {
                return Err(Failure::user(anyhow!("--factor: `{name}` is named twice")));
            }
            varied.push(at);
        }
        let mut levels: Vec<Option<Level>> = vec![None; study.factors().len()];
        for (name, text) in given {
            let at = position(study, "--given", name)?;
            let level = Level::parse(text);
            let factor = &study.factors()[at];
            if varied.contains(&at) {
                return Err(Failure::user(anyhow!(
                    "--given: `{name}` is the factor that varies"
                )));
            }
            if !factor.admits(&level) {
                return Err(
                    Failure::user(anyhow!("--given: `{name}` has no level {text}"))
                        .hint(format!("it has {}", level_words(factor))),
                );
            }
            levels[at] = Some(level);
        }
        for &at in &varied {
            levels[at] = study.factors()[at].levels.first().cloned();
        }
        if let Some(at) = levels.iter().position(Option::is_none) {
            let factor = &study.factors()[at];
            return Err(
                Failure::user(anyhow!("nothing says at which `{}` to tune", factor.name)).hint(
                    format!(
                        "give --given {}=LEVEL, one of {}",
                        factor.name,
                        level_words(factor)
                    ),
                ),
            );
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

fn position(study: &Study, option: &str, name: &str) -> Result<usize, Failure> {
    let found = study.factors().iter().position(|own| own.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = study.factors().iter().map(|f| f.name.as_str()).collect();
        Failure::user(anyhow!("{option}: the study has no factor `{name}`"))
            .hint(format!("it has {}", names.join(", ")))
    })
}

fn check_response(study: &Study, option: &str, name: &str) -> Result<(), Failure> {
    let own = study.responses().iter().map(|own| own.name.as_str());
    let measured = RunValue::ALL.iter().map(|value| value.name());
    if own.clone().chain(measured).any(|known| known == name) {
        return Ok(());
    }
    let names: Vec<&str> = own.collect();
    Err(
        Failure::user(anyhow!("{option}: the study has no response `{name}`")).hint(format!(
            "[responses] has {}; duration_s is always measured",
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        )),
    )
}

fn level_words(factor: &Factor) -> String {
    let words: Vec<String> = factor.levels.iter().map(Level::to_string).collect();
    words.join(if factor.is_range { " to " } else { ", " })
}

/// Reads `time <= 300s`, `accuracy >= 0.9`, `memory_peak_bytes <= 8GB`.
fn bound(study: &Study, text: &str) -> Result<Bound, Failure> {
    let unusable = || {
        Failure::user(anyhow!("--limit: `{text}` is not a limit"))
            .hint("write a response, <= or >=, and a number: 'time <= 300s'")
    };
    let (name, value, at_most) = match (text.split_once("<="), text.split_once(">=")) {
        (Some((name, value)), None) => (name.trim(), value.trim(), true),
        (None, Some((name, value))) => (name.trim(), value.trim(), false),
        _ => return Err(unusable()),
    };
    check_response(study, "--limit", name)?;
    let number = quantity::amount(value, Dimension::of_column(name))
        .map_err(|error| Failure::user(anyhow!("--limit: `{text}` is not a limit: {error}")))?;
    Ok(Bound {
        response: name.to_owned(),
        limit: match at_most {
            true => Limit::AtMost(number),
            false => Limit::AtLeast(number),
        },
        text: format!("{name} {} {value}", if at_most { "<=" } else { ">=" }),
    })
}
