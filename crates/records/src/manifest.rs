//! What a record says about its run.

use crate::WallTime;
use indexmap::IndexMap;
use paceline_model::{
    Level, Machine, Micros, NodeName, Outcome, RunId, RunNotice, Stream, WorkerId,
};
use std::path::PathBuf;

/// Everything a record says about its run, apart from samples, events and logs.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The version of Paceline that wrote the record.
    pub written_by: String,
    /// What was known before the command started.
    pub start: Start,
    /// What was known when the run ended; nothing while it still runs.
    pub end: Option<End>,
    /// The logs and how much of each was kept; empty while the run still runs.
    pub logs: Vec<LogSummary>,
}

/// What is known before the command starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The run's id, also the name of its directory in a study.
    pub id: RunId,
    /// What the user calls the run.
    pub name: Option<String>,
    /// The command and its arguments. Secrets are removed when it is written.
    pub argv: Vec<String>,
    /// Where the command starts.
    pub cwd: PathBuf,
    /// The command's environment. Secrets are removed when it is written.
    pub env: IndexMap<String, String>,
    /// Variables that are kept although they look like secrets, because the user
    /// said so; not in the record.
    pub keep_env: Vec<String>,
    /// The state of the working directory's repository, if it has one.
    pub git: Option<GitState>,
    /// The machines that take part, the controller's first.
    pub machines: Vec<Machine>,
    /// When the run's clock was zero.
    pub started: WallTime,
    /// The interval between samples that was asked for.
    pub sample_interval: Micros,
    /// What the command was limited to.
    pub limits: Limits,
    /// The trial's levels, in the order of the study's factors.
    pub factors: IndexMap<String, Level>,
    /// How much of each log is kept.
    pub log_limit: LogLimit,
    /// Where a cluster has placed the run; nothing for a run of this machine.
    pub cluster: Option<Cluster>,
}

/// Where a cluster has placed a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// The engine, as a study names it.
    pub engine: String,
    /// The cluster's own name for what it gave, such as Slurm's job id.
    pub job: Option<String>,
    /// How long the run waited in the cluster's queue; no part of its duration.
    pub queued: Micros,
    /// The nodes, that of rank 0 first.
    pub nodes: Vec<ClusterNode>,
}

/// One node of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterNode {
    /// Its name in the record.
    pub node: NodeName,
    /// Where the other nodes reach it.
    pub address: String,
    /// By how much its clock was ahead of the controller's, in microseconds. Its
    /// times in the record are the controller's.
    pub clock_offset_us: i64,
    /// How wrong that can be.
    pub clock_uncertainty: Micros,
    /// The workers on it.
    pub workers: Vec<WorkerId>,
}

/// The state of a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitState {
    /// The commit that is checked out.
    pub commit: String,
    /// Whether tracked files differ from it, if that could be found out.
    pub dirty: Option<bool>,
    /// A hash of the difference, so that two dirty runs can be told apart.
    pub diff_hash: Option<String>,
}

/// What the command was limited to; nothing means unlimited.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// CPUs' worth of time per second.
    pub cpus: Option<f64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// Time until Paceline ends the command.
    pub timeout: Option<Micros>,
}

/// How much of each output stream is kept: its first and its last bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimit {
    /// Bytes kept from the beginning of the stream.
    pub head_bytes: u64,
    /// Bytes kept from its end.
    pub tail_bytes: u64,
}

impl Default for LogLimit {
    fn default() -> Self {
        Self {
            head_bytes: 32 << 20,
            tail_bytes: 32 << 20,
        }
    }
}

/// What is known when a run has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took. Of an interrupted run: until its last record.
    pub duration: Micros,
    /// The run's results, in the order of the study's responses.
    pub responses: IndexMap<String, f64>,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// What Paceline itself took, if it was measured.
    pub overhead: Option<Overhead>,
}

impl End {
    /// An end without responses, notices or measured overhead.
    #[must_use]
    pub fn new(outcome: Outcome, duration: Micros) -> Self {
        Self {
            outcome,
            duration,
            responses: IndexMap::new(),
            notices: Vec::new(),
            overhead: None,
        }
    }
}

/// Something the user should know about the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The kind of notice, a word that programs can rely on.
    pub name: String,
    /// What was noticed.
    pub text: String,
    /// What to do about it.
    pub advice: Option<String>,
}

/// As it is written; a record of another version may hold notices that this one
/// does not make.
impl From<RunNotice> for Notice {
    fn from(notice: RunNotice) -> Self {
        Self {
            name: notice.name().to_owned(),
            text: notice.to_string(),
            advice: notice.advice().map(str::to_owned),
        }
    }
}

/// What Paceline itself took during the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overhead {
    /// CPU time, user and system.
    pub cpu_s: f64,
    /// The highest resident memory.
    pub mem_peak_bytes: Option<u64>,
}

/// One log and how much of it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// Whose output.
    pub worker: WorkerId,
    /// Which stream.
    pub stream: Stream,
    /// Bytes the worker wrote.
    pub written_bytes: u64,
    /// Bytes that were dropped between the first and the last ones.
    pub dropped_bytes: u64,
}
