//! The record of a run on disk: written as it happens, crash-safe, readable for good.
//!
//! ```text
//! <run>/
//!   manifest.json                 everything about the run; written atomically and last
//!   samples/<node>.parquet        one row per sample
//!   samples/<node>.parts.parquet  one row per core, disk, interface, process and sample
//!   events.parquet                one row per event
//!   iterations.parquet            one row per iteration of a training's worker
//!   log/<worker>.{out,err}        the worker's output, its beginning and end if it was long
//! ```
//!
//! While the run lives there are also `start.json`, the part of the manifest
//! that is known at the start, `lock`, held by the writer, and `live/`, the
//! append-only logs from which the tables are made at the end. A record with a
//! manifest is finished and does not change any more. One without is live if
//! its lock is held and interrupted if not: the kernel drops the lock when the
//! writer dies, however it dies.
//!
//! [`RunWriter`] writes a record, but for the iterations of a training, which each
//! worker writes in a process of its own ([`IterationLog`]). [`Run`] reads one in any state, [`list`] looks
//! at many, [`series`] keeps commands that are run several times, [`export_csv`] makes files for other tools. [`journal`] is the study's
//! own append-only log.
//!
//! Every file is verified when it is read: JSON carries its own checksum
//! ([`paceline_files::sealed`]), the manifest those of tables and logs, logs in
//! `live/` and journals one per entry. What is not as it was written is refused by
//! its name, but for an incomplete last entry, which is what a crash leaves: it is
//! left out, and said. Whatever grows while the run lives has a file of checksums
//! beside it, `live/<name>.sums`, so that a changed bit or a lost end of a run that
//! was killed is said too.
//!
//! Every file says its format version, [`FORMAT_VERSION`]. Newer versions are
//! refused by name; a measure that this version does not know is passed over, and
//! one that an older version did not have is missing.
//!
//! This crate deliberately starts no processes, reads no clock and no
//! environment, and interprets nothing: what a sample means, and whether a run
//! was a good one, is said elsewhere.

mod close;
mod disk;
mod export;
mod iterations;
pub mod journal;
mod json;
mod layout;
mod list;
mod lock;
mod log;
mod manifest;
pub mod redact;
mod run;
mod sample_bytes;
pub mod series;
pub mod study;
mod sums;
mod sync;
pub mod table;
mod wal;
mod wall_time;
mod writer;

pub use disk::{WriteRecordError, write_file};
pub use export::{ExportError, TableName, export_csv, write_tables};
pub use iterations::IterationLog;
pub use json::FieldError;
pub use layout::{event_log_dir, reports_file};
pub use list::{ListRunsError, Listed, Summary, list};
pub use log::{LogFile, LogWriter};
pub use manifest::{
    Cluster, ClusterNode, End, GitState, Limits, LogLimit, LogSummary, Manifest, Notice, Overhead,
    Start,
};
pub use paceline_model::{Machine, Stream};
pub use run::{OpenRunError, ReadTableError, Run, Samples, SealRunError, State};
pub use sample_bytes::SampleBytes;
pub use wal::{UnknownName, WalError};
pub use wall_time::{ParseWallTimeError, WallTime};
pub use writer::{CreateRunError, RunWriter};

/// The version of the format that this crate writes, and the newest it reads.
///
/// Since version 2, `manifest.json`, `start.json` and `plan.json` carry their own
/// checksum, and a manifest has those of the logs.
pub const FORMAT_VERSION: u32 = 2;

/// The first version whose JSON carries its checksum.
const SEALED_SINCE: u32 = 2;
