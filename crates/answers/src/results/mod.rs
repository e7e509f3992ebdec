//! The runs that questions are asked about.
//!
//! Of a study's directory they come from its plan and its journal, of a CSV file
//! from the file. Whichever it is, a question sees one typed table of the runs
//! that count.

mod demands;
mod epochs;
mod file;
mod learn;
mod study;

pub use demands::Demands;
pub use epochs::{EpochsError, EpochsTable, after_each_epoch};
pub use file::{ReadTableError, TableFile};
pub use learn::{LearnError, RunsTable};
pub use study::{OpenStudyError, StudyResults, StudyState};

pub(crate) use epochs::following;

use crate::error::{Explained, Fault};
use crate::promises::{Learned, held, learned};
use paceline_advise::predict::{Predictor, Role};
use paceline_stats::table::Table;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs that count, with what is known of their columns.
pub struct Results {
    table: Table,
    source: Source,
    /// The columns that were set; empty if nothing says so.
    factors: Vec<String>,
    /// Which factor was said to play which part.
    roles: Vec<(Role, String)>,
}

enum Source {
    Study(Arc<StudyResults>),
    File {
        path: PathBuf,
        left_out: usize,
        unnamed: usize,
    },
}

/// Why there are no results.
#[derive(Debug, thiserror::Error)]
pub enum OpenResultsError {
    /// Nothing has this name.
    #[error("there is no file or directory `{}`", .0.display())]
    NotFound(PathBuf),
    /// The file is no table.
    #[error(transparent)]
    File(#[from] ReadTableError),
    /// The directory holds no study, or one that cannot be read.
    #[error(transparent)]
    Study(#[from] OpenStudyError),
    /// Every run failed, was interrupted or has not begun.
    #[error("none of the {runs} runs in `{}` is done", .dir.display())]
    NoneDone {
        /// The study's directory.
        dir: PathBuf,
        /// How many runs are planned.
        runs: usize,
    },
}

impl Explained for OpenResultsError {
    fn fault(&self) -> Fault {
        match self {
            Self::NotFound(_) | Self::NoneDone { .. } => Fault::User,
            Self::File(error) => error.fault(),
            Self::Study(error) => error.fault(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(_) => None,
            Self::File(error) => error.hint(),
            Self::Study(OpenStudyError::Absent(dir)) => Some(format!(
                "name a CSV file, or the directory of a study that was run: paceline study run \
                 STUDY.toml --out {}",
                dir.display()
            )),
            Self::Study(error) => error.hint(),
            Self::NoneDone { dir, .. } => {
                Some(format!("see paceline study status {}", dir.display()))
            }
        }
    }
}

impl Results {
    /// Opens the results in `path`: the directory of a study, or a CSV file.
    ///
    /// # Errors
    /// If there are none, or they cannot be read.
    pub fn open(path: &Path) -> Result<Self, OpenResultsError> {
        if path.is_dir() {
            return Self::of_study(Arc::new(StudyResults::open(path)?));
        }
        if !path.exists() {
            return Err(OpenResultsError::NotFound(path.to_owned()));
        }
        let file = TableFile::read(path)?;
        Ok(Self {
            table: file.table,
            source: Source::File {
                path: file.path,
                left_out: file.left_out,
                unnamed: file.unnamed,
            },
            factors: Vec::new(),
            roles: Vec::new(),
        })
    }

    /// The results of a study.
    ///
    /// # Errors
    /// If none of its runs counts.
    pub fn of_study(study: Arc<StudyResults>) -> Result<Self, OpenResultsError> {
        let state = &study.state;
        let table = study.table().ok_or_else(|| OpenResultsError::NoneDone {
            dir: state.dir.path().to_owned(),
            runs: state.plan.runs.len(),
        })?;
        Ok(Self {
            table,
            factors: state.plan.factors.clone(),
            roles: Vec::new(),
            source: Source::Study(study),
        })
    }

    /// The same results with these columns as what was set. No names leave a
    /// study's own factors.
    #[must_use]
    pub fn with_factors(mut self, factors: Vec<String>) -> Self {
        if !factors.is_empty() {
            self.factors = factors;
        }
        self
    }

    /// The same results with factors that play these parts, whatever their names.
    #[must_use]
    pub fn with_roles(mut self, roles: Vec<(Role, String)>) -> Self {
        self.roles = roles;
        self
    }

    /// The runs that count, one row each.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The study, unless the results are a plain file.
    #[must_use]
    pub fn study(&self) -> Option<&StudyResults> {
        match &self.source {
            Source::Study(study) => Some(study),
            Source::File { .. } => None,
        }
    }

    /// The study, to be kept for longer than the results.
    pub(crate) fn shared(&self) -> Option<Arc<StudyResults>> {
        match &self.source {
            Source::Study(study) => Some(Arc::clone(study)),
            Source::File { .. } => None,
        }
    }

    /// Where the results are, as the user named it.
    #[must_use]
    pub fn source(&self) -> String {
        match &self.source {
            Source::Study(study) => study.state.dir.path().display().to_string(),
            Source::File { path, .. } => path.display().to_string(),
        }
    }

    /// What was said of these results beyond where they are, as the user says it.
    pub(crate) fn said(&self) -> Vec<String> {
        let own = self.study().map(|study| &study.state.plan.factors);
        let mut parts = Vec::new();
        if own != Some(&self.factors) {
            parts.push(format!("factors {}", self.factors.join(",")));
        }
        let roles = self.roles.iter();
        parts.extend(roles.map(|(role, factor)| format!("role {}={factor}", role.name())));
        parts
    }

    /// What the promises of a study teach about the widths of intervals of this
    /// coverage, by response; nothing for a plain table.
    #[must_use]
    pub fn learned(&self, coverage: f64) -> Vec<Learned> {
        let study = self.study().filter(|study| !study.state.ledger.is_empty());
        study.map_or_else(Vec::new, |study| learned(&held(&study.state), coverage))
    }

    /// That of the responses which these predictors are of.
    pub(crate) fn learned_by(&self, predictors: &[Predictor], coverage: f64) -> Vec<Learned> {
        let mut learned = self.learned(coverage);
        learned.retain(|one| predictors.iter().any(|p| p.response() == one.response));
        learned
    }

    /// A study's responses, in its order; none for a plain file.
    #[must_use]
    pub fn responses(&self) -> &[String] {
        self.study()
            .map_or(&[], |study| study.state.plan.responses.as_slice())
    }

    /// How many runs of a study do not count.
    #[must_use]
    pub fn left_out(&self) -> usize {
        match &self.source {
            Source::Study(study) => study.state.plan.runs.len() - self.table.rows(),
            Source::File { left_out, .. } => *left_out,
        }
    }

    /// How many columns of a file have no name, so that nobody can refer to them.
    #[must_use]
    pub fn unnamed(&self) -> usize {
        match &self.source {
            Source::Study(_) => 0,
            Source::File { unnamed, .. } => *unnamed,
        }
    }

    /// Where a row (counted from one) is: a line of the file or a run of the study.
    #[must_use]
    pub fn place_of(&self, row: usize) -> String {
        match &self.source {
            Source::Study(study) => {
                let position = study.counted().get(row.wrapping_sub(1)).copied();
                let run = position.and_then(|at| study.state.plan.runs.get(at));
                run.map_or(format!("row {row}"), |run| format!("run {}", run.id))
            }
            Source::File { path, .. } => match file::line_of(path, row) {
                Some(line) => format!("line {line}"),
                None => format!("row {row}"),
            },
        }
    }
}
