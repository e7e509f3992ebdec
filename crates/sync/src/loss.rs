//! What a run does when it loses a worker.

use std::fmt;
use std::str::FromStr;

use crate::Consistency;

/// What happens when a worker is lost: the `--on-worker-loss` flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnWorkerLoss {
    /// The place stays reserved: whoever depends on the worker waits until it
    /// comes back.
    Wait,
    /// As [`Self::Wait`], and the caller is asked to start a replacement.
    Replace,
    /// The run ends.
    Fail,
    /// The rest goes on without it. If it comes back, it joins where the others
    /// are by then.
    Continue,
}

impl OnWorkerLoss {
    /// What happens if the user does not say: models in which every update of
    /// an iteration matters wait, the others go on.
    #[must_use]
    pub const fn usual_for(model: Consistency) -> Self {
        match model {
            Consistency::Bsp | Consistency::Local { .. } => Self::Wait,
            Consistency::Ssp { .. }
            | Consistency::Async
            | Consistency::Backup { .. }
            | Consistency::DynamicSsp(_) => Self::Continue,
        }
    }
}

impl fmt::Display for OnWorkerLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wait => "wait",
            Self::Replace => "replace",
            Self::Fail => "fail",
            Self::Continue => "continue",
        })
    }
}

/// A word that is no policy for lost workers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not wait, replace, fail or continue")]
pub struct ParseOnWorkerLossError {
    /// What was typed.
    pub given: String,
}

impl FromStr for OnWorkerLoss {
    type Err = ParseOnWorkerLossError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "wait" => Ok(Self::Wait),
            "replace" => Ok(Self::Replace),
            "fail" => Ok(Self::Fail),
            "continue" => Ok(Self::Continue),
            _ => Err(ParseOnWorkerLossError {
                given: text.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_printed_as_it_is_read() {
        for word in ["wait", "replace", "fail", "continue"] {
            let policy: OnWorkerLoss = word.parse().unwrap();
            assert_eq!(policy.to_string(), word);
        }
        assert!("ignore".parse::<OnWorkerLoss>().is_err());
    }
}
