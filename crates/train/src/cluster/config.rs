//! Who takes part in a training.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use paceline_sync::{Consistency, OnWorkerLoss, SettingsError, Strategy};

use super::compress::Compression;

/// Who takes part in a training and how they agree.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// How many workers compute.
    pub workers: NonZeroU32,
    /// Over how many servers the parameters are spread.
    pub servers: NonZeroU32,
    /// How workers arrive at one model.
    pub strategy: Strategy,
    /// Workers that are made slower than they are.
    pub slow: Vec<Slowdown>,
    /// What happens when a worker is lost; what is usual if not said.
    pub on_worker_loss: Option<OnWorkerLoss>,
    /// A member that says nothing for this long is lost.
    pub failure_timeout: Duration,
    /// How updates travel to servers that are processes of their own.
    pub compress: Compression,
}

impl Cluster {
    /// How workers agree, unless the user says otherwise.
    pub const USUAL: Strategy = Strategy::ParameterServer(Consistency::Bsp);

    /// Silence beyond this is a loss, unless the user says otherwise.
    pub const FAILURE_TIMEOUT: Duration = Duration::from_secs(5);

    /// The consistency model that a server enforces. An all-reduce and a
    /// dataflow are synchronous.
    pub fn consistency(&self) -> Consistency {
        match self.strategy {
            Strategy::ParameterServer(consistency) => consistency,
            Strategy::AllReduce | Strategy::Dataflow => Consistency::Bsp,
        }
    }

    /// The rules for the servers.
    ///
    /// # Errors
    /// If the strategy does not suit the number of workers.
    pub fn rules(&self) -> Result<paceline_sync::Settings, SettingsError> {
        let rules = paceline_sync::Settings::new(self.consistency(), self.workers.get())?;
        Ok(match self.on_worker_loss {
            Some(policy) => rules.on_worker_loss(policy),
            None => rules,
        })
    }

    /// How much slower than it is `worker` is made: 1 for not at all.
    pub(crate) fn slowness(&self, worker: u32) -> f64 {
        self.slow
            .iter()
            .filter(|slow| slow.worker == worker)
            .map(|slow| slow.factor)
            .product()
    }
}

/// A worker that takes `factor` times as long to compute, written as
/// `worker1:2x`: a straggler for experiments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// The worker's number, from zero.
    pub worker: u32,
    /// How many times as long it computes, at least 1.
    pub factor: f64,
}

/// A text that slows nobody down.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` slows no worker; write it as worker1:2x, with a factor from 1 to 1000")]
pub struct ParseSlowdownError(String);

impl FromStr for Slowdown {
    type Err = ParseSlowdownError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseSlowdownError(text.to_owned());
        let (worker, factor) = text
            .strip_prefix("worker")
            .and_then(|rest| rest.split_once(':'))
            .ok_or_else(error)?;
        let factor = factor.strip_suffix('x').unwrap_or(factor);
        Ok(Self {
            worker: worker.parse().map_err(|_| error())?,
            factor: factor
                .parse()
                .ok()
                .filter(|factor| (1.0..=1000.0).contains(factor))
                .ok_or_else(error)?,
        })
    }
}

impl fmt::Display for Slowdown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "worker{}:{}x", self.worker, self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_is_written_as_it_is_read() {
        for text in ["worker1:2x", "worker0:1.5x"] {
            assert_eq!(text.parse::<Slowdown>().unwrap().to_string(), text);
        }
        for text in [
            "worker1",
            "worker:2x",
            "w1:2x",
            "worker1:0.5x",
            "worker1:NaN",
        ] {
            assert!(text.parse::<Slowdown>().is_err(), "{text}");
        }
    }
}
