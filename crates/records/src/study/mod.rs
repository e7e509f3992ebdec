//! A study on disk.
//!
//! ```text
//! <study>/
//!   study.toml      what was asked, frozen when the study was planned
//!   plan.json       every trial and run, in order, seeds included
//!   journal.jsonl   append-only: leased, ended, abandoned, retried
//!   runs/<run>.<attempt>/   one record per attempt
//!   promises.jsonl  append-only: what was promised of runs, and what came of them
//!   table.csv, table.parquet   one row per run
//! ```

mod entry;
mod ledger;
mod plan;
mod table;

pub use entry::{Entry, Noise, Result as RunResult};
pub use ledger::{Ledger, LedgerEntry, Outcome, Promise, PromisedLimit, PromisedValue};
pub use plan::{Plan, PlannedRun, PlannedTrial, ReadPlanError};
pub use table::{Cell, ColumnKind, StudyTable};

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Where the files of a study are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyDir(PathBuf);

impl StudyDir {
    /// The study in `dir`, whether it exists or not.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self(dir.to_owned())
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The frozen question.
    #[must_use]
    pub fn study(&self) -> PathBuf {
        self.0.join("study.toml")
    }

    /// The plan; a directory is a study's once this exists.
    #[must_use]
    pub fn plan(&self) -> PathBuf {
        self.0.join("plan.json")
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.0.join("journal.jsonl")
    }

    /// The ledger of promises.
    #[must_use]
    pub fn promises(&self) -> PathBuf {
        self.0.join("promises.jsonl")
    }

    /// The records.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// The record of one attempt at a run; attempts count from 1.
    #[must_use]
    pub fn attempt(&self, run: &paceline_model::RunId, attempt: u32) -> PathBuf {
        self.runs().join(format!("{run}.{attempt}"))
    }

    /// Attempts whose records are finished and of whose end the journal says
    /// nothing: its last lines are missing, or a session was killed before it
    /// could write them. The next session notes them down.
    #[must_use]
    pub fn unnoted(&self, plan: &Plan, entries: &[Entry]) -> Vec<String> {
        let ended: HashSet<String> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Ended { run, attempt, .. } | Entry::Abandoned { run, attempt } => {
                    Some(format!("{run}.{attempt}"))
                }
                Entry::Leased { .. } | Entry::Retried { .. } => None,
            })
            .collect();
        let planned: HashSet<&str> = plan.runs.iter().map(|run| run.id.as_str()).collect();
        let Ok(records) = std::fs::read_dir(self.runs()) else {
            return Vec::new();
        };
        let mut unnoted: Vec<String> = records
            .flatten()
            .filter_map(|record| {
                let name = record.file_name().into_string().ok()?;
                let (run, _) = name.rsplit_once('.')?;
                let is_missing = planned.contains(run)
                    && !ended.contains(&name)
                    && record.path().join(crate::layout::MANIFEST).exists();
                is_missing.then_some(name)
            })
            .collect();
        unnoted.sort();
        unnoted
    }

    /// The table without its ending.
    #[must_use]
    pub fn table(&self, ending: &str) -> PathBuf {
        self.0.join("table").with_extension(ending)
    }
}
