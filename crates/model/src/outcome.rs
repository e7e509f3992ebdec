//! How a run ended.

use std::fmt;

/// How a run ended. An outcome is never an error: it is recorded and reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The command exited with this code (0 is success).
    Exited(i32),
    /// The command was ended by this signal, sent by somebody else.
    Signalled(i32),
    /// A node was lost, and what ran on it with it.
    Lost,
    /// The time limit passed and Paceline ended the command.
    TimedOut,
    /// The command could not be started.
    NotStarted,
    /// The user stopped the run; the record was closed.
    Cancelled,
    /// Paceline itself was ended before it could close the record.
    Interrupted,
}

/// The three things a reader of a table wants to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The command did what it was asked to.
    Done,
    /// The command did not: its record and log are kept.
    Failed,
    /// Nobody knows what the command would have done: it is to be run again.
    Unfinished,
}

impl Outcome {
    /// What the outcome means for a study.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Exited(0) => Verdict::Done,
            Self::Exited(_)
            | Self::Signalled(_)
            | Self::Lost
            | Self::TimedOut
            | Self::NotStarted => Verdict::Failed,
            Self::Cancelled | Self::Interrupted => Verdict::Unfinished,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(0) => f.write_str("done"),
            Self::Exited(code) => write!(f, "failed with exit code {code}"),
            Self::Signalled(signal) => write!(f, "ended by signal {signal}"),
            Self::Lost => f.write_str("lost a node"),
            Self::TimedOut => f.write_str("timed out"),
            Self::NotStarted => f.write_str("not started"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
