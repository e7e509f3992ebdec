//! What is asked of the queue.

use paceline_model::Level;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A job that somebody wants done. Keys that are not known are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The directory of a study, absolute; or a command.
    #[serde(default)]
    pub study: Option<PathBuf>,
    /// The program and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where the command is run.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// When it must have ended, in seconds from now.
    pub deadline_s: Option<f64>,
    /// With which probability.
    #[serde(default = "usual")]
    pub confidence: f64,
    /// The response that is to be large.
    #[serde(default)]
    pub maximize: Option<String>,
    /// The response that is to be small.
    #[serde(default)]
    pub minimize: Option<String>,
    /// Factors that are fixed.
    #[serde(default)]
    pub given: Vec<(String, String)>,
    /// Whether the job may make fewer epochs to be in time.
    #[serde(default)]
    pub epochs_free: bool,
    /// How many CPUs a command gets.
    #[serde(default)]
    pub cpus: Option<u32>,
    /// Whether a job of which nothing is known is run as a first measurement.
    #[serde(default)]
    pub learn: bool,
}

fn usual() -> f64 {
    0.95
}

/// Why a request means nothing.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Neither or both.
    #[error("a job is either a study or a command")]
    Work,
    /// A deadline that has passed, or none.
    #[error("the deadline {0} s from now has passed")]
    Past(f64),
    /// Neither a deadline nor a first measurement.
    #[error("there is no deadline")]
    NoDeadline,
    /// No probability.
    #[error("the confidence {0} is not between 0.5 and 0.99")]
    Confidence(f64),
    /// More CPUs than there are.
    #[error("{asked} CPUs are asked for, and there are {there}")]
    Cpus {
        /// So many.
        asked: u32,
        /// So many.
        there: u32,
    },
    /// A path that depends on who reads it.
    #[error("`{0}` is not an absolute path")]
    Relative(PathBuf),
}

/// The longest deadline: a year.
const LONGEST_S: f64 = 366.0 * 86_400.0;

impl Request {
    /// Refuses what means nothing, before anything is looked at.
    ///
    /// # Errors
    /// If it means nothing.
    pub fn check(&self, cpus: u32) -> Result<(), RequestError> {
        if self.study.is_some() != self.command.is_empty() {
            return Err(RequestError::Work);
        }
        match self.deadline_s {
            Some(due) if !(due > 0.0 && due <= LONGEST_S) => return Err(RequestError::Past(due)),
            None if !self.learn => return Err(RequestError::NoDeadline),
            _ => {}
        }
        if !(0.5..=0.99).contains(&self.confidence) {
            return Err(RequestError::Confidence(self.confidence));
        }
        if let Some(asked) = self.cpus.filter(|asked| *asked == 0 || *asked > cpus) {
            return Err(RequestError::Cpus { asked, there: cpus });
        }
        let paths = self.study.iter().chain(&self.cwd);
        match paths.into_iter().find(|path| !path.is_absolute()) {
            Some(path) => Err(RequestError::Relative(path.clone())),
            None => Ok(()),
        }
    }

    /// The given levels, as a study reads them.
    #[must_use]
    pub fn given(&self) -> Vec<(String, Level)> {
        let given = self.given.iter();
        given
            .map(|(name, level)| (name.clone(), Level::parse(level)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let request: Request = serde_json::from_str(text).map_err(|error| error.to_string())?;
        request.check(2).map_err(|error| error.to_string())
    }

    #[test]
    fn what_means_nothing_is_refused_with_its_reason() {
        check(r#"{"study": "/s", "deadline_s": 5}"#).unwrap();
        check(r#"{"command": ["true"], "cwd": "/", "learn": true}"#).unwrap();
        for (text, reason) in [
            (r#"{"deadline_s": 5}"#, "either a study or a command"),
            (
                r#"{"study": "/s", "command": ["a"], "deadline_s": 5}"#,
                "either",
            ),
            (r#"{"study": "/s", "deadline_s": -5}"#, "has passed"),
            (r#"{"study": "/s", "deadline_s": 0}"#, "has passed"),
            (r#"{"study": "/s", "deadline_s": 1e99}"#, "has passed"),
            (r#"{"study": "/s"}"#, "no deadline"),
            (
                r#"{"study": "/s", "deadline_s": 5, "confidence": 1}"#,
                "confidence",
            ),
            (
                r#"{"study": "/s", "deadline_s": 5, "cpus": 3}"#,
                "there are 2",
            ),
            (r#"{"study": "s", "deadline_s": 5}"#, "absolute"),
            (
                r#"{"study": "/s", "deadline_s": 5, "rush": 1}"#,
                "unknown field",
            ),
            ("[]", ""),
        ] {
            let said = check(text).unwrap_err();
            assert!(said.contains(reason), "{text}: {said}");
        }
    }
}
