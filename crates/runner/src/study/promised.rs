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
use paceline_records::study::{Ledger, LedgerEntry, Outcome, Plan, Promise, RunResult};

/// Why a promise cannot be noted down; then nothing is run for it.
#[derive(Debug, thiserror::Error)]
pub enum PromiseError {
    /// The ledger can be neither read nor written.
    #[error(transparent)]
    Ledger(#[from] OpenJournalError),
    /// The plan or the ledger cannot be written.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
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
