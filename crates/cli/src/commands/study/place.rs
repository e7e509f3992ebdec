//! Where a study is on disk.

use crate::failure::Failure;
use paceline_records::journal::{ReadJournalError, replay};
use paceline_records::study::{Plan, ReadPlanError, StudyDir};
use paceline_runner::study::Progress;
use std::path::{Path, PathBuf};

/// The directory of a study: the one named, or `<file>.study` in the working
/// directory.
pub(super) fn directory(file: &Path, out: Option<&Path>) -> Result<StudyDir, Failure> {
    let named = match out {
        Some(out) => out.to_owned(),
        None => {
            let stem = file.file_stem().unwrap_or_default();
            PathBuf::from(stem).with_added_extension("study")
        }
    };
    let absolute = std::path::absolute(&named).map_err(Failure::world)?;
    Ok(StudyDir::new(&absolute))
}

/// A study as anybody may look at it, at any time, without touching it.
pub(super) struct Seen {
    pub(super) dir: StudyDir,
    pub(super) plan: Plan,
    pub(super) progress: Progress,
    /// Whether a process is executing it now.
    pub(super) live: bool,
}

/// Looks at the study that `name` means: a study's directory or its file.
pub(super) fn look(name: &Path, out: Option<&Path>) -> Result<Seen, Failure> {
    let dir = match (out, name.is_dir()) {
        (None, true) => StudyDir::new(name),
        _ => directory(name, out)?,
    };
    let plan = Plan::read(&dir.plan()).map_err(|error| match error {
        ReadPlanError::Absent(_) => {
            let text = format!("there is no study in {}", dir.path().display());
            Failure::user(anyhow::anyhow!(text))
                .hint("`paceline study run STUDY.toml` begins one; --out names its directory")
        }
        other => Failure::record(other),
    })?;
    let entries = replay(&dir.journal()).map_err(unreadable)?.entries;
    let live = paceline_records::journal::is_live(&dir.journal()).map_err(unreadable)?;
    // How often a failed run may be tried again is the policy's; for a viewer, a
    // run that failed last has failed.
    let progress = Progress::replay(&plan, 0, &entries);
    Ok(Seen {
        dir,
        plan,
        progress,
        live,
    })
}

fn unreadable(error: ReadJournalError) -> Failure {
    match error {
        ReadJournalError::Io { .. } => Failure::world(error),
        ReadJournalError::Damaged { .. } | ReadJournalError::Entry { .. } => Failure::record(error),
    }
}
