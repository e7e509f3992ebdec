//! Why nothing was exported.

use crate::http::HttpError;
use paceline_answers::results::OpenStudyError;
use paceline_answers::{Explained, Fault};
use paceline_files::WriteError;
use paceline_records::{OpenRunError, ReadTableError, WriteRecordError};
use std::io;
use std::path::PathBuf;

/// Why a run or a study could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The run cannot be opened.
    #[error(transparent)]
    Run(#[from] OpenRunError),
    /// The study cannot be opened.
    #[error(transparent)]
    Study(#[from] OpenStudyError),
    /// A table of a record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadTableError),
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] WriteRecordError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A directory cannot be made.
    #[error("cannot make {path}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The server gives no answer, or refuses.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The server answers with something else than documented.
    #[error("MLflow's answer to {request} has no `{lacks}`")]
    Answer {
        /// What was asked.
        request: String,
        /// What the answer should hold.
        lacks: &'static str,
    },
}

impl From<paceline_records::ExportError> for ExportError {
    fn from(error: paceline_records::ExportError) -> Self {
        match error {
            paceline_records::ExportError::Read(error) => Self::Read(error),
            paceline_records::ExportError::Write(error) => Self::Table(error),
        }
    }
}

impl Explained for ExportError {
    fn fault(&self) -> Fault {
        match self {
            Self::Run(error) => error.fault(),
            Self::Study(error) => error.fault(),
            Self::Read(error) => error.fault(),
            Self::Http(error) => error.fault(),
            Self::Write(WriteError::Directory { .. }) => Fault::User,
            Self::Table(_) | Self::Write(_) | Self::Directory { .. } | Self::Answer { .. } => {
                Fault::World
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Run(error) => error.hint(),
            Self::Study(error) => error.hint(),
            Self::Http(error) => error.hint(),
            Self::Table(_) | Self::Write(_) | Self::Directory { .. } => {
                Some("--out names another place".to_owned())
            }
            Self::Read(_) | Self::Answer { .. } => None,
        }
    }
}
