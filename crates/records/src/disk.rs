//! Files that are either whole or absent.

use paceline_files::AtomicFile;
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
    /// What the file system said of `path`; that there is no space is told apart.
    #[must_use]
    pub fn io(path: &Path, source: io::Error) -> Self {
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

impl From<paceline_files::WriteError> for WriteRecordError {
    fn from(error: paceline_files::WriteError) -> Self {
        match error {
            paceline_files::WriteError::NoSpace { path, source } => Self::DiskFull { path, source },
            paceline_files::WriteError::Io { path, source } => Self::Io { path, source },
            paceline_files::WriteError::Directory { path } => Self::Io {
                path,
                source: io::ErrorKind::IsADirectory.into(),
            },
        }
    }
}

/// Writes a file so that after a crash or a power loss it is either as it was
/// or whole. Its directory is made if need be.
///
/// # Errors
/// If it cannot be written.
pub fn write_file(target: &Path, content: &[u8]) -> Result<(), WriteRecordError> {
    Ok(paceline_files::write(target, content)?)
}

/// Writes a file of a record, for its owner alone, so that after a power loss it
/// is either absent or whole.
pub(crate) fn write_whole(target: &Path, content: &[u8]) -> Result<(), WriteRecordError> {
    let mut file = AtomicFile::create_private(target)?;
    file.write_all(content).at(target)?;
    Ok(file.commit()?)
}

/// Makes renames and removals in `dir` last.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), WriteRecordError> {
    paceline_files::sync_directory(dir).at(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

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
