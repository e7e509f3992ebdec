//! Opening records, with errors as people read them.

use crate::failure::Failure;
use paceline_records::{OpenRunError, Run};
use std::path::Path;

/// Opens a record.
///
/// # Errors
/// If there is none, or it cannot be read.
pub fn open(dir: &Path) -> Result<Run, Failure> {
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
        OpenRunError::Json { .. }
        | OpenRunError::Checksum { .. }
        | OpenRunError::Field { .. }
        | OpenRunError::Table(_) => Failure::record(error),
    })
}
