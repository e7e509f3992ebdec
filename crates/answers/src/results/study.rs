//! A study's results: its plan, with its journal replayed.
//!
//! `table.csv` is written from the same two for other tools. It is never read
//! here: it may be twenty seconds old while the study runs.

use crate::error::{Explained, Fault};
use crate::study_file::{self, LoadStudyError};
use paceline_records::journal::{ReadJournalError, is_live, replay};
use paceline_records::study::{
    Cell, ColumnKind, Ledger, LedgerEntry, Plan, ReadPlanError, RunResult, StudyDir, StudyTable,
};
use paceline_runner::study::{Progress, RunState, table};
use paceline_stats::table::{Column, MISSING_CODE, Table};
use paceline_study::{Capabilities, Study};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How far a study is: what anybody may look at, at any time, without touching it.
pub struct StudyState {
    /// Where it is.
    pub dir: StudyDir,
    /// Its runs.
    pub plan: Plan,
    /// Where each of them stands.
    pub progress: Progress,
    /// Whether a process is executing it now.
    pub live: bool,
    /// Bytes of an incomplete last entry of the journal, which were left out.
    pub cut_bytes: u64,
    /// Attempts that ended and of which the journal does not say how: its last
    /// lines are missing. Empty while a process writes to it.
    pub unnoted: Vec<String>,
    /// What was promised of runs, and what came of them, as it was noted down.
    pub ledger: Vec<LedgerEntry>,
}

/// Why a study cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum OpenStudyError {
    /// The directory holds no study that was begun.
    #[error("there is no study in {}", .0.display())]
    Absent(PathBuf),
    /// Its plan cannot be read.
    #[error(transparent)]
    Plan(ReadPlanError),
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] ReadJournalError),
    /// Its journal lacks the ends of runs that are recorded.
    #[error("{} does not say how {first} ended, nor {} others", journal.display(), count - 1)]
    Unnoted {
        /// The journal.
        journal: PathBuf,
        /// How many attempts.
        count: usize,
        /// One of them.
        first: String,
    },
    /// Its study file says something else than what was planned.
    #[error("{} is not the study that was planned here", .0.display())]
    Frozen(PathBuf),
    /// Its study file cannot be read or no longer means anything.
    #[error(transparent)]
    File(#[from] LoadStudyError),
}

impl Explained for OpenStudyError {
    fn fault(&self) -> Fault {
        match self {
            Self::Absent(_) => Fault::User,
            Self::Plan(error) => error.fault(),
            Self::Journal(error) => error.fault(),
            Self::Unnoted { .. } | Self::Frozen(_) => Fault::Record,
            Self::File(error) => error.fault(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Absent(_) => Some(
                "`paceline study run STUDY.toml` begins one; --out names its directory".to_owned(),
            ),
            Self::Plan(error) => error.hint(),
            Self::Journal(error) => error.hint(),
            Self::Unnoted { .. } => {
                Some("`paceline study run` notes them down from their records".to_owned())
            }
            Self::Frozen(_) => Some(
                "it was changed or damaged; put back the file that was run, or run the changed \
                 one into another directory"
                    .to_owned(),
            ),
            Self::File(error) => error.hint(),
        }
    }
}

impl StudyState {
    /// Replays the study in `dir`.
    ///
    /// # Errors
    /// If there is none, or its plan or journal cannot be read.
    pub fn read(dir: &Path) -> Result<Self, OpenStudyError> {
        let dir = StudyDir::new(dir);
        let plan = Plan::read(&dir.plan()).map_err(|error| match error {
            ReadPlanError::Absent(_) => OpenStudyError::Absent(dir.path().to_owned()),
            other => OpenStudyError::Plan(other),
        })?;
        let journal = replay(&dir.journal())?;
        let ledger = Ledger::read(&dir.promises())?;
        let live = is_live(&dir.journal())?;
        // How often a failed run may be tried again is the policy's; for a viewer, a
        // run that failed last has failed.
        let progress = Progress::replay(&plan, 0, &journal.entries);
        let (cut_bytes, unnoted) = match live {
            // The last line may be on its way.
            true => (0, Vec::new()),
            false => (journal.cut_bytes, dir.unnoted(&plan, &journal.entries)),
        };
        Ok(Self {
            dir,
            plan,
            progress,
            live,
            cut_bytes,
            unnoted,
            ledger,
        })
    }

    /// The result of a planned run, if the run counts: it is done, was not stopped
    /// early by a search, has every response of the study, and was made with the
    /// study's constants. This is the only rule there is.
    #[must_use]
    pub fn counted(&self, position: usize) -> Option<(u32, &RunResult)> {
        let found = self.whole(position);
        found.filter(|_| self.plan.runs[position].constants.is_empty())
    }

    /// The result of a run that ended by itself and has every response of the study,
    /// with whatever constants it was made. What a run reported before a search
    /// stopped it is not what the whole run would have come to.
    pub(super) fn whole(&self, position: usize) -> Option<(u32, &RunResult)> {
        match self.progress.state(position) {
            RunState::Done { attempt, result }
                if result.absent.is_empty() && result.stopped.is_none() =>
            {
                Some((*attempt, result))
            }
            _ => None,
        }
    }

    /// Where the record of each planned run's last attempt is.
    #[must_use]
    pub fn record_dirs(&self) -> Vec<Option<PathBuf>> {
        let runs = self.plan.runs.iter().enumerate();
        runs.map(|(position, run)| match self.progress.state(position) {
            RunState::Pending => None,
            RunState::Leased { attempt }
            | RunState::Done { attempt, .. }
            | RunState::Failed { attempt, .. } => Some(self.dir.attempt(&run.id, *attempt)),
        })
        .collect()
    }
}

/// A study with everything that is known of it.
pub struct StudyResults {
    /// How far it is.
    pub state: StudyState,
    /// What was asked, as it was when the study began.
    pub study: Study,
    /// One row per planned run.
    pub rows: StudyTable,
}

impl StudyResults {
    /// Opens the study in `dir`.
    ///
    /// # Errors
    /// If there is none or it cannot be read.
    pub fn open(dir: &Path) -> Result<Self, OpenStudyError> {
        let state = StudyState::read(dir)?;
        if let Some(first) = state.unnoted.first() {
            return Err(OpenStudyError::Unnoted {
                journal: state.dir.journal(),
                count: state.unnoted.len(),
                first: first.clone(),
            });
        }
        // What was run is read whatever could be run here and now.
        let study = study_file::load(dir, &[], &Capabilities::ALL)?;
        // The plan has its own checksum and says which study it is of.
        if study.fingerprint().as_str() != state.plan.fingerprint {
            return Err(OpenStudyError::Frozen(state.dir.study()));
        }
        let rows = table(&state.plan, &state.progress);
        Ok(Self { state, study, rows })
    }

    /// What the study is called: by its file, or by its directory.
    #[must_use]
    pub fn title(&self) -> String {
        let directory = self.state.dir.path().file_name().unwrap_or_default();
        let name = self.study.name().map(ToOwned::to_owned);
        name.unwrap_or_else(|| directory.to_string_lossy().into_owned())
    }

    /// The positions in the plan of the runs that count.
    #[must_use]
    pub fn counted(&self) -> Vec<usize> {
        let planned = 0..self.state.plan.runs.len();
        planned
            .filter(|&position| self.state.counted(position).is_some())
            .collect()
    }

    /// The positions in the plan of runs that were made with other constants, such as
    /// another number of epochs, and are done.
    pub(super) fn otherwise(&self) -> Vec<usize> {
        let plan = &self.state.plan;
        let planned = 0..plan.runs.len();
        planned
            .filter(|&position| !plan.runs[position].constants.is_empty())
            .filter(|&position| self.state.whole(position).is_some())
            .collect()
    }

    /// The runs that count, typed as they were planned and measured; nothing if
    /// there are none.
    pub(super) fn table(&self) -> Option<Table> {
        let counted = self.counted();
        if counted.is_empty() {
            return None;
        }
        let columns = self.rows.columns().iter().enumerate();
        let columns = columns.map(|(at, (name, kind))| {
            let cells = counted.iter().map(|&row| &self.rows.rows()[row][at]);
            match kind {
                ColumnKind::Integer | ColumnKind::Number => {
                    Column::numeric(name.clone(), cells.map(number).collect())
                }
                ColumnKind::Text => words(name, cells.map(text).collect()),
            }
        });
        // Names in a study are distinct, and all columns have a cell for each run.
        Table::new(columns.collect()).ok()
    }
}

fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Integer(n) => *n as f64,
        Cell::Number(x) => *x,
        Cell::Missing | Cell::Text(_) => f64::NAN,
    }
}

fn text(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        Cell::Missing | Cell::Integer(_) | Cell::Number(_) => "",
    }
}

/// A column of categories: numbers in order of their size, else by their letters,
/// as from any other table.
fn words(name: &str, cells: Vec<&str>) -> Column {
    let mut levels: Vec<&str> = cells.clone();
    levels.retain(|level| !level.is_empty());
    levels.sort_unstable();
    levels.dedup();
    let numbers: Option<Vec<f64>> = levels.iter().map(|level| level.parse().ok()).collect();
    if let Some(numbers) = numbers {
        let mut order: Vec<usize> = (0..levels.len()).collect();
        order.sort_by(|&a, &b| {
            numbers[a]
                .partial_cmp(&numbers[b])
                .unwrap_or(Ordering::Equal)
        });
        levels = order.into_iter().map(|at| levels[at]).collect();
    }
    let codes: HashMap<&str, u32> = levels.iter().copied().zip(0..).collect();
    let cells = cells.iter().map(|cell| codes.get(cell).copied());
    Column::categorical(
        name,
        levels.iter().map(|level| (*level).to_owned()).collect(),
        cells.map(|code| code.unwrap_or(MISSING_CODE)).collect(),
    )
}
