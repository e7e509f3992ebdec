//! Where the queue keeps what it knows.
//!
//! ```text
//! DIR/queue/
//!   queue.jsonl        append-only: accepted, starting, acted, ended, cancelled
//!   server.json        who serves, and the token; readable by its owner alone
//!   jobs/<job>/
//!     job.json         the job, for the process that runs it
//!     epochs           how many epochs it may make, where that was reduced
//!     log              what that process printed
//!     study/           a run of a study, in a directory of its own
//!     record/          a command's record
//! ```

use std::path::{Path, PathBuf};

/// A queue's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(PathBuf);

impl Place {
    /// The queue of the studies in `dir`.
    #[must_use]
    pub fn of(dir: &Path) -> Self {
        Self(dir.join("queue"))
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.0.join("queue.jsonl")
    }

    /// Who serves.
    #[must_use]
    pub fn server(&self) -> PathBuf {
        self.0.join("server.json")
    }

    /// A job's directory.
    #[must_use]
    pub fn job(&self, id: &str) -> JobPlace {
        JobPlace(self.0.join("jobs").join(id))
    }
}

/// A job's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlace(PathBuf);

impl JobPlace {
    /// The job in `dir`.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self(dir.to_owned())
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The job, for the process that runs it.
    #[must_use]
    pub fn spec(&self) -> PathBuf {
        self.0.join("job.json")
    }

    /// How many epochs it may make.
    #[must_use]
    pub fn epochs(&self) -> PathBuf {
        self.0.join("epochs")
    }

    /// What the process that runs it printed.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// The directory of a study's run.
    #[must_use]
    pub fn study(&self) -> PathBuf {
        self.0.join("study")
    }

    /// A command's record.
    #[must_use]
    pub fn record(&self) -> PathBuf {
        self.0.join("record")
    }
}
