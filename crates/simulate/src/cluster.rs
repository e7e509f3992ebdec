//! The cluster that is simulated.

use crate::compute::Compute;
use paceline_sync::{Consistency, Settings, SettingsError, Strategy};
use thiserror::Error;

/// A training and the cluster that it takes place on.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// How workers arrive at one model.
    pub strategy: Strategy,
    /// How many workers there are at the start.
    pub workers: u32,
    /// How many servers hold the parameters; of no meaning without servers.
    pub servers: u32,
    /// How long an iteration computes.
    pub compute: Compute,
    /// What a worker's core does for an iteration beside computing, in seconds:
    /// laying out an update, taking parameters.
    pub worker_overhead_s: f64,
    /// Workers that compute so many times longer.
    pub slow: Vec<(u32, f64)>,
    /// Bytes of a worker's update, to all servers together.
    pub update_bytes: f64,
    /// Bytes of the parameters, from all servers together.
    pub parameter_bytes: f64,
    /// What messages cost a server.
    pub server: ServerCost,
    /// The links.
    pub network: Network,
    /// Workers whose own link has this many bytes a second.
    pub slow_links: Vec<(u32, f64)>,
    /// Where the servers are.
    pub placement: Placement,
    /// Workers that are lost and come back.
    pub failures: Option<Failures>,
    /// Workers that come later.
    pub joins: Vec<Join>,
}

/// The core time that a server takes for messages. A server handles one at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerCost {
    /// Seconds for each message, received or sent.
    pub message_s: f64,
    /// Seconds for each byte received or sent.
    pub byte_s: f64,
    /// Seconds for each byte of an update that is applied.
    pub apply_byte_s: f64,
}

/// The links between hosts. Each direction of a host's link has its own bandwidth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Bytes a second of each host's link in each direction; infinity for none.
    pub bandwidth: f64,
    /// Seconds from one host to another.
    pub latency_s: f64,
    /// Bytes a second of a switch that all transfers between hosts share, if one
    /// bounds them.
    pub switch: Option<f64>,
}

/// Where servers and workers are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Placement {
    /// Every server and every worker on a host of its own.
    Apart,
    /// Server i on the host of worker i.
    Beside,
    /// All on one machine with this many cores, without a network.
    OneMachine {
        /// How many cores servers and workers share.
        cores: f64,
    },
}

/// How often a worker is lost, and how long it takes until it is back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failures {
    /// Mean seconds between two losses of one worker; they are exponential.
    pub every_s: f64,
    /// Seconds until the worker joins again.
    pub restart_s: f64,
}

/// Workers that join a training under way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Join {
    /// When, in seconds.
    pub at_s: f64,
    /// How many.
    pub workers: u32,
}

/// What makes a cluster none.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ClusterError {
    /// The rules refuse it.
    #[error(transparent)]
    Rules(#[from] SettingsError),
    /// A number is out of its range.
    #[error("{what} is {given}, and must be {wanted}")]
    Number {
        /// Of what.
        what: &'static str,
        /// The number.
        given: f64,
        /// The range.
        wanted: &'static str,
    },
    /// No such worker.
    #[error("there is no worker {worker}: there are {workers}, counted from 0")]
    NoSuchWorker {
        /// The number.
        worker: u32,
        /// How many there are.
        workers: u32,
    },
    /// The simulation would take too long.
    #[error("{events:.1e} messages are more than the {most:.0e} that are simulated at once")]
    TooMuch {
        /// About how many there would be.
        events: f64,
        /// The limit.
        most: f64,
    },
    /// Without servers there is nobody who keeps the parameters for a newcomer.
    #[error("a simulated all-reduce has neither losses nor later joins")]
    GroupsAreFixed,
}

/// About a minute of one core.
const MOST_MESSAGES: f64 = 1e8;

impl Cluster {
    /// The rules of a training under a consistency model.
    ///
    /// # Errors
    /// If they refuse the number of workers.
    pub(crate) fn settings(&self, consistency: Consistency) -> Result<Settings, SettingsError> {
        let later: u32 = self
            .joins
            .iter()
            .fold(0, |sum, join| sum.saturating_add(join.workers));
        Ok(Settings::new(consistency, self.workers)?
            .with_room_for(self.workers.saturating_add(later)))
    }

    pub(crate) fn check(&self, iterations: u32) -> Result<(), ClusterError> {
        let consistency = match self.strategy {
            Strategy::ParameterServer(consistency) => consistency,
            Strategy::AllReduce | Strategy::Dataflow => Consistency::Bsp,
        };
        let room = self.settings(consistency)?;
        let number = |what, given: f64, holds: bool, wanted| match holds {
            true => Ok(()),
            false => Err(ClusterError::Number {
                what,
                given,
                wanted,
            }),
        };
        let not_negative = |what, given: f64| {
            let holds = given.is_finite() && given >= 0.0;
            number(what, given, holds, "zero or more")
        };
        let above_zero = |what, given: f64| number(what, given, given > 0.0, "above zero");
        let most = f64::from(self.workers) * 4.0;
        let servers = f64::from(self.servers);
        number(
            "the number of servers",
            servers,
            self.servers >= 1 && servers <= most.max(64.0),
            "at least one and not many times the workers",
        )?;
        let iterated = f64::from(iterations);
        number(
            "the number of iterations",
            iterated,
            iterations >= 2,
            "at least two, one of which is not counted",
        )?;
        if !self.compute.is_usable() {
            let given = self.compute.mean_s();
            not_negative("the time of an iteration", given)?;
            number("the time of an iteration", given, false, "times throughout")?;
        }
        for (what, given) in [
            ("a worker's overhead", self.worker_overhead_s),
            ("the size of an update", self.update_bytes),
            ("the size of the parameters", self.parameter_bytes),
            ("a server's time for a message", self.server.message_s),
            ("a server's time for a byte", self.server.byte_s),
            (
                "a server's time for applying a byte",
                self.server.apply_byte_s,
            ),
            ("the latency", self.network.latency_s),
        ] {
            not_negative(what, given)?;
        }
        above_zero("the bandwidth", self.network.bandwidth)?;
        if let Some(switch) = self.network.switch {
            above_zero("the bandwidth of the switch", switch)?;
        }
        if let Placement::OneMachine { cores } = self.placement {
            let holds = cores.is_finite() && cores > 0.0;
            number("the number of cores", cores, holds, "above zero")?;
        }
        for (what, list) in [
            ("how much slower a worker is", &self.slow),
            ("the bandwidth of a worker", &self.slow_links),
        ] {
            for (worker, given) in list {
                let holds = given.is_finite() && *given > 0.0;
                number(what, *given, holds, "above zero")?;
                if *worker >= self.workers {
                    return Err(ClusterError::NoSuchWorker {
                        worker: *worker,
                        workers: self.workers,
                    });
                }
            }
        }
        if let Some(failures) = self.failures {
            above_zero("the time between losses", failures.every_s)?;
            not_negative("the time of a restart", failures.restart_s)?;
        }
        for join in &self.joins {
            not_negative("the time of a join", join.at_s)?;
        }
        if self.strategy == Strategy::AllReduce
            && (self.failures.is_some() || !self.joins.is_empty())
        {
            return Err(ClusterError::GroupsAreFixed);
        }
        let workers = f64::from(room.workers());
        let messages = match self.strategy {
            Strategy::AllReduce => workers * iterated,
            _ => 4.0 * workers * servers * iterated,
        };
        match messages > MOST_MESSAGES {
            true => Err(ClusterError::TooMuch {
                events: messages,
                most: MOST_MESSAGES,
            }),
            false => Ok(()),
        }
    }

    /// How many times longer a worker computes.
    pub(crate) fn slowness(&self, worker: u32) -> f64 {
        let own = self.slow.iter().find(|(slow, _)| *slow == worker);
        own.map_or(1.0, |(_, factor)| *factor)
    }

    /// Bytes a second of a worker's own link.
    pub(crate) fn link(&self, worker: u32) -> f64 {
        let own = self.slow_links.iter().find(|(slow, _)| *slow == worker);
        own.map_or(self.network.bandwidth, |(_, bandwidth)| *bandwidth)
    }
}
