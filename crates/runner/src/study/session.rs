//! A study's directory, open for writing, and the loop that executes it.

use super::attempt::{Attempt, AttemptError, adopt};
use super::leftovers;
use super::plan::{PlanStudyError, plan};
use super::progress::{Counts, Progress, RunState};
use super::table::table;
use crate::interrupt::Interrupt;
use crate::supervise::Observer;
use indexmap::IndexMap;
use paceline_engine::Engine;
use paceline_model::{Level, RunId};
use paceline_probe::Interval;
use paceline_probe::cgroup::CpuSet;
use paceline_records::journal::{Journal, OpenJournalError};
use paceline_records::study::{Entry, Plan, PlannedRun, ReadPlanError, RunResult, StudyDir};
use paceline_records::{
    GitState, Machine, OpenRunError, ReadTableError, Run, SealRunError, State, WallTime,
    WriteRecordError, write_file,
};
use paceline_study::Study;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

/// How and where runs are executed; nothing that changes what they are.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory of the study file, which relative paths start from.
    pub base: PathBuf,
    /// This machine.
    pub machine: Machine,
    /// The environment that commands inherit, for the record.
    pub environment: IndexMap<String, String>,
    /// The repository's state, for the record.
    pub git: Option<GitState>,
    /// The time between two samples.
    pub interval: Interval,
    /// How many runs at the same time.
    pub parallel: usize,
    /// The CPUs that runs may use.
    pub cpus: CpuSet,
    /// Variables from which numerical libraries take their number of threads.
    pub thread_variables: Vec<String>,
    /// Stop at the first failure, whatever the study says.
    pub fail_fast: bool,
    /// Paceline's own program, for the built-in trainer.
    pub program: PathBuf,
}

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

/// Why a study stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum RunStudyError {
    /// The journal or the table cannot be written.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
    /// A run cannot be recorded, so nothing more is started.
    #[error("run {run} cannot be recorded")]
    Attempt {
        /// The run.
        run: RunId,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// Every run is done or has failed as often as it may.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// A run failed, and the user wants to stop then.
    FailedFast,
}

/// Somebody who watches a study.
pub trait Watcher: Sync {
    /// An attempt begins.
    fn begins(&self, run: &PlannedRun, levels: &[Level], attempt: u32);
    /// An attempt has ended.
    fn ended(&self, run: &PlannedRun, result: &RunResult, counts: Counts);
    /// Somebody to watch the attempt that begins.
    fn observer(&self, run: &PlannedRun) -> Box<dyn Observer + '_>;
}

/// A study's directory, open for writing.
pub struct Session {
    pub(super) dir: StudyDir,
    study: Study,
    pub(super) plan: Plan,
    settings: Settings,
    pub(super) shared: Mutex<Shared>,
    /// What was found of a session that died.
    pub recovered: Recovered,
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

pub(super) struct Shared {
    journal: Journal<Entry>,
    pub(super) progress: Progress,
    stop: bool,
    /// Whether warm-up runs were made: a session that grows makes them once.
    warm: bool,
    table_written: Instant,
}

/// How often the table is brought up to date while runs go on.
const TABLE_EVERY: Duration = Duration::from_secs(20);

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
        let plan = furnish(&dir, &study, planned)?;
        let opened = Journal::open(&dir.journal());
        let (journal, replay) = opened.map_err(|error| match error {
            OpenJournalError::InUse { .. } => OpenStudyError::InUse(dir.path().to_owned()),
            other => OpenStudyError::Journal(other),
        })?;
        let progress = Progress::replay(&plan, study.policy().retries, &replay.entries);
        let recovered = Recovered {
            cut_bytes: replay.cut_bytes,
            ..Recovered::default()
        };
        let shared = Shared {
            journal,
            progress,
            stop: false,
            warm: false,
            table_written: now(),
        };
        let mut session = Self {
            dir,
            study,
            plan,
            settings,
            shared: Mutex::new(shared),
            recovered,
        };
        session.recover()?;
        Ok(session)
    }

    /// Where every run stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.lock().progress.clone()
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Lets failed runs be run again: all of them, or those named.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn retry(&self, only: &[RunId]) -> Result<usize, WriteRecordError> {
        let mut shared = self.lock();
        let failed: Vec<RunId> = self
            .plan
            .runs
            .iter()
            .enumerate()
            .filter(|(i, _)| matches!(shared.progress.state(*i), RunState::Failed { .. }))
            .map(|(_, run)| run.id.clone())
            .filter(|id| only.is_empty() || only.contains(id))
            .collect();
        for run in &failed {
            shared.note(Entry::Retried {
                run: run.to_string(),
            })?;
        }
        Ok(failed.len())
    }

    /// Executes what is to be done until nothing is, the user interrupts, or
    /// the policy says to stop; then brings the table up to date.
    ///
    /// # Errors
    /// If anything cannot be recorded: what was recorded is kept, and the same
    /// call goes on from there.
    pub fn run(
        &self,
        engine: &dyn SyncEngine,
        interrupt: &Interrupt,
        watcher: &dyn Watcher,
    ) -> Result<Outlook, RunStudyError> {
        let slots = self.slots();
        let outcome = match slots.as_slice() {
            [slot] => self.work(slot, engine, interrupt, watcher),
            slots => std::thread::scope(|scope| {
                let workers: Vec<_> = slots
                    .iter()
                    .map(|slot| scope.spawn(|| self.work(slot, engine, interrupt, watcher)))
                    .collect();
                let mut outcome = Ok(());
                for worker in workers {
                    let ended = worker
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    outcome = outcome.and(ended);
                }
                outcome
            }),
        };
        let written = self.write_table();
        outcome?;
        written?;
        let shared = self.lock();
        Ok(if interrupt.is_wanted() {
            Outlook::Interrupted
        } else if shared.stop {
            Outlook::FailedFast
        } else {
            Outlook::Complete
        })
    }

    /// Writes `table.csv` and `table.parquet` from plan and journal.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_table(&self) -> Result<(), WriteRecordError> {
        let table = table(&self.plan, &self.progress());
        table.write_csv(&self.dir.table("csv"))?;
        table.write_parquet(&self.dir.table("parquet"))
    }

    /// One worker: takes the next run that is to be done, until there is none.
    fn work(
        &self,
        slot: &CpuSet,
        engine: &dyn SyncEngine,
        interrupt: &Interrupt,
        watcher: &dyn Watcher,
    ) -> Result<(), RunStudyError> {
        let mut warm = self.lock().warm;
        loop {
            let next = {
                let mut shared = self.lock();
                if shared.stop || interrupt.is_wanted() {
                    return Ok(());
                }
                let Some(position) = shared.progress.next_pending() else {
                    return Ok(());
                };
                if warm || self.study.design().warmup == 0 {
                    Some((position, self.lease(&mut shared, position)?))
                } else {
                    None
                }
            };
            let Some((position, attempt)) = next else {
                self.warm_up(slot, engine, interrupt)?;
                warm = true;
                self.lock().warm = true;
                continue;
            };
            let run = &self.plan.runs[position];
            let levels = self.plan.levels(run);
            watcher.begins(run, levels, attempt);
            let mut observer = watcher.observer(run);
            let attempted = self.attempt(run, &run.id, attempt, slot).execute(
                engine.as_engine(),
                interrupt,
                observer.as_mut(),
            );
            drop(observer);
            let attempted = attempted.map_err(|error| cannot_record(&run.id, error))?;
            self.settle(position, attempt, attempted, watcher)?;
        }
    }

    fn lease(&self, shared: &mut Shared, position: usize) -> Result<u32, WriteRecordError> {
        let attempt = shared.progress.next_attempt(position);
        let run = self.plan.runs[position].id.to_string();
        shared.note(Entry::Leased {
            run,
            attempt,
            time: wall_time(),
        })?;
        Ok(attempt)
    }

    /// Notes down what an attempt came to.
    fn settle(
        &self,
        position: usize,
        attempt: u32,
        attempted: super::attempt::Attempted,
        watcher: &dyn Watcher,
    ) -> Result<(), RunStudyError> {
        let run = &self.plan.runs[position];
        let name = run.id.to_string();
        let mut shared = self.lock();
        if attempted.unfinished {
            shared.note(Entry::Abandoned { run: name, attempt })?;
            return Ok(());
        }
        let mut result = attempted.result;
        self.judge_noise(&mut result, shared.progress.repeats(position));
        shared.note(Entry::Ended {
            run: name,
            attempt,
            result: Box::new(result.clone()),
        })?;
        if matches!(shared.progress.state(position), RunState::Failed { .. }) {
            shared.stop |= self.settings.fail_fast || !self.study.policy().keep_going;
        }
        let counts = shared.progress.counts();
        let due = shared.table_written.elapsed() >= TABLE_EVERY;
        if due {
            shared.table_written = now();
        }
        drop(shared);
        if due {
            self.write_table()?;
        }
        watcher.ended(run, &result, counts);
        Ok(())
    }

    /// Whether a disturbed run is kept, repeated or not looked at.
    fn judge_noise(&self, result: &mut RunResult, repeats: u32) {
        let policy = self.study.policy();
        match policy.noise {
            paceline_study::Noise::Off => result.noise = None,
            paceline_study::Noise::Mark => {}
            paceline_study::Noise::Repeat => {
                if let Some(noise) = &mut result.noise {
                    noise.repeated = result.done && repeats < policy.noise_repeats;
                }
            }
        }
    }

    /// Runs that are thrown away: they fill caches and wake the machine.
    fn warm_up(
        &self,
        slot: &CpuSet,
        engine: &dyn SyncEngine,
        interrupt: &Interrupt,
    ) -> Result<(), RunStudyError> {
        for number in 0..self.study.design().warmup {
            let Some(run) = self
                .plan
                .runs
                .get(number as usize % self.plan.runs.len().max(1))
            else {
                return Ok(());
            };
            let id = RunId::new(&format!("warmup{}", number + 1)).expect("letters and digits");
            // A warm-up's record replaces that of the session before.
            let attempt = self.attempt(run, &id, 1, slot);
            let cannot_remove = |source| AttemptError::WorkDir {
                path: attempt.dir.clone(),
                source,
            };
            match std::fs::remove_dir_all(&attempt.dir) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(cannot_record(&id, cannot_remove(error)));
                }
                _ => {}
            }
            attempt
                .execute(engine.as_engine(), interrupt, &mut ())
                .map_err(|error| cannot_record(&id, error))?;
            if interrupt.is_wanted() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn attempt<'a>(
        &'a self,
        run: &'a PlannedRun,
        id: &RunId,
        attempt: u32,
        slot: &CpuSet,
    ) -> Attempt<'a> {
        let levels = self.plan.levels(run);
        let wanted = self.study.share_of(levels).cpus;
        Attempt {
            study: &self.study,
            settings: &self.settings,
            id: id.clone(),
            attempt,
            replicate: run.replicate,
            seed: run.seed,
            levels,
            dir: self.dir.attempt(id, attempt),
            cpus: match wanted {
                Some(count) => first(slot, count as usize),
                // Runs side by side must not take each other's CPUs.
                None if self.settings.parallel > 1 => Some(slot.clone()),
                None => None,
            },
        }
    }

    /// The CPUs of each worker: all, or equal parts.
    fn slots(&self) -> Vec<CpuSet> {
        let cores = self.settings.cpus.cores();
        let parallel = self.settings.parallel.clamp(1, cores.len());
        let each = cores.len() / parallel;
        cores
            .chunks(each)
            .take(parallel)
            .filter_map(set_of)
            .collect()
    }

    /// Looks at every run that was begun and, as far as the journal knows, not
    /// ended.
    fn recover(&mut self) -> Result<(), OpenStudyError> {
        let mut recovered = self.recovered;
        for (position, run) in self.plan.runs.iter().enumerate() {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
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
        if run.state() != State::Finished {
            Run::seal(dir)?;
            return Ok(None);
        }
        Ok(adopt(&self.study, &self.settings, levels, &run)?)
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An engine that several workers may use at once.
pub trait SyncEngine: Engine + Sync {
    /// The engine as one worker sees it.
    fn as_engine(&self) -> &dyn Engine;
}

impl<E: Engine + Sync> SyncEngine for E {
    fn as_engine(&self) -> &dyn Engine {
        self
    }
}

impl Shared {
    /// Writes an entry down, then believes it.
    fn note(&mut self, entry: Entry) -> Result<(), WriteRecordError> {
        self.journal.append(&entry)?;
        self.progress.apply(&entry);
        Ok(())
    }
}

/// Makes the study's directory, or finds it as it was made. `plan.json` is
/// written last: without it there is no study yet, and everything is made anew.
fn furnish(
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
        return Err(OpenStudyError::NotAStudy(dir.path().to_owned()));
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

fn cannot_record(run: &RunId, error: AttemptError) -> RunStudyError {
    RunStudyError::Attempt {
        run: run.clone(),
        source: Box::new(error),
    }
}

fn first(slot: &CpuSet, count: usize) -> Option<CpuSet> {
    let cores = slot.cores();
    set_of(&cores[..count.clamp(1, cores.len())])
}

fn set_of(cores: &[u32]) -> Option<CpuSet> {
    let list: Vec<String> = cores.iter().map(u32::to_string).collect();
    CpuSet::parse(&list.join(",")).ok()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the journal says when, for people"
)]
fn wall_time() -> String {
    WallTime::from(SystemTime::now()).to_string()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the table is brought up to date now and then"
)]
fn now() -> Instant {
    Instant::now()
}
