//! The JSON of `start.json` and `manifest.json`.
//!
//! The types here are the format: a change to one is a change to every record
//! on disk. They are converted by hand from and to the types of the interface.

use crate::WallTime;
use crate::manifest::{
    Cluster, ClusterNode, End, GitState, Limits, LogLimit, LogSummary, Manifest, Notice, Overhead,
    Start,
};
use indexmap::IndexMap;
use paceline_files::sealed;
use paceline_model::{Level, Machine, Micros, NodeName, Outcome, RunId, Stream, WorkerId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Read before anything else, so that a newer record is called newer and not malformed.
#[derive(Deserialize)]
pub(crate) struct VersionJson {
    pub(crate) format_version: u32,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StartJson {
    format_version: u32,
    written_by: String,
    id: String,
    name: Option<String>,
    argv: Vec<String>,
    cwd: String,
    env: IndexMap<String, String>,
    git: Option<GitJson>,
    machines: Vec<MachineJson>,
    started: String,
    sample_interval_s: f64,
    limits: LimitsJson,
    factors: IndexMap<String, LevelJson>,
    log_limit: LogLimitJson,
    /// Only of runs on a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterJson>,
}

#[derive(Serialize, Deserialize)]
struct ClusterJson {
    engine: String,
    job: Option<String>,
    queue_s: f64,
    nodes: Vec<ClusterNodeJson>,
}

#[derive(Serialize, Deserialize)]
struct ClusterNodeJson {
    node: String,
    address: String,
    clock_offset_s: f64,
    clock_uncertainty_s: f64,
    workers: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ManifestJson {
    #[serde(flatten)]
    start: StartJson,
    #[serde(flatten)]
    outcome: OutcomeJson,
    duration_s: f64,
    responses: IndexMap<String, NumberJson>,
    notices: Vec<NoticeJson>,
    overhead: Option<OverheadJson>,
    logs: Vec<LogJson>,
    /// Every table and log of the record, with its checksum; version 1 had no logs
    /// here.
    pub(crate) files: IndexMap<String, FileJson>,
}

/// The part of a manifest, or of a start, that a list of runs shows.
#[derive(Deserialize)]
pub(crate) struct SummaryJson {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) started: String,
    pub(crate) factors: IndexMap<String, LevelJson>,
    #[serde(flatten)]
    pub(crate) outcome: Option<OutcomeJson>,
    pub(crate) duration_s: Option<f64>,
    #[serde(default)]
    pub(crate) responses: IndexMap<String, NumberJson>,
}

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileJson {
    pub(crate) bytes: u64,
    /// CRC-32 (IEEE), eight hexadecimal digits.
    pub(crate) crc32: String,
}

#[derive(Serialize, Deserialize)]
struct GitJson {
    commit: String,
    dirty: Option<bool>,
    diff_hash: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct MachineJson {
    node: String,
    os: String,
    kernel: String,
    architecture: String,
    cpu_model: Option<String>,
    cpus_count: u32,
    memory_bytes: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct LimitsJson {
    cpus: Option<f64>,
    memory_bytes: Option<u64>,
    timeout_s: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct LogLimitJson {
    head_bytes: u64,
    tail_bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum OutcomeJson {
    Exited { exit_code: i32 },
    Signalled { signal: i32 },
    Lost,
    TimedOut,
    NotStarted,
    Cancelled,
    Interrupted,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum LevelJson {
    Integer(i64),
    Number(f64),
    Switch(bool),
    Word(String),
}

/// A number that may be infinite or not a number, which JSON cannot say.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum NumberJson {
    Finite(f64),
    NotFinite(NotFiniteJson),
}

#[derive(Serialize, Deserialize, Clone, Copy)]
pub(crate) enum NotFiniteJson {
    #[serde(rename = "nan")]
    Nan,
    #[serde(rename = "inf")]
    Infinite,
    #[serde(rename = "-inf")]
    NegativeInfinite,
}

#[derive(Serialize, Deserialize)]
struct NoticeJson {
    name: String,
    text: String,
    advice: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct OverheadJson {
    cpu_s: f64,
    mem_peak_bytes: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct LogJson {
    worker: u32,
    stream: StreamJson,
    written_bytes: u64,
    dropped_bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StreamJson {
    Out,
    Err,
}

/// A value that is well-formed JSON but not what its field can hold.
#[derive(Debug, thiserror::Error)]
#[error("`{field}` is not valid: {problem}")]
pub struct FieldError {
    field: &'static str,
    problem: String,
}

impl FieldError {
    fn new(field: &'static str, problem: impl ToString) -> Self {
        Self {
            field,
            problem: problem.to_string(),
        }
    }
}

impl StartJson {
    pub(crate) fn new(start: &Start, written_by: &str) -> Self {
        Self {
            format_version: crate::FORMAT_VERSION,
            written_by: written_by.to_owned(),
            id: start.id.as_str().to_owned(),
            name: start.name.clone(),
            argv: start.argv.clone(),
            // JSON is Unicode: a path that is not is recorded as closely as can be.
            cwd: start.cwd.to_string_lossy().into_owned(),
            env: start.env.clone(),
            git: start.git.as_ref().map(|git| GitJson {
                commit: git.commit.clone(),
                dirty: git.dirty,
                diff_hash: git.diff_hash.clone(),
            }),
            machines: start.machines.iter().map(MachineJson::new).collect(),
            started: start.started.to_string(),
            sample_interval_s: start.sample_interval.as_secs(),
            limits: LimitsJson {
                cpus: start.limits.cpus,
                memory_bytes: start.limits.memory_bytes,
                timeout_s: start.limits.timeout.map(Micros::as_secs),
            },
            factors: start
                .factors
                .iter()
                .map(|(name, level)| (name.clone(), LevelJson::new(level)))
                .collect(),
            log_limit: LogLimitJson {
                head_bytes: start.log_limit.head_bytes,
                tail_bytes: start.log_limit.tail_bytes,
            },
            cluster: start.cluster.as_ref().map(ClusterJson::new),
        }
    }

    /// The manifest of a run that has not ended.
    pub(crate) fn check(self) -> Result<Manifest, FieldError> {
        let start = Start {
            id: RunId::new(&self.id).map_err(|e| FieldError::new("id", e))?,
            name: self.name,
            argv: self.argv,
            cwd: PathBuf::from(self.cwd),
            env: self.env,
            keep_env: Vec::new(),
            git: self.git.map(|git| GitState {
                commit: git.commit,
                dirty: git.dirty,
                diff_hash: git.diff_hash,
            }),
            machines: self
                .machines
                .into_iter()
                .map(MachineJson::check)
                .collect::<Result<_, _>>()?,
            started: parse_time(&self.started)?,
            sample_interval: micros(self.sample_interval_s),
            limits: Limits {
                cpus: self.limits.cpus,
                memory_bytes: self.limits.memory_bytes,
                timeout: self.limits.timeout_s.map(micros),
            },
            factors: self
                .factors
                .into_iter()
                .map(|(name, level)| (name, level.into_level()))
                .collect(),
            log_limit: LogLimit {
                head_bytes: self.log_limit.head_bytes,
                tail_bytes: self.log_limit.tail_bytes,
            },
            cluster: self.cluster.map(ClusterJson::check).transpose()?,
        };
        Ok(Manifest {
            written_by: self.written_by,
            start,
            end: None,
            logs: Vec::new(),
        })
    }
}

impl ManifestJson {
    pub(crate) fn new(manifest: &Manifest, end: &End, files: IndexMap<String, FileJson>) -> Self {
        Self {
            start: StartJson::new(&manifest.start, &manifest.written_by),
            outcome: OutcomeJson::new(&end.outcome),
            duration_s: end.duration.as_secs(),
            responses: end
                .responses
                .iter()
                .map(|(name, &value)| (name.clone(), NumberJson::new(value)))
                .collect(),
            notices: end
                .notices
                .iter()
                .map(|notice| NoticeJson {
                    name: notice.name.clone(),
                    text: notice.text.clone(),
                    advice: notice.advice.clone(),
                })
                .collect(),
            overhead: end
                .overhead
                .filter(|overhead| overhead.cpu_s.is_finite())
                .map(|overhead| OverheadJson {
                    cpu_s: overhead.cpu_s,
                    mem_peak_bytes: overhead.mem_peak_bytes,
                }),
            logs: manifest.logs.iter().map(LogJson::new).collect(),
            files,
        }
    }

    pub(crate) fn check(self) -> Result<(Manifest, IndexMap<String, FileJson>), FieldError> {
        let mut manifest = self.start.check()?;
        manifest.end = Some(End {
            outcome: self.outcome.into_outcome(),
            duration: micros(self.duration_s),
            responses: self
                .responses
                .into_iter()
                .map(|(name, value)| (name, value.into_f64()))
                .collect(),
            notices: self
                .notices
                .into_iter()
                .map(|notice| Notice {
                    name: notice.name,
                    text: notice.text,
                    advice: notice.advice,
                })
                .collect(),
            overhead: self.overhead.map(|overhead| Overhead {
                cpu_s: overhead.cpu_s,
                mem_peak_bytes: overhead.mem_peak_bytes,
            }),
        });
        manifest.logs = self.logs.into_iter().map(LogJson::into_summary).collect();
        Ok((manifest, self.files))
    }
}

impl ClusterJson {
    fn new(cluster: &Cluster) -> Self {
        let nodes = cluster.nodes.iter().map(|node| ClusterNodeJson {
            node: node.node.as_str().to_owned(),
            address: node.address.clone(),
            clock_offset_s: node.clock_offset_us as f64 / 1e6,
            clock_uncertainty_s: node.clock_uncertainty.as_secs(),
            workers: node.workers.iter().map(|worker| worker.0).collect(),
        });
        Self {
            engine: cluster.engine.clone(),
            job: cluster.job.clone(),
            queue_s: cluster.queued.as_secs(),
            nodes: nodes.collect(),
        }
    }

    fn check(self) -> Result<Cluster, FieldError> {
        let nodes = self.nodes.into_iter().map(|node| {
            Ok(ClusterNode {
                node: node_name(&node.node).ok_or_else(|| {
                    FieldError::new("cluster", format!("`{}` cannot name a node", node.node))
                })?,
                address: node.address,
                // `as` saturates and turns NaN into zero.
                clock_offset_us: (node.clock_offset_s * 1e6).round() as i64,
                clock_uncertainty: micros(node.clock_uncertainty_s),
                workers: node.workers.into_iter().map(WorkerId).collect(),
            })
        });
        Ok(Cluster {
            engine: self.engine,
            job: self.job,
            queued: micros(self.queue_s),
            nodes: nodes.collect::<Result<_, _>>()?,
        })
    }
}

impl MachineJson {
    fn new(machine: &Machine) -> Self {
        Self {
            node: machine.node.as_str().to_owned(),
            os: machine.os.clone(),
            kernel: machine.kernel.clone(),
            architecture: machine.architecture.clone(),
            cpu_model: machine.cpu_model.clone(),
            cpus_count: machine.cpus_count,
            memory_bytes: machine.memory_bytes,
        }
    }

    fn check(self) -> Result<Machine, FieldError> {
        Ok(Machine {
            node: node_name(&self.node).ok_or_else(|| {
                FieldError::new("machines", format!("`{}` cannot name a node", self.node))
            })?,
            os: self.os,
            kernel: self.kernel,
            architecture: self.architecture,
            cpu_model: self.cpu_model,
            cpus_count: self.cpus_count,
            memory_bytes: self.memory_bytes,
        })
    }
}

impl OutcomeJson {
    fn new(outcome: &Outcome) -> Self {
        match *outcome {
            Outcome::Exited(exit_code) => Self::Exited { exit_code },
            Outcome::Signalled(signal) => Self::Signalled { signal },
            Outcome::Lost => Self::Lost,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::NotStarted => Self::NotStarted,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Interrupted => Self::Interrupted,
        }
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        match self {
            Self::Exited { exit_code } => Outcome::Exited(exit_code),
            Self::Signalled { signal } => Outcome::Signalled(signal),
            Self::Lost => Outcome::Lost,
            Self::TimedOut => Outcome::TimedOut,
            Self::NotStarted => Outcome::NotStarted,
            Self::Cancelled => Outcome::Cancelled,
            Self::Interrupted => Outcome::Interrupted,
        }
    }
}

impl LevelJson {
    pub(crate) fn new(level: &Level) -> Self {
        match level {
            Level::Integer(i) => Self::Integer(*i),
            Level::Number(x) if x.is_finite() => Self::Number(*x),
            Level::Number(x) => Self::Word(x.to_string()),
            Level::Switch(b) => Self::Switch(*b),
            Level::Word(w) => Self::Word(w.clone()),
        }
    }

    pub(crate) fn into_level(self) -> Level {
        match self {
            Self::Integer(i) => Level::Integer(i),
            Self::Number(x) => Level::Number(x),
            Self::Switch(b) => Level::Switch(b),
            Self::Word(w) => Level::Word(w),
        }
    }
}

impl NumberJson {
    fn new(value: f64) -> Self {
        if value.is_finite() {
            Self::Finite(value)
        } else if value.is_nan() {
            Self::NotFinite(NotFiniteJson::Nan)
        } else if value > 0.0 {
            Self::NotFinite(NotFiniteJson::Infinite)
        } else {
            Self::NotFinite(NotFiniteJson::NegativeInfinite)
        }
    }

    pub(crate) fn into_f64(self) -> f64 {
        match self {
            Self::Finite(value) => value,
            Self::NotFinite(NotFiniteJson::Nan) => f64::NAN,
            Self::NotFinite(NotFiniteJson::Infinite) => f64::INFINITY,
            Self::NotFinite(NotFiniteJson::NegativeInfinite) => f64::NEG_INFINITY,
        }
    }
}

impl LogJson {
    fn new(log: &LogSummary) -> Self {
        Self {
            worker: log.worker.0,
            stream: match log.stream {
                Stream::Out => StreamJson::Out,
                Stream::Err => StreamJson::Err,
            },
            written_bytes: log.written_bytes,
            dropped_bytes: log.dropped_bytes,
        }
    }

    fn into_summary(self) -> LogSummary {
        LogSummary {
            worker: WorkerId(self.worker),
            stream: match self.stream {
                StreamJson::Out => Stream::Out,
                StreamJson::Err => Stream::Err,
            },
            written_bytes: self.written_bytes,
            dropped_bytes: self.dropped_bytes,
        }
    }
}

pub(crate) fn parse_time(text: &str) -> Result<WallTime, FieldError> {
    text.parse().map_err(|e| FieldError::new("started", e))
}

pub(crate) fn parse_id(text: &str) -> Result<RunId, FieldError> {
    RunId::new(text).map_err(|e| FieldError::new("id", e))
}

/// The text of a file, for people as well: indented, with a final newline, and
/// with its checksum.
pub(crate) fn to_text(json: &impl Serialize) -> String {
    let text =
        serde_json::to_string_pretty(json).expect("the format's types have text keys and no bytes");
    sealed::seal(&text).expect("the format's types are objects")
}

/// Seconds back to the microseconds they were written from. Exact below 2^51
/// microseconds, 71 years.
pub(crate) fn micros(seconds: f64) -> Micros {
    // `as` saturates and turns NaN into zero.
    Micros((seconds * 1e6).round() as u64)
}

/// The node that a file or field of a record names: only names that
/// [`NodeName::from_host`] could have made, so that none leaves the directory.
pub(crate) fn node_name(text: &str) -> Option<NodeName> {
    let node = NodeName::from_host(text);
    (node.as_str() == text).then_some(node)
}
