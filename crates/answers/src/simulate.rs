//! Trainings on clusters that were never run: iterations a second, waiting, staleness.

use crate::error::{Explained, Fault};
use paceline_numeric::Threads;
use paceline_records::{ReadTableError, Run};
use paceline_simulate::{
    Cluster, ClusterError, Compute, Convergence, Outcome, simulate as simulated,
};
use paceline_sync::Strategy;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What is simulated: one cluster, with every combination of these numbers and rules.
#[derive(Debug, Clone)]
pub struct SimulateQuestion {
    /// Everything else.
    pub cluster: Cluster,
    /// Numbers of workers.
    pub workers: Vec<u32>,
    /// Numbers of servers.
    pub servers: Vec<u32>,
    /// How workers arrive at one model.
    pub sync: Vec<Strategy>,
    /// Iterations of each worker.
    pub iterations: u32,
    /// The first seed.
    pub seed: u64,
    /// How many seeds, one after another; figures are their means.
    pub seeds: u32,
    /// Rows of data that a worker computes on in an iteration.
    pub rows: Option<u64>,
    /// How many updates the training needs.
    pub convergence: Option<Convergence>,
    /// What the computing times were measured in.
    pub measured: Option<MeasuredRun>,
}

/// What a record tells a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredRun {
    /// The record.
    pub run: PathBuf,
    /// How many workers it has.
    pub workers: u32,
    /// Seconds of computing, of some iterations.
    pub computing_s: Vec<f64>,
    /// What a worker takes beside computing: the shortest twentieth of the times in
    /// which it laid out an update and took parameters.
    pub overhead_s: f64,
    /// Mean bytes of an update.
    pub update_bytes: f64,
    /// Mean bytes of parameters.
    pub parameter_bytes: f64,
    /// Mean rows of an iteration.
    pub rows: f64,
    /// Iterations of all workers, a second, from the first that began to the last
    /// that ended.
    pub iterations_per_s: f64,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct SimulateAnswer {
    /// What was asked.
    pub question: SimulateQuestion,
    /// One for each combination: sync by sync, servers by servers, by workers.
    pub cases: Vec<SimulatedCase>,
}

/// One combination.
#[derive(Debug, Clone)]
pub struct SimulatedCase {
    /// How workers arrive at one model.
    pub sync: Strategy,
    /// How many workers.
    pub workers: u32,
    /// How many servers; none where there are none.
    pub servers: Option<u32>,
    /// The outcome of each seed.
    pub outcomes: Vec<Outcome>,
}

/// Why nothing was simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// A combination is no cluster.
    #[error("{workers} workers under {sync}: {source}")]
    Cluster {
        /// Its number of workers.
        workers: u32,
        /// Its rules.
        sync: Strategy,
        /// What is wrong.
        source: ClusterError,
    },
    /// More than a person waits for.
    #[error("{messages:.1e} messages in all are more than {MOST_MESSAGES:.0e}")]
    TooMuch {
        /// About how many.
        messages: f64,
    },
    /// The record has no iterations of workers.
    #[error("{} has no iterations of workers", run.display())]
    NoIterations {
        /// The record.
        run: PathBuf,
    },
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] ReadTableError),
}

/// Some minutes on two cores.
const MOST_MESSAGES: f64 = 1e9;

/// More measured times than this do not make draws any better.
const MOST_MEASURED: usize = 20_000;

impl Explained for SimulateError {
    fn fault(&self) -> Fault {
        match self {
            Self::Record(_) => Fault::Record,
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::TooMuch { .. }
            | Self::Cluster {
                source: ClusterError::TooMuch { .. },
                ..
            } => Some("lower --iterations or --seeds, or ask for fewer combinations".to_owned()),
            Self::NoIterations { .. } => {
                Some("`paceline train --workers 2` and more record them".to_owned())
            }
            Self::Cluster { .. } | Self::Record(_) => None,
        }
    }
}

/// Reads from a training's record what a simulation can use.
///
/// # Errors
/// If it has no iterations, or cannot be read.
pub fn measure(run: &Run) -> Result<MeasuredRun, SimulateError> {
    let mut workers = BTreeSet::new();
    let (mut times, mut beside) = (Vec::new(), Vec::new());
    let (mut sent, mut received, mut rows, mut updates) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut iterations, mut first, mut last) = (0_u64, f64::INFINITY, 0.0_f64);
    let mut every = 1;
    run.each_iteration(|worker, row| {
        workers.insert(worker);
        let count = row.iterations.max(1);
        iterations += count;
        updates += 1;
        sent += row.sent_bytes;
        received += row.received_bytes;
        rows += row.rows;
        first = first.min(row.began.as_secs_f64());
        last = last.max(row.ended().as_secs_f64());
        if updates.is_multiple_of(every) {
            times.push(row.computing.as_secs_f64() / count as f64);
            beside.push((row.sending + row.receiving).as_secs_f64());
        }
        // Every second one is enough once there are twice as many as wanted.
        if times.len() >= 2 * MOST_MEASURED {
            every *= 2;
            for list in [&mut times, &mut beside] {
                let mut keep = false;
                list.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
        }
    })?;
    if times.is_empty() || last <= first {
        return Err(SimulateError::NoIterations {
            run: run.dir().to_owned(),
        });
    }
    beside.sort_by(f64::total_cmp);
    Ok(MeasuredRun {
        run: run.dir().to_owned(),
        workers: workers.len() as u32,
        computing_s: times,
        overhead_s: beside[beside.len() / 20],
        update_bytes: sent as f64 / updates as f64,
        parameter_bytes: received as f64 / updates as f64,
        rows: rows as f64 / iterations as f64,
        iterations_per_s: iterations as f64 / (last - first),
    })
}

impl MeasuredRun {
    /// The times for draws.
    #[must_use]
    pub fn compute(&self) -> Compute {
        Compute::Measured(self.computing_s.clone())
    }
}

/// Simulates every combination, with all threads.
///
/// # Errors
/// If one of them is no cluster, or all together are too many.
pub fn simulate(
    question: SimulateQuestion,
    threads: Threads,
) -> Result<SimulateAnswer, SimulateError> {
    let mut cases = Vec::new();
    for sync in &question.sync {
        let servers = match sync {
            Strategy::ParameterServer(_) => question.servers.iter().copied().map(Some).collect(),
            Strategy::AllReduce | Strategy::Dataflow => vec![None],
        };
        for servers in servers {
            for workers in &question.workers {
                cases.push((*sync, servers, *workers));
            }
        }
    }
    let messages: f64 = cases
        .iter()
        .map(|(_, servers, workers)| {
            let each = 4.0 * f64::from(*workers) * f64::from(servers.unwrap_or(1));
            each * f64::from(question.iterations) * f64::from(question.seeds)
        })
        .sum();
    if messages > MOST_MESSAGES {
        return Err(SimulateError::TooMuch { messages });
    }
    let found = threads.map(cases.len(), |index| {
        let (sync, servers, workers) = cases[index];
        let mut cluster = question.cluster.clone();
        cluster.strategy = sync;
        cluster.workers = workers;
        cluster.servers = servers.unwrap_or(1);
        let outcomes: Result<Vec<_>, _> = (0..u64::from(question.seeds))
            .map(|seed| {
                simulated(
                    &cluster,
                    question.iterations,
                    question.seed.wrapping_add(seed),
                )
            })
            .collect();
        let outcomes = outcomes.map_err(|source| SimulateError::Cluster {
            workers,
            sync,
            source,
        })?;
        Ok(SimulatedCase {
            sync,
            workers,
            servers,
            outcomes,
        })
    });
    Ok(SimulateAnswer {
        cases: found.into_iter().collect::<Result<_, SimulateError>>()?,
        question,
    })
}

impl SimulatedCase {
    /// The mean of a figure over the seeds.
    #[must_use]
    pub fn mean(&self, figure: impl Fn(&Outcome) -> f64) -> f64 {
        self.outcomes.iter().map(figure).sum::<f64>() / self.outcomes.len() as f64
    }

    /// The lowest and the highest of a figure over the seeds.
    #[must_use]
    pub fn range(&self, figure: impl Fn(&Outcome) -> f64) -> (f64, f64) {
        let values = self.outcomes.iter().map(figure);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    /// Seconds until the training has the updates that it needs.
    #[must_use]
    pub fn seconds_to(&self, convergence: &Convergence) -> f64 {
        let staleness = self.mean(|outcome| outcome.staleness_mean);
        convergence.needed(staleness) / self.mean(|outcome| outcome.updates_per_s)
    }
}

impl SimulateAnswer {
    /// The answer for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let question = &self.question;
        let cases: Vec<Value> = self
            .cases
            .iter()
            .map(|case| {
                let (low, high) = case.range(|outcome| outcome.updates_per_s);
                json!({
                    "sync": case.sync.to_string(),
                    "workers": case.workers,
                    "servers": case.servers,
                    "updates_per_s": case.mean(|outcome| outcome.updates_per_s),
                    "updates_per_s_low": low,
                    "updates_per_s_high": high,
                    "rows_per_s": question
                        .rows
                        .map(|rows| rows as f64 * case.workers as f64
                            * case.mean(|outcome| outcome.iterations_per_s)),
                    "computing_share": case.mean(|outcome| outcome.shares.computing),
                    "waiting_share": case.mean(|outcome| outcome.shares.waiting),
                    "communicating_share": case.mean(|outcome| outcome.shares.communicating),
                    "staleness_mean": case.mean(|outcome| outcome.staleness_mean),
                    "staleness_max": case.mean(|outcome| outcome.staleness_max as f64),
                    "dropped_share": case.mean(|outcome| outcome.dropped_share),
                    "bytes_per_s": case.mean(|outcome| outcome.bytes_per_s),
                    "server_busy": case.mean(|outcome| outcome.server_busy),
                    "link_busy": case.mean(|outcome| outcome.link_busy),
                    "losses": case.mean(|outcome| outcome.losses as f64),
                    "seconds_to_target": question
                        .convergence
                        .map(|convergence| case.seconds_to(&convergence)),
                })
            })
            .collect();
        json!({
            "version": 1,
            "simulated": true,
            "iterations": question.iterations,
            "seed": question.seed,
            "seeds": question.seeds,
            "measured": question.measured.as_ref().map(|run| json!({
                "run": run.run,
                "workers": run.workers,
                "iterations_per_s": run.iterations_per_s,
                "computing_mean_s": run.compute().mean_s(),
                "overhead_s": run.overhead_s,
                "update_bytes": run.update_bytes,
                "parameter_bytes": run.parameter_bytes,
            })),
            "cases": cases,
        })
    }
}
