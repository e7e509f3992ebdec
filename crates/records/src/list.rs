//! Listing many records quickly.

use crate::WallTime;
use crate::json::{SummaryJson, micros, parse_id, parse_time};
use crate::layout;
use crate::lock::is_held;
use crate::run::{OpenRunError, State, read_json};
use indexmap::IndexMap;
use paceline_model::{Level, Micros, Outcome, RunId};
use paceline_numeric::Threads;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One line of a list of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The run's id.
    pub id: RunId,
    /// What the user calls the run.
    pub name: Option<String>,
    /// The command.
    pub argv: Vec<String>,
    /// When it started.
    pub started: WallTime,
    /// Whether the record is complete.
    pub state: State,
    /// How it ended; nothing while it lives.
    pub outcome: Option<Outcome>,
    /// How long it took; known for finished records only, since a list does
    /// not read the others to their ends.
    pub duration: Option<Micros>,
    /// The trial's levels.
    pub factors: IndexMap<String, Level>,
    /// The run's results.
    pub responses: IndexMap<String, f64>,
}

/// A directory that holds a record, and what it says.
#[derive(Debug)]
pub struct Listed {
    /// The record's directory.
    pub dir: PathBuf,
    /// Its summary, or why it cannot be read: one bad record does not hide the others.
    pub summary: Result<Summary, OpenRunError>,
}

/// A directory of records could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot list the runs in {dir}")]
pub struct ListRunsError {
    dir: PathBuf,
    source: io::Error,
}

/// The records in the subdirectories of `dir`, the oldest first and those that
/// cannot be read last. Other files and directories are passed over.
///
/// Only manifests are read, by as many threads as there are CPUs.
///
/// # Errors
/// If `dir` cannot be read.
pub fn list(dir: &Path) -> Result<Vec<Listed>, ListRunsError> {
    let failed = |source| ListRunsError {
        dir: dir.to_owned(),
        source,
    };
    let mut dirs = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // A link to a directory is followed when its manifest is opened.
        let file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !hidden && !file {
            dirs.push(entry.path());
        }
    }
    let looked = Threads::available().map(dirs.len(), |at| look(&dirs[at]));
    let mut listed: Vec<Listed> = looked.into_iter().flatten().collect();
    listed.sort_by(|a, b| {
        let key = |listed: &Listed| match &listed.summary {
            Ok(summary) => (0, Some(summary.started)),
            Err(_) => (1, None),
        };
        key(a).cmp(&key(b)).then_with(|| a.dir.cmp(&b.dir))
    });
    Ok(listed)
}

/// Nothing if the directory holds no record.
fn look(dir: &Path) -> Option<Listed> {
    Some(Listed {
        dir: dir.to_owned(),
        summary: summary(dir).transpose()?,
    })
}

fn summary(dir: &Path) -> Result<Option<Summary>, OpenRunError> {
    let finished = |json| Summary::new(dir.join(layout::MANIFEST), json, State::Finished).map(Some);
    if let Some(json) = read_json::<SummaryJson>(&dir.join(layout::MANIFEST))? {
        return finished(json);
    }
    let start = dir.join(layout::START);
    let Some(json) = read_json::<SummaryJson>(&start)? else {
        return Ok(None);
    };
    let lock = dir.join(layout::LOCK);
    if is_held(&lock).map_err(|source| OpenRunError::Io { path: lock, source })? {
        return Summary::new(start, json, State::Live).map(Some);
    }
    // A writer that closed the record since the first look has let go of its lock.
    match read_json::<SummaryJson>(&dir.join(layout::MANIFEST))? {
        Some(json) => finished(json),
        None => Summary::new(start, json, State::Interrupted).map(Some),
    }
}

impl Summary {
    fn new(path: PathBuf, json: SummaryJson, state: State) -> Result<Self, OpenRunError> {
        let (id, started) = match (parse_id(&json.id), parse_time(&json.started)) {
            (Ok(id), Ok(started)) => (id, started),
            (Err(source), _) | (_, Err(source)) => {
                return Err(OpenRunError::Field { path, source });
            }
        };
        let outcome = match state {
            State::Finished => json.outcome.map(|outcome| outcome.into_outcome()),
            State::Live => None,
            State::Interrupted => Some(Outcome::Interrupted),
        };
        Ok(Self {
            id,
            name: json.name,
            argv: json.argv,
            started,
            state,
            outcome,
            duration: json.duration_s.map(micros),
            factors: json
                .factors
                .into_iter()
                .map(|(name, level)| (name, level.into_level()))
                .collect(),
            responses: json
                .responses
                .into_iter()
                .map(|(name, value)| (name, value.into_f64()))
                .collect(),
        })
    }
}
