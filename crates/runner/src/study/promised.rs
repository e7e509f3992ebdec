//! Runs that something was promised of.
//!
//! The promise reaches the disk before its run is planned, and the run names it.
//! A session that dies anywhere leaves a promise without a run, which is planned
//! by the next, or a run that is gone on with like any other.

use super::grow::{extend, trial_of};
use super::progress::{Progress, RunState};
use super::session::Session;
use paceline_model::{Level, RunId};
use paceline_records::WriteRecordError;
use paceline_records::journal::OpenJournalError;
use paceline_records::study::{Entry, Ledger, LedgerEntry, Outcome, Plan, Promise, RunResult};
use std::path::{Path, PathBuf};

/// Why a promise cannot be noted down; then nothing is run for it.
#[derive(Debug, thiserror::Error)]
pub enum PromiseError {
    /// The ledger can be neither read nor written.
    #[error(transparent)]
    Ledger(#[from] OpenJournalError),
    /// The plan or the ledger cannot be written.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
    /// A record cannot be copied.
    #[error("cannot copy the record to {path}")]
    Copy {
        /// Where to.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Session {
    /// Notes a promise down, unless the ledger has it, and plans its run, unless it
    /// is planned. Both are on disk before this returns.
    ///
    /// # Errors
    /// If ledger or plan cannot be read or written.
    pub fn promise(
        &mut self,
        promise: &Promise,
        levels: &[Level],
        constants: &[(String, Level)],
    ) -> Result<RunId, PromiseError> {
        let (mut ledger, entries) = Ledger::open(&self.dir.promises())?;
        let is_known = entries.iter().any(|entry| match entry {
            LedgerEntry::Promised(known) => known.id == promise.id,
            LedgerEntry::Came(_) => false,
        });
        if !is_known {
            ledger.append(&LedgerEntry::Promised(Box::new(promise.clone())))?;
        }
        if let Some(run) = run_of(&self.plan, &promise.id) {
            return Ok(run.clone());
        }
        let mut plan = self.plan.clone();
        let trial = trial_of(&mut plan, levels);
        extend(&mut plan, trial, &[None]);
        let run = plan.runs.last_mut().expect("one was added");
        run.promise = Some(promise.id.clone());
        run.constants = constants.to_vec();
        let id = run.id.clone();
        self.replace_plan(plan)?;
        Ok(id)
    }

    /// Takes over a run of this study that was made elsewhere: it becomes one of the
    /// study's runs, with its record, and its promise is settled. Doing it twice, or
    /// going on after a kill, leaves one run.
    ///
    /// # Errors
    /// If plan, record, journal or ledger cannot be written.
    pub fn take_over(
        &mut self,
        promise: &Promise,
        levels: &[Level],
        constants: &[(String, Level)],
        result: &RunResult,
        record: &Path,
    ) -> Result<RunId, PromiseError> {
        let run = self.promise(promise, levels, constants)?;
        let position = {
            let shared = self.lock();
            let position = shared.progress.position(&run);
            position.expect("a promised run is planned")
        };
        let is_pending = matches!(self.lock().progress.state(position), RunState::Pending);
        if is_pending {
            let to = self.dir.attempt(&run, 1);
            if !to.exists() {
                let place = self.dir.runs().join(format!(".{run}.taken"));
                let failed = |source| PromiseError::Copy {
                    path: to.clone(),
                    source,
                };
                let _ = std::fs::remove_dir_all(&place);
                copy(record, &place).map_err(failed)?;
                paceline_files::rename(&place, &to).map_err(failed)?;
            }
            let mut shared = self.lock();
            shared.note(Entry::Leased {
                run: run.to_string(),
                attempt: 1,
                time: promise.time.clone(),
            })?;
            shared.note(Entry::Ended {
                run: run.to_string(),
                attempt: 1,
                result: Box::new(result.clone()),
            })?;
        }
        self.write_table()?;
        self.keep_ledger()?;
        Ok(run)
    }

    /// Notes down what came of the runs that have ended since.
    pub(super) fn keep_ledger(&self) -> Result<(), OpenJournalError> {
        if self.plan.runs.iter().all(|run| run.promise.is_none()) {
            return Ok(());
        }
        let (mut ledger, entries) = Ledger::open(&self.dir.promises())?;
        for outcome in unsettled(&self.plan, &self.progress(), &entries) {
            ledger.append(&LedgerEntry::Came(Box::new(outcome)))?;
        }
        Ok(())
    }
}

/// A finished record does not change, so that its files may have two names; on
/// another disk they are copied.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&path, &target)?;
        } else if kind.is_file() && std::fs::hard_link(&path, &target).is_err() {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// The run that a promise is held against.
fn run_of<'a>(plan: &'a Plan, promise: &str) -> Option<&'a RunId> {
    let mut runs = plan.runs.iter();
    let run = runs.find(|run| run.promise.as_deref() == Some(promise))?;
    Some(&run.id)
}

/// What came of promised runs that have ended and of which the ledger does not say
/// so yet: a session that was killed could not, and the next one notes it down.
#[must_use]
pub fn unsettled(plan: &Plan, progress: &Progress, entries: &[LedgerEntry]) -> Vec<Outcome> {
    let mut found = Vec::new();
    for entry in entries {
        let LedgerEntry::Promised(promise) = entry else {
            continue;
        };
        let noted = entries.iter().any(|entry| match entry {
            LedgerEntry::Came(outcome) => outcome.promise == promise.id,
            LedgerEntry::Promised(_) => false,
        });
        let of_promise = |run: &&paceline_records::study::PlannedRun| {
            run.promise.as_deref() == Some(promise.id.as_str())
        };
        let Some(run) = plan.runs.iter().find(of_promise).filter(|_| !noted) else {
            continue;
        };
        let ended = progress
            .position(&run.id)
            .map(|position| progress.state(position));
        if let Some(RunState::Done { attempt, result } | RunState::Failed { attempt, result }) =
            ended
        {
            found.push(outcome(promise, &run.id, *attempt, result));
        }
    }
    found
}

fn outcome(promise: &Promise, run: &RunId, attempt: u32, result: &RunResult) -> Outcome {
    let value = |name: &str| {
        let own = result.responses.get(name);
        own.or_else(|| result.resources.get(name)).copied()
    };
    let values = promise
        .responses()
        .filter_map(|name| Some((name.to_owned(), value(name)?)));
    Outcome {
        promise: promise.id.clone(),
        run: run.to_string(),
        attempt,
        outcome: result.outcome.clone(),
        done: result.done,
        values: values.collect(),
        disturbed: result
            .noise
            .as_ref()
            .map(|noise| noise.evidence.clone())
            .unwrap_or_default(),
    }
}
