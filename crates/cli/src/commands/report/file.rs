//! A page that appears under its name only when it is whole.

use crate::failure::Failure;
use anyhow::Context;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A page under construction, in a hidden file beside its place.
pub(super) struct PageFile {
    path: PathBuf,
    partial: PathBuf,
    file: File,
}

impl PageFile {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        let partial = path.with_file_name(name);
        let file = File::create(&partial)
            .with_context(|| format!("cannot write `{}`", path.display()))
            .map_err(|error| {
                Failure::world(error).hint("--out names another place for the page")
            })?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            file,
        })
    }

    pub(super) fn finish(mut self, text: &str) -> Result<PathBuf, Failure> {
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_all())
            .and_then(|()| std::fs::rename(&self.partial, &self.path))
            .with_context(|| format!("cannot write `{}`", self.path.display()))
            .map_err(Failure::world)?;
        Ok(self.path.clone())
    }
}

impl Drop for PageFile {
    fn drop(&mut self) {
        // After a success there is no partial file any more; after a failure
        // nothing of it is worth keeping.
        let _ = std::fs::remove_file(&self.partial);
    }
}
