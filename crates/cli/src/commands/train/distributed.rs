//! A training with several workers: what a user may say about it.

use crate::failure::Failure;
use crate::quantity;
use clap::ValueEnum;
use paceline_sync::{OnWorkerLoss, Strategy};
use paceline_train::{Cluster, Compression, Kill, Rendezvous, Slowdown};
use paceline_wire::{Address, Impairment, Role, Security, Token};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
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
    /// Where a server listens, such as tcp://10.0.0.2:7001; once per server, in their order; with
    /// allreduce, where the trainer does
    #[arg(long, value_name = "ADDRESS", requires = "workers")]
    pub(super) at: Vec<Address>,
    /// What members elsewhere prove themselves with; made if missing, for its owner alone
    #[arg(long, value_name = "FILE", requires = "workers")]
    pub(super) token_file: Option<PathBuf>,
    /// Encrypt what members send, with TLS 1.3 and keys that the token implies
    #[arg(long, requires = "workers")]
    pub(super) tls: bool,
    /// How long members elsewhere may take to come, and to come back [default: 10min]
    #[arg(long, value_name = "TIME", requires = "workers", value_parser = quantity::duration)]
    pub(super) wait: Option<Duration>,
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
    /// How updates travel between processes: none, fp16, or topk:1% for the largest hundredth of
    /// each [default: none]
    #[arg(long, value_name = "HOW", requires = "workers")]
    pub(super) compress: Option<Compression>,
    /// Kill a process, such as worker2@10s or server0@step100; may be repeated
    #[arg(long, value_name = "MEMBER@MOMENT", requires = "workers")]
    pub(super) kill: Vec<Kill>,
}

/// More than any training gains from; each is a process or a range of memory.
const MOST_SERVERS: u32 = 1024;

/// What workers and servers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Spawn {
    /// Threads that share memory.
    #[default]
    Threads,
    /// Processes of this host that the trainer starts; over Unix sockets unless --at says otherwise.
    Processes,
    /// Processes that are started elsewhere, by hand or by a scheduler; they meet --at the servers.
    Hosts,
}

/// Long enough for a person to start everybody.
const USUAL_WAIT: Duration = Duration::from_secs(600);

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
            compress: self.compress.unwrap_or_default(),
        };
        cluster.rules().map_err(Failure::user)?;
        if cluster.servers.get() > MOST_SERVERS {
            return Err(Failure::user(anyhow::anyhow!(
                "--servers {}: the parameters are spread over at most {MOST_SERVERS}",
                cluster.servers
            )));
        }
        if let Some(slow) = self.slow.iter().find(|slow| slow.worker >= workers.get()) {
            return Err(Failure::user(anyhow::anyhow!(
                "--slow {slow}: there are {workers} workers, numbered from 0"
            )));
        }
        let spawn = self.spawn.unwrap_or_default();
        let has_servers = cluster.strategy != Strategy::AllReduce;
        if !has_servers {
            // There is one place where workers meet: the trainer's. A number of
            // servers means nothing, as in a study whose factor is --sync.
            cluster.servers = NonZeroU32::MIN;
            self.check_without_servers()?;
        }
        if spawn == Spawn::Threads {
            let given = [
                ("--delay", self.delay.is_some()),
                ("--bandwidth", self.bandwidth.is_some()),
                ("--compress", cluster.compress != Compression::None),
                ("--kill", !self.kill.is_empty()),
                ("--on-worker-loss", self.on_worker_loss.is_some()),
                ("--failure-timeout", self.failure_timeout.is_some()),
                ("--at", !self.at.is_empty()),
                ("--tls", self.tls),
            ];
            if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
                return Err(Failure::user(anyhow::anyhow!(
                    "{flag} needs workers that are processes"
                ))
                .hint("add --spawn processes"));
            }
        }
        self.check_meeting(spawn, cluster.servers, has_servers)?;
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
            at: self.at.clone(),
            token_file: self.token_file.clone(),
            tls: self.tls,
            wait: self.wait.unwrap_or(USUAL_WAIT),
        }))
    }

    /// Whether nothing needs servers where there are none.
    fn check_without_servers(&self) -> Result<(), Failure> {
        let wrong = |words: String| Err(Failure::user(anyhow::anyhow!(words)));
        if let Some(kill) = self.kill.iter().find(|kill| kill.role == Role::Server) {
            return wrong(format!(
                "--kill {kill}: workers that sum among themselves have no servers"
            ));
        }
        if let Some(how) = self.compress.filter(|how| *how != Compression::None) {
            return Err(Failure::user(anyhow::anyhow!(
                "--compress {how}: workers that sum among themselves send whole sums"
            ))
            .hint("--sync bsp computes the same with a server, which takes compressed updates"));
        }
        if self.on_worker_loss == Some(OnWorkerLoss::Continue) {
            return Err(Failure::user(anyhow::anyhow!(
                "--on-worker-loss continue: the sum of fewer workers would be the step of another training"
            ))
            .hint("--sync bsp goes on without a worker; `replace` starts another"));
        }
        Ok(())
    }

    /// Whether members can find each other.
    fn check_meeting(
        &self,
        spawn: Spawn,
        servers: NonZeroU32,
        has_servers: bool,
    ) -> Result<(), Failure> {
        let wrong = |words: String| Err(Failure::user(anyhow::anyhow!(words)));
        let count = self.at.len();
        if !has_servers && count != 1 && (count > 0 || spawn == Spawn::Hosts) {
            return wrong(format!(
                "workers that sum among themselves meet at one address, the trainer's, not at \
                 {count}: --at tcp://HOST:PORT"
            ));
        }
        if count != servers.get() as usize && (count > 0 || spawn == Spawn::Hosts) {
            return wrong(format!(
                "{servers} servers need {servers} addresses, not {count}: \
                 --at tcp://HOST:PORT once for each"
            ));
        }
        for address in &self.at {
            if matches!(address, Address::Tcp { port: 0, .. }) {
                return wrong(format!("--at {address}: nobody would know the port"));
            }
        }
        let mut places: Vec<&Address> = self.at.iter().collect();
        places.sort();
        if let Some(twice) = places.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(format!("--at {}: one server listens there", twice[0]));
        }
        if spawn != Spawn::Hosts {
            if self.token_file.is_some() {
                return wrong("--token-file needs --spawn hosts".to_owned());
            }
            if self.wait.is_some() {
                return wrong("--wait needs --spawn hosts".to_owned());
            }
            if self.tls && self.at.is_empty() {
                return wrong("--tls needs --at: a Unix socket stays on this host".to_owned());
            }
            return Ok(());
        }
        if let Some(kill) = self.kill.first() {
            return wrong(format!("--kill {kill} needs --spawn processes"));
        }
        if self.on_worker_loss == Some(OnWorkerLoss::Replace) {
            return Err(Failure::user(anyhow::anyhow!(
                "--on-worker-loss replace needs members that the trainer starts"
            ))
            .hint("with `wait`, whoever depends on it waits until you have started it again"));
        }
        Ok(())
    }
}

/// A checked cluster.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) cluster: Cluster,
    pub(super) spawn: Spawn,
    impairment: Impairment,
    pub(super) kills: Vec<Kill>,
    /// Where servers listen; if nowhere is said, at Unix sockets.
    pub(super) at: Vec<Address>,
    token_file: Option<PathBuf>,
    tls: bool,
    wait: Duration,
}

impl Plan {
    /// Where members find each other by `--at`.
    pub(super) fn meeting(&self, token: Token) -> Rendezvous {
        Rendezvous {
            servers: self.at.clone(),
            token,
            security: if self.tls {
                Security::Tls
            } else {
                Security::Plain
            },
            wire: self.wire(),
            patience: match self.spawn {
                Spawn::Hosts => self.wait,
                Spawn::Threads | Spawn::Processes => Rendezvous::PATIENCE,
            },
        }
    }

    /// The token's file, which a trainer of members elsewhere needs.
    pub(super) fn token_file(&self) -> Result<&Path, Failure> {
        self.token_file.as_deref().ok_or_else(|| {
            Failure::user(anyhow::anyhow!("--spawn hosts needs --token-file")).hint(
                "name a file that does not exist yet: it is made, and every host needs a copy",
            )
        })
    }

    pub(super) fn has_token_file(&self) -> bool {
        self.token_file.is_some()
    }

    /// What is to be said if others can listen in.
    pub(super) fn exposure(&self) -> Option<&'static str> {
        let is_exposed = self.at.iter().any(|at| !at.is_same_host());
        (is_exposed && !self.tls).then_some(
            "notice: without --tls, who can read this network can read the parameters, and who \
             can change its packets can change them\n",
        )
    }

    /// How members talk.
    fn wire(&self) -> paceline_wire::Settings {
        paceline_wire::Settings {
            impairment: self.impairment,
            ..paceline_wire::Settings::default()
        }
    }
}

fn strategy(text: &str) -> Result<Strategy, String> {
    text.parse()
        .map_err(|error: paceline_sync::ParseConsistencyError| format!("{error}; {}", error.hint()))
}
