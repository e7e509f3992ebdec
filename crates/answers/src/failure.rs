//! Why a question has no answer.

use std::fmt;

/// Whose fault a failure is, and so what a caller does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// What was asked for cannot be.
    User,
    /// The machine, the disk or another program refused.
    World,
    /// A record is unreadable or from a newer version.
    Record,
}

/// A failure with its cause and what to do about it.
#[derive(Debug)]
pub struct Failure {
    /// Whose it is.
    pub fault: Fault,
    /// What went wrong, with its causes.
    pub error: anyhow::Error,
    /// What to do next, where that is not obvious.
    pub hint: Option<String>,
}

impl Failure {
    pub(crate) fn user(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Fault::User, error)
    }

    pub(crate) fn world(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Fault::World, error)
    }

    pub(crate) fn record(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Fault::Record, error)
    }

    fn new(fault: Fault, error: impl Into<anyhow::Error>) -> Self {
        Self {
            fault,
            error: error.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl std::error::Error for Failure {}

/// An error with its causes, on one line.
#[must_use]
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
