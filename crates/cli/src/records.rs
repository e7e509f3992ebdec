//! Finding records.

use crate::failure::Failure;
use paceline_records::Run;
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
    Ok(Run::open(dir)?)
}
