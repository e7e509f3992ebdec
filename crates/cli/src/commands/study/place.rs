//! Where a study is on disk.

use crate::failure::Failure;
use crate::output;
use paceline_answers::results::StudyState;
use paceline_answers::study_file::STUDY_FILE;
use paceline_records::study::StudyDir;
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

/// Where the results are that `path` means: a study's file, or the folder of one,
/// stands for the directory that `study run` gives it, here or beside the file;
/// everything else for itself.
pub(in crate::commands) fn results(path: &Path) -> Result<PathBuf, Failure> {
    let is_file = path.is_file() && path.extension().is_some_and(|it| it == "toml");
    let is_folder = path.join(STUDY_FILE).is_file() && !StudyDir::new(path).plan().exists();
    if !is_file && !is_folder {
        return Ok(path.to_owned());
    }
    let here = directory(path, None)?;
    let name = here.path().file_name().unwrap_or_default();
    let beside = StudyDir::new(&path.with_file_name(name));
    for dir in [&here, &beside] {
        if dir.plan().exists() {
            return Ok(dir.path().to_owned());
        }
    }
    Err(Failure::user(anyhow::anyhow!(
        "{} has no results yet: there is no {} here",
        path.display(),
        Path::new(name).display()
    ))
    .hint(format!(
        "`paceline study run {}` makes them; results elsewhere are named by their directory",
        path.display()
    )))
}

/// Looks at the study that `name` means: a study's directory or its file.
pub(in crate::commands) fn look(name: &Path, out: Option<&Path>) -> Result<StudyState, Failure> {
    let dir = match (out, name.is_dir()) {
        (None, true) => StudyDir::new(name),
        _ => directory(name, out)?,
    };
    let state = StudyState::read(dir.path())?;
    let path = state.dir.journal();
    if state.cut_bytes > 0 {
        output::tell(&format!(
            "notice: the last {} bytes of {} are an incomplete entry and were left out",
            state.cut_bytes,
            path.display()
        ));
    }
    if let [first, rest @ ..] = state.unnoted.as_slice() {
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        output::tell(&format!(
            "notice: {first}{more} ended, and {} does not say how; `paceline study run` notes it \
             down",
            path.display()
        ));
    }
    Ok(state)
}
