//! The study file that a command names, read and checked.

use crate::error::Explained;
use paceline_files::ReadError;
use paceline_study::{Capabilities, Problem, Problems, RawStudy, Study};
use std::path::{Path, PathBuf};

/// The name of a study's file within a study's directory, or a folder of its own.
pub const STUDY_FILE: &str = "study.toml";

/// The most bytes a study file may have: what is larger is another file.
const MAX_BYTES: u64 = 4 << 20;

/// Why a study file means nothing.
#[derive(Debug, thiserror::Error)]
pub enum LoadStudyError {
    /// It cannot be read, or is no text of a study's size.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What it says cannot be: every problem, each with its place.
    #[error("{}", .0.join("\nerror: "))]
    Problems(Vec<String>),
}

impl Explained for LoadStudyError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Read(ReadError::TooLarge { .. } | ReadError::Kind { .. }) => {
                Some("a study file is a few lines of TOML; is this the right file?".to_owned())
            }
            Self::Read(_) | Self::Problems(_) => None,
        }
    }
}

/// Reads the study at `path`, a file or a study's directory, with what
/// `overrides` such as `batch_size=64,128` change, as far as `capabilities`
/// allow.
///
/// # Errors
/// Every problem is in the error at once, each with its line.
pub fn load(
    path: &Path,
    overrides: &[String],
    capabilities: &Capabilities,
) -> Result<Study, LoadStudyError> {
    let path = file_of(path);
    let name = path.display().to_string();
    let text = paceline_files::read_text(&path, MAX_BYTES)?;
    RawStudy::parse(&name, &text)
        .and_then(|raw| raw.with_arguments(overrides.iter().map(String::as_str)))
        .and_then(|raw| raw.check(capabilities))
        .map_err(|problems| refused(&problems))
}

/// The study's file: the one named, or the one in the directory named.
#[must_use]
pub fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(STUDY_FILE)
    } else {
        path.to_owned()
    }
}

/// One text per problem.
fn refused(problems: &Problems) -> LoadStudyError {
    let render = |problem: &Problem| problem.render(problems.file());
    LoadStudyError::Problems(problems.list().iter().map(render).collect())
}
