//! The study file that a command names, read and checked.

use crate::commands::train;
use crate::engines;
use crate::failure::Failure;
use crate::output;
use paceline_answers::study_file;
use paceline_study::{Capabilities, Study};
use std::path::Path;

/// Reads the study at `path`, a file or a study's directory, with what
/// `overrides` such as `batch_size=64,128` change. Notices go to stderr; every
/// problem is in the failure at once, each with its line.
pub(crate) fn load(path: &Path, overrides: &[String]) -> Result<Study, Failure> {
    let study = study_file::load(path, overrides, &capabilities())?;
    let name = study_file::file_of(path).display().to_string();
    tell_notices(&name, &study);
    Ok(study)
}

/// What this build of Paceline can do.
pub(crate) fn capabilities() -> Capabilities {
    Capabilities {
        engines: engines::AVAILABLE,
        ..Capabilities::local(train::options())
    }
}

/// Says what a study's file leaves open.
pub(crate) fn tell_notices(name: &str, study: &Study) {
    for notice in study.notices() {
        output::tell(&format!("notice: {}", notice.render(name)));
    }
}
