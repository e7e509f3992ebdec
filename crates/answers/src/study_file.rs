//! The study file that a command names, read and checked.

use crate::failure::Failure;
use anyhow::anyhow;
use paceline_files::ReadError;
use paceline_runner::study::PlanStudyError;
use paceline_study::{Capabilities, Problem, Problems, RawStudy, Study};
use std::path::{Path, PathBuf};

/// The file's name within a study's directory.
const STUDY_FILE: &str = "study.toml";

/// The most bytes a study file may have: what is larger is another file.
const MAX_BYTES: u64 = 4 << 20;

/// Reads the study at `path`, a file or a study's directory, with what
/// `overrides` such as `batch_size=64,128` change, as far as `capabilities`
/// allow.
///
/// # Errors
/// Every problem is in the failure at once, each with its line.
pub fn load(
    path: &Path,
    overrides: &[String],
    capabilities: &Capabilities,
) -> Result<Study, Failure> {
    let path = file_of(path);
    let name = path.display().to_string();
    let text = read(&path)?;
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

fn read(path: &Path) -> Result<String, Failure> {
    paceline_files::read_text(path, MAX_BYTES).map_err(|error| match error {
        ReadError::TooLarge { .. } | ReadError::Kind { .. } => Failure::user(error)
            .hint("a study file is a few lines of TOML; is this the right file?"),
        error => Failure::user(error),
    })
}

/// One `error:` per problem: the first is the failure's own.
fn refused(problems: &Problems) -> Failure {
    let render = |problem: &Problem| problem.render(problems.file());
    let texts: Vec<String> = problems.list().iter().map(render).collect();
    Failure::user(anyhow!(texts.join("\nerror: ")))
}

/// A study whose design cannot be made, with what to do about it.
#[must_use]
pub fn unplannable(error: PlanStudyError) -> Failure {
    match &error {
        PlanStudyError::Plan(refusal) => {
            let hint = refusal.hint();
            Failure::user(error).hint(hint)
        }
        PlanStudyError::Request(_) => Failure::user(error),
    }
}
