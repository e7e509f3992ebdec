//! A file that a command writes for the user: there when it is whole.

use crate::failure::Failure;
use paceline_files::{AtomicFile, WriteError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file under construction: a place that cannot be written to is found before
/// the work, not after.
#[derive(Debug)]
pub(crate) struct OutFile {
    path: PathBuf,
    file: AtomicFile,
}

impl OutFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        Ok(Self {
            path: path.to_owned(),
            file: AtomicFile::create(path).map_err(refused)?,
        })
    }

    pub(crate) fn finish(mut self, text: &str) -> Result<PathBuf, Failure> {
        self.file
            .write_all(text.as_bytes())
            .map_err(|source| refused(WriteError::new(&self.path, source)))?;
        self.file.commit().map_err(refused)?;
        Ok(self.path)
    }
}

fn refused(error: WriteError) -> Failure {
    let failure = match &error {
        WriteError::Directory { .. } => Failure::user(error),
        _ => Failure::world(error),
    };
    failure.hint("--out names another place")
}
