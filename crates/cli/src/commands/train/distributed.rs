//! A training with several workers: what a user may say about it.

use crate::failure::Failure;
use crate::quantity;
use clap::ValueEnum;
use paceline_sync::{OnWorkerLoss, Strategy};
use paceline_train::{Cluster, Kill, Slowdown};
use paceline_wire::{Impairment, Role};
use std::num::NonZeroU32;
use std::time::Duration;

/// Who takes part.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// How many workers train together, each on its part of the rows
    #[arg(long, value_name = "COUNT")]
    pub(super) workers: Option<NonZeroU32>,
    /// Over how many servers the parameters are spread [default: 1]
    #[arg(long, value_name = "COUNT", requires = "workers")]
    pub(super) servers: Option<NonZeroU32>,
    /// How workers agree: bsp, ssp:3, async, backup:1, dynamic-ssp:1..8, local:16,
    /// allreduce or dataflow
    /// [default: bsp]
    #[arg(long, value_name = "MODEL", requires = "workers", value_parser = strategy)]
    pub(super) sync: Option<Strategy>,
    /// What workers are [default: threads]
    #[arg(long, value_enum, requires = "workers")]
    pub(super) spawn: Option<Spawn>,
    /// Make a worker slower than it is, such as worker1:2x; may be repeated
    #[arg(long, value_name = "WORKER:FACTOR", requires = "workers")]
    pub(super) slow: Vec<Slowdown>,
    /// When a worker is lost: wait, replace, fail or continue [default: fits the model]
    #[arg(long, value_name = "POLICY", requires = "workers")]
    pub(super) on_worker_loss: Option<OnWorkerLoss>,
    /// A worker that is silent for this long is lost [default: 5s]
    #[arg(long, value_name = "TIME", requires = "workers", value_parser = quantity::duration)]
    pub(super) failure_timeout: Option<Duration>,
    /// How long a frame travels between processes, such as 1ms: a slower network
    #[arg(long, value_name = "TIME", requires = "workers", value_parser = quantity::duration)]
    pub(super) delay: Option<Duration>,
    /// Bytes that a connection between processes carries in a second, such as 100MB
    #[arg(long, value_name = "BYTES", requires = "workers", value_parser = quantity::bytes)]
    pub(super) bandwidth: Option<u64>,
    /// Kill a process, such as worker2@10s or server0@step100; may be repeated
    #[arg(long, value_name = "MEMBER@MOMENT", requires = "workers")]
    pub(super) kill: Vec<Kill>,
}

/// What workers and servers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Spawn {
    /// Threads that share memory.
    #[default]
    Threads,
    /// Processes that talk over Unix sockets.
    Processes,
}

impl ClusterArgs {
    /// The checked plan; none without workers.
    pub(super) fn check(&self) -> Result<Option<Plan>, Failure> {
        let Some(workers) = self.workers else {
            return Ok(None);
        };
        let mut cluster = Cluster {
            workers,
            servers: self.servers.unwrap_or(NonZeroU32::MIN),
            strategy: self.sync.unwrap_or(Cluster::USUAL),
            slow: self.slow.clone(),
            on_worker_loss: self.on_worker_loss,
            failure_timeout: self.failure_timeout.unwrap_or(Cluster::FAILURE_TIMEOUT),
        };
        cluster.rules().map_err(Failure::user)?;
        if let Some(slow) = self.slow.iter().find(|slow| slow.worker >= workers.get()) {
            return Err(Failure::user(anyhow::anyhow!(
                "--slow {slow}: there are {workers} workers, numbered from 0"
            )));
        }
        let spawn = self.spawn.unwrap_or_default();
        if spawn == Spawn::Processes && cluster.strategy == Strategy::AllReduce {
            return Err(Failure::user(anyhow::anyhow!(
                "--sync allreduce needs workers that are threads"
            ))
            .hint("--sync bsp computes the same with processes"));
        }
        if spawn == Spawn::Threads {
            let given = [
                ("--delay", self.delay.is_some()),
                ("--bandwidth", self.bandwidth.is_some()),
                ("--kill", !self.kill.is_empty()),
                ("--on-worker-loss", self.on_worker_loss.is_some()),
                ("--failure-timeout", self.failure_timeout.is_some()),
            ];
            if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
                return Err(Failure::user(anyhow::anyhow!(
                    "{flag} needs workers that are processes"
                ))
                .hint("add --spawn processes"));
            }
        }
        for kill in &self.kill {
            let count = match kill.role {
                Role::Server => cluster.servers.get(),
                _ => workers.get(),
            };
            if kill.rank >= count {
                return Err(Failure::user(anyhow::anyhow!(
                    "--kill {kill}: there is no such member, they are numbered from 0"
                )));
            }
        }
        if spawn == Spawn::Processes && cluster.on_worker_loss.is_none() {
            // The trainer has started the worker and can do so again.
            let usual = OnWorkerLoss::usual_for(cluster.consistency());
            cluster.on_worker_loss = Some(match usual {
                OnWorkerLoss::Wait => OnWorkerLoss::Replace,
                other => other,
            });
        }
        Ok(Some(Plan {
            cluster,
            spawn,
            impairment: Impairment {
                delay: self.delay.unwrap_or_default(),
                bandwidth: self.bandwidth.map(|bytes| bytes as f64),
            },
            kills: self.kill.clone(),
        }))
    }
}

/// A checked cluster.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) cluster: Cluster,
    pub(super) spawn: Spawn,
    impairment: Impairment,
    pub(super) kills: Vec<Kill>,
}

impl Plan {
    /// How members talk.
    pub(super) fn wire(&self) -> paceline_wire::Settings {
        paceline_wire::Settings {
            impairment: self.impairment,
            ..paceline_wire::Settings::default()
        }
    }

    /// What a checkpoint says of the cluster it was made by.
    pub(super) fn words(&self) -> [(&'static str, String); 3] {
        [
            ("workers", self.cluster.workers.to_string()),
            ("servers", self.cluster.servers.to_string()),
            ("sync", self.cluster.strategy.to_string()),
        ]
    }
}

fn strategy(text: &str) -> Result<Strategy, String> {
    text.parse()
        .map_err(|error: paceline_sync::ParseConsistencyError| format!("{error}; {}", error.hint()))
}
