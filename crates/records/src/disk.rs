//! Files that are either whole or absent.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A record could not be written. The run cannot go on: what was not recorded
/// did not happen.
#[derive(Debug, thiserror::Error)]
pub enum WriteRecordError {
    /// The disk, the quota or the file-size limit is exhausted.
    #[error("no space left to write {path}")]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Any other failure of the file system.
    #[error("cannot write {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table could not be encoded.
    #[error("cannot encode {path}")]
    Encode {
        /// The file.
        path: PathBuf,
        /// What the encoder said.
        source: parquet::errors::ParquetError,
    },
    /// A node's samples must be in the order of their times, each later than the one before.
    #[error("a sample of {node} at {at} follows one at {previous}")]
    OutOfOrder {
        /// The node.
        node: paceline_model::NodeName,
        /// The sample's time.
        at: paceline_model::Micros,
        /// The time of the sample before.
        previous: paceline_model::Micros,
    },
    /// A journal's entry has no JSON.
    #[error("cannot encode an entry of {path}")]
    Entry {
        /// The file.
        path: PathBuf,
        /// What the encoder said.
        source: serde_json::Error,
    },
    /// One sample or event is larger than a record takes.
    #[error("{bytes} bytes for one entry of {path}, which takes at most {limit}")]
    FrameSize {
        /// The file.
        path: PathBuf,
        /// The entry's size.
        bytes: usize,
        /// The largest possible.
        limit: usize,
    },
    /// The record has been closed.
    #[error("{path} belongs to a record that is closed")]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// What the record already holds cannot be read back to convert it.
    #[error("the record cannot be closed because it cannot be read back")]
    ReadBack(#[source] crate::ReadTableError),
}

impl WriteRecordError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::DiskFull { path, source },
            _ => Self::Io { path, source },
        }
    }
}

/// Adds the path to a file system's error.
pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T, WriteRecordError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, WriteRecordError> {
        self.map_err(|error| WriteRecordError::io(path, error))
    }
}

/// A file under construction. Until [`Staged::commit`] it has a hidden name
/// that no reader trusts; if it is dropped before, it is removed.
pub(crate) struct Staged {
    target: PathBuf,
    staging: PathBuf,
    committed: bool,
}

impl Staged {
    /// Starts the file that will be `target`.
    pub(crate) fn create(target: &Path) -> Result<(Self, File), WriteRecordError> {
        let name = target
            .file_name()
            .expect("a staged file is named by its caller");
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".tmp");
        let staging = target.with_file_name(hidden);
        let file = File::create(&staging).at(&staging)?;
        let staged = Self {
            target: target.to_owned(),
            staging,
            committed: false,
        };
        Ok((staged, file))
    }

    /// Gives the file its name. The caller has synced its content, and syncs
    /// the directory.
    pub(crate) fn commit(mut self) -> Result<(), WriteRecordError> {
        fs::rename(&self.staging, &self.target).at(&self.target)?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed {
            // The name alone keeps readers away, so a failure here costs only space.
            let _ = fs::remove_file(&self.staging);
        }
    }
}

/// Writes a file so that after a crash or a power loss it is either as it was
/// or whole. Its directory is made if need be.
///
/// # Errors
/// If it cannot be written.
pub fn write_file(target: &Path, content: &[u8]) -> Result<(), WriteRecordError> {
    // The parent of a bare name is the empty path, which no system call takes.
    let here = Path::new(".").join(target);
    let target = match target.parent() {
        Some(dir) if dir.as_os_str().is_empty() => here.as_path(),
        _ => target,
    };
    if let Some(dir) = target.parent() {
        fs::create_dir_all(dir).at(dir)?;
    }
    write_whole(target, content)
}

/// Writes `target` so that after a power loss it is either absent or whole.
pub(crate) fn write_whole(target: &Path, content: &[u8]) -> Result<(), WriteRecordError> {
    let (staged, mut file) = Staged::create(target)?;
    file.write_all(content).at(target)?;
    file.sync_all().at(target)?;
    staged.commit()?;
    sync_dir(target.parent().expect("a file is in a directory"))
}

/// Makes renames and removals in `dir` last.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), WriteRecordError> {
    File::open(dir).and_then(|dir| dir.sync_all()).at(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abandoned_file_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("manifest.json");
        let (staged, mut file) = Staged::create(&target).unwrap();
        file.write_all(b"half").unwrap();
        drop(staged);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_full_disk_is_told_apart_and_names_the_file() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = (&full)
            .write_all(b"x")
            .at(Path::new("events.wal"))
            .unwrap_err();
        assert!(matches!(error, WriteRecordError::DiskFull { .. }));
        assert_eq!(error.to_string(), "no space left to write events.wal");
    }
}
