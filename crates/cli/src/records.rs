//! Finding and opening records, with errors as people read them.

use crate::failure::Failure;
use paceline_records::{OpenRunError, Run};
use std::path::{Path, PathBuf};

/// Where runs go unless the user says otherwise.
pub(crate) const RUNS: &str = "runs";

/// The directory that `name` means: itself, or the run of that id in `runs`.
pub(crate) fn find(name: &Path) -> PathBuf {
    let below = Path::new(RUNS).join(name);
    let is_id = name.components().count() == 1 && !name.exists() && below.exists();
    if is_id { below } else { name.to_owned() }
}

/// Opens a record.
pub(crate) fn open(dir: &Path) -> Result<Run, Failure> {
    Run::open(dir).map_err(|error| match &error {
        OpenRunError::Absent { .. } => {
            Failure::user(error).hint("`paceline ls` lists the runs in ./runs")
        }
        OpenRunError::NotARun { .. } => Failure::user(error)
            .hint("name the directory that holds manifest.json, or start.json while it runs"),
        OpenRunError::TooNew { .. } => {
            Failure::record(error).hint("open it with the newer version of Paceline that wrote it")
        }
        OpenRunError::Io { .. } => Failure::world(error),
        OpenRunError::Json { .. } | OpenRunError::Field { .. } | OpenRunError::Table(_) => {
            Failure::record(error)
        }
    })
}
