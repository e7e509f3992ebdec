//! Where everything is within a run's directory.

use paceline_model::{NodeName, Stream, WorkerId};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const START: &str = "start.json";
pub(crate) const LOCK: &str = "lock";
pub(crate) const LIVE: &str = "live";
pub(crate) const SAMPLES: &str = "samples";
pub(crate) const EVENTS: &str = "events.parquet";
pub(crate) const ITERATIONS: &str = "iterations.parquet";
pub(crate) const LOG: &str = "log";

/// The name under which a node is recorded: its own, unless its tables could be
/// taken for the parts of another node's.
pub(crate) fn recorded_node(node: &NodeName) -> Cow<'_, NodeName> {
    match node.as_str().strip_suffix(".parts") {
        Some(host) => Cow::Owned(NodeName::from_host(&format!("{host}-parts"))),
        None => Cow::Borrowed(node),
    }
}

pub(crate) fn samples_wal(dir: &Path, node: &NodeName) -> PathBuf {
    dir.join(LIVE).join(format!("samples-{node}.wal"))
}

/// The node of a file in `live/`, if it holds samples.
pub(crate) fn node_of_wal(file_name: &str) -> Option<NodeName> {
    let node = file_name.strip_prefix("samples-")?.strip_suffix(".wal")?;
    crate::json::node_name(node)
}

/// Where a command reports its metrics and phases, one JSON object per line, while
/// it runs in the run directory `dir`.
#[must_use]
pub fn reports_file(dir: &Path) -> PathBuf {
    dir.join(LIVE).join("reports.jsonl")
}

/// Where a Spark application of the run leaves its event log.
#[must_use]
pub fn event_log_dir(dir: &Path) -> PathBuf {
    dir.join("spark")
}

pub(crate) fn events_wal(dir: &Path) -> PathBuf {
    dir.join(LIVE).join("events.wal")
}

/// The log of a worker's life: a worker that is started anew begins another.
pub(crate) fn iterations_wal(dir: &Path, worker: WorkerId, number: u32) -> PathBuf {
    dir.join(LIVE)
        .join(format!("iterations-{worker}.{number}.wal"))
}

/// The worker and number of a file in `live/`, if it holds iterations.
pub(crate) fn iterations_of_wal(file_name: &str) -> Option<(WorkerId, u32)> {
    let name = file_name.strip_prefix("iterations-worker")?;
    let (worker, number) = name.strip_suffix(".wal")?.split_once('.')?;
    Some((WorkerId(worker.parse().ok()?), number.parse().ok()?))
}

/// Relative to the run's directory, as the manifest names it.
pub(crate) fn samples_table(node: &NodeName) -> String {
    format!("{SAMPLES}/{node}.parquet")
}

/// Relative to the run's directory, as the manifest names it.
pub(crate) fn parts_table(node: &NodeName) -> String {
    format!("{SAMPLES}/{node}{PARTS_SUFFIX}")
}

const PARTS_SUFFIX: &str = ".parts.parquet";

/// The node of a table named in a manifest, if it is a table of samples.
pub(crate) fn node_of_table(relative: &str) -> Option<NodeName> {
    let file = relative.strip_prefix(SAMPLES)?.strip_prefix('/')?;
    if file.ends_with(PARTS_SUFFIX) {
        return None;
    }
    crate::json::node_name(file.strip_suffix(".parquet")?)
}

pub(crate) fn log_file(dir: &Path, worker: WorkerId, stream: Stream) -> PathBuf {
    dir.join(LOG).join(log_name(worker, stream))
}

/// Relative to the run's directory, as the manifest names it.
pub(crate) fn log_table(worker: WorkerId, stream: Stream) -> String {
    format!("{LOG}/{}", log_name(worker, stream))
}

pub(crate) fn log_name(worker: WorkerId, stream: Stream) -> String {
    format!("{worker}.{}", stream.name())
}

/// The checksums of a log's beginning, while the run lives.
pub(crate) fn log_sums(dir: &Path, worker: WorkerId, stream: Stream) -> PathBuf {
    crate::sums::sums_of(&dir.join(LIVE).join(log_name(worker, stream)))
}

/// The worker and stream of a file in `log/`.
pub(crate) fn log_of_name(name: &str) -> Option<(WorkerId, Stream)> {
    let (worker, extension) = name.rsplit_once('.')?;
    let stream = match extension {
        "out" => Stream::Out,
        "err" => Stream::Err,
        _ => return None,
    };
    let worker = WorkerId(worker.strip_prefix("worker")?.parse().ok()?);
    (log_name(worker, stream) == name).then_some((worker, stream))
}

/// A piece of a log's tail, named by the offset of its first byte in the stream.
pub(crate) fn log_segment(dir: &Path, worker: WorkerId, stream: Stream, offset: u64) -> PathBuf {
    dir.join(LIVE)
        .join(format!("{}.{offset:020}.tail", log_name(worker, stream)))
}

/// The stream and the offset of a file in `live/`, if it is a piece of a log's tail.
pub(crate) fn segment_of_name(name: &str) -> Option<((WorkerId, Stream), u64)> {
    let (log, offset) = name.strip_suffix(".tail")?.rsplit_once('.')?;
    Some((log_of_name(log)?, offset.parse().ok()?))
}
