//! Opening a study's directory: as it was left, by whoever or whatever ended the
//! session before.

use super::attempt::adopt;
use super::plan::{PlanStudyError, plan};
use super::progress::{Progress, RunState};
use super::session::{Session, Settings, Shared};
use paceline_engine::leftovers;
use paceline_model::{Level, RunId};
use paceline_records::journal::{Journal, OpenJournalError};
use paceline_records::study::{Entry, Ledger, Plan, ReadPlanError, RunResult, StudyDir};
use paceline_records::{
    OpenRunError, ReadTableError, Run, SealRunError, State, WriteRecordError, write_file,
};
use paceline_study::Study;
use parking_lot::Mutex;
use std::path::PathBuf;

/// Why a study's directory cannot be worked in.
#[derive(Debug, thiserror::Error)]
pub enum OpenStudyError {
    /// Another process executes the study.
    #[error("another paceline is executing the study in {0}")]
    InUse(PathBuf),
    /// The directory is another study's.
    #[error("{dir} holds another study: {} changed", .sections.join(", "))]
    Changed {
        /// The directory.
        dir: PathBuf,
        /// What is different.
        sections: Vec<String>,
    },
    /// The directory holds something, but no study.
    #[error("{0} is not empty and holds no study")]
    NotAStudy(PathBuf),
    /// The design cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanStudyError),
    /// The plan cannot be read.
    #[error(transparent)]
    ReadPlan(#[from] ReadPlanError),
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(OpenJournalError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
    /// A run that was begun cannot be looked at.
    #[error("run {run} was begun, and its record cannot be read")]
    Begun {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        source: BegunError,
    },
}

/// Why the record of a run that was begun cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BegunError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadTableError),
    /// It cannot be closed.
    #[error(transparent)]
    Seal(#[from] SealRunError),
}

/// What a session found of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Runs whose record was closed, but not noted down.
    pub adopted: usize,
    /// Runs that were interrupted and will be run again.
    pub interrupted: usize,
    /// Processes that were still there, and were ended.
    pub ended_processes: usize,
    /// Bytes of a half-written last line of the journal.
    pub cut_bytes: u64,
}

impl Session {
    /// Opens the study in `dir`, or begins it there, and settles what a session
    /// that died has left: finished runs are kept, interrupted ones will be run
    /// again, their processes are ended.
    ///
    /// # Errors
    /// If the directory belongs to another study or another process, or cannot
    /// be read or written.
    pub fn open(dir: StudyDir, study: Study, settings: Settings) -> Result<Self, OpenStudyError> {
        let planned = |study: &Study| plan(study).map(|(_, plan)| plan);
        Self::open_planned(dir, study, settings, planned)
    }

    /// As [`Session::open`], with the plan that a new study begins with.
    pub(super) fn open_planned(
        dir: StudyDir,
        study: Study,
        settings: Settings,
        planned: impl FnOnce(&Study) -> Result<Plan, PlanStudyError>,
    ) -> Result<Self, OpenStudyError> {
        let plan = make_or_find(&dir, &study, planned)?;
        let opened = Journal::open(&dir.journal());
        let (journal, replay) = opened.map_err(|error| match error {
            OpenJournalError::InUse { .. } => OpenStudyError::InUse(dir.path().to_owned()),
            other => OpenStudyError::Journal(other),
        })?;
        // A damaged ledger is found before anything is run.
        Ledger::read(&dir.promises()).map_err(|error| OpenStudyError::Journal(error.into()))?;
        let progress = Progress::replay(&plan, study.policy().retries, &replay.entries);
        let recovered = Recovered {
            cut_bytes: replay.cut_bytes,
            ..Recovered::default()
        };
        let shared = Shared::new(journal, progress);
        let mut session = Self {
            dir,
            study,
            plan,
            settings,
            shared: Mutex::new(shared),
            only: None,
            recovered,
        };
        session.recover()?;
        session.keep_ledger().map_err(OpenStudyError::Journal)?;
        Ok(session)
    }

    /// Looks at every run that was begun and, as far as the journal knows, not
    /// ended.
    fn recover(&mut self) -> Result<(), OpenStudyError> {
        let mut recovered = self.recovered;
        for (position, run) in self.plan.runs.iter().enumerate() {
            let mut shared = self.shared.lock();
            let attempt = match *shared.progress.state(position) {
                RunState::Leased { attempt } => attempt,
                // The lease of a record that is there was lost with the end of the
                // journal: a machine that stopped before the disk had it.
                RunState::Pending => {
                    let attempt = shared.progress.next_attempt(position);
                    if !self.dir.attempt(&run.id, attempt).exists() {
                        continue;
                    }
                    attempt
                }
                RunState::Done { .. } | RunState::Failed { .. } => continue,
            };
            let dir = self.dir.attempt(&run.id, attempt);
            recovered.ended_processes += leftovers::end(&dir);
            let begun = |source| OpenStudyError::Begun {
                run: run.id.clone(),
                source,
            };
            let levels = self.plan.levels(run);
            let name = run.id.to_string();
            let entry = match self.begun(&dir, levels).map_err(begun)? {
                Some(result) => {
                    recovered.adopted += 1;
                    Entry::Ended {
                        run: name,
                        attempt,
                        result: Box::new(result),
                    }
                }
                None => {
                    recovered.interrupted += 1;
                    Entry::Abandoned { run: name, attempt }
                }
            };
            shared.note(entry)?;
        }
        self.recovered = recovered;
        Ok(())
    }

    /// What the record of a begun run says: how it ended, or nothing.
    fn begun(
        &self,
        dir: &std::path::Path,
        levels: &[Level],
    ) -> Result<Option<RunResult>, BegunError> {
        let run = match Run::open(dir) {
            Ok(run) => run,
            // It was killed before its record began.
            Err(OpenRunError::Absent { .. } | OpenRunError::NotARun { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // A command that had exited is done, though nobody was left to close its
        // record.
        let result = adopt(&self.study, &self.settings, levels, &run)?;
        if run.state() != State::Finished {
            let responses = result.as_ref().map(|result| result.responses.clone());
            Run::seal_with(dir, responses.unwrap_or_default())?;
        }
        Ok(result)
    }
}

/// Makes the study's directory, or finds it as it was made. `plan.json` is
/// written last: without it there is no study yet, and everything is made anew.
fn make_or_find(
    dir: &StudyDir,
    study: &Study,
    planned: impl FnOnce(&Study) -> Result<Plan, PlanStudyError>,
) -> Result<Plan, OpenStudyError> {
    match Plan::read(&dir.plan()) {
        Ok(plan) if plan.fingerprint == study.fingerprint().as_str() => return Ok(plan),
        Ok(_) => {
            let sections = changed(dir, study);
            return Err(OpenStudyError::Changed {
                dir: dir.path().to_owned(),
                sections,
            });
        }
        Err(ReadPlanError::Absent(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let strange = std::fs::read_dir(dir.path()).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|entry| !is_ours(&entry.file_name())))
    });
    if strange {
        // Another process may have begun the study since the first look: then
        // its plan says whose it is, and its journal that it is in use.
        return match Plan::read(&dir.plan()) {
            Ok(plan) if plan.fingerprint == study.fingerprint().as_str() => Ok(plan),
            _ => Err(OpenStudyError::NotAStudy(dir.path().to_owned())),
        };
    }
    let plan = planned(study)?;
    write_file(&dir.study(), study.to_toml().as_bytes())?;
    plan.write(&dir.plan())?;
    Ok(plan)
}

/// Files that a session killed at the very beginning may have left.
fn is_ours(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "study.toml" || name.starts_with('.')
}

/// A frozen study is the user's own file once more: a few lines.
const LARGEST_STUDY: u64 = 4 << 20;

/// What is different between the study that was frozen and the one at hand.
fn changed(dir: &StudyDir, study: &Study) -> Vec<String> {
    let text = paceline_files::read_text(&dir.study(), LARGEST_STUDY);
    let frozen = text.ok().and_then(|text| {
        let raw = paceline_study::RawStudy::parse("study.toml", &text).ok()?;
        raw.check(&paceline_study::Capabilities::ALL).ok()
    });
    match frozen {
        Some(frozen) => frozen
            .changed_sections(study)
            .into_iter()
            .map(|s| format!("[{s}]"))
            .collect(),
        None => vec!["the study".to_owned()],
    }
}
