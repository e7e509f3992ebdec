//! What a person reads when a command cannot go on.

use crate::exit::Exit;
use crate::output::stderr_page;
use paceline_answers::{Explained, Fault};
use paceline_model::error_chain;
use std::io::Write;
use std::process::ExitCode;

/// A failure with its cause, its exit code and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: anyhow::Error,
    hint: Option<String>,
}

impl<E: Explained + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            exit: match error.fault() {
                Fault::User => Exit::User,
                Fault::World => Exit::World,
                Fault::Record => Exit::Record,
            },
            hint: error.hint(),
            error: error.into(),
        }
    }
}

impl Failure {
    /// The user asked for something that cannot be.
    pub(crate) fn user(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::User,
            error: error.into(),
            hint: None,
        }
    }

    /// The machine, the disk or another program refused.
    pub(crate) fn world(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::World,
            error: error.into(),
            hint: None,
        }
    }

    /// It was done, and did not come to what it should.
    pub(crate) fn unmet(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Unmet,
            error: error.into(),
            hint: None,
        }
    }

    /// A record is unreadable or from a newer version.
    pub(crate) fn record(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Record,
            error: error.into(),
            hint: None,
        }
    }

    /// The user did not want to wait.
    pub(crate) fn interrupted(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Interrupted,
            error: error.into(),
            hint: None,
        }
    }

    /// Whether the user asked for something that cannot be.
    pub(crate) fn is_the_users(&self) -> bool {
        self.exit == Exit::User
    }

    /// Says what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the failure to stderr, causes included, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let style = stderr_page().style;
        let mut text = style.line(&format!("error: {}", error_chain(self.error.as_ref())));
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\n{}", style.line(&format!("hint: {hint}"))));
        }
        // With stderr closed there is nobody left to tell; the code still says it.
        let _ = writeln!(std::io::stderr(), "{text}");
        self.exit.into()
    }
}
