//! A study's directory, open for writing, and the loop that executes it.

use super::attempt::{Attempt, AttemptError, CHECKPOINT_DIR};
use super::opening::Recovered;
use super::progress::{Counts, Progress, RunState};
use super::table::table;
use crate::host::Host;
use crate::interrupt::Interrupt;
use crate::supervise::Observer;
use paceline_engine::Engine;
use paceline_model::{Level, RunId};
use paceline_probe::Interval;
use paceline_probe::cgroup::CpuSet;
use paceline_records::journal::{Journal, OpenJournalError};
use paceline_records::study::{Entry, Plan, PlannedRun, RunResult, StudyDir};
use paceline_records::{WallTime, WriteRecordError};
use paceline_study::{CheckpointUse, Study};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// How and where runs are executed; nothing that changes what they are.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory of the study file, which relative paths start from.
    pub base: PathBuf,
    /// Where commands are started.
    pub host: Host,
    /// The time between two samples.
    pub interval: Interval,
    /// How many runs at the same time.
    pub parallel: usize,
    /// The CPUs that runs may use.
    pub cpus: CpuSet,
    /// Stop at the first failure, whatever the study says.
    pub fail_fast: bool,
    /// Paceline's own program, for the built-in trainer.
    pub program: PathBuf,
    /// Whether the built-in trainer leaves a checkpoint that another run may go on
    /// from.
    pub keep_checkpoints: bool,
}

/// Why a study stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum RunStudyError {
    /// The journal or the table cannot be written.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
    /// The ledger of promises cannot be written.
    #[error(transparent)]
    Ledger(#[from] OpenJournalError),
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
    pub(super) study: Study,
    pub(super) plan: Plan,
    pub(super) settings: Settings,
    pub(super) shared: Mutex<Shared>,
    /// The runs that may be executed, by position; all without.
    pub(super) only: Option<Vec<usize>>,
    /// What was found of a session that died.
    pub recovered: Recovered,
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
    /// Where every run stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.lock().progress.clone()
    }

    /// The study's directory.
    #[must_use]
    pub fn dir(&self) -> &StudyDir {
        &self.dir
    }

    /// What is executed.
    #[must_use]
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// How and where runs are executed.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
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

    /// Lets [`Session::run`] execute these runs and no other that is to be done.
    pub fn run_only(&mut self, runs: &[RunId]) {
        let shared = self.lock();
        let positions = runs.iter().filter_map(|run| shared.progress.position(run));
        let only: Vec<usize> = positions.collect();
        drop(shared);
        self.only = Some(only);
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
        self.keep_ledger()?;
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
                let Some(position) = shared.progress.next_pending(self.only.as_deref()) else {
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
            checkpoint: match (self.settings.keep_checkpoints, &run.continues) {
                (false, _) => CheckpointUse::None,
                (true, None) => CheckpointUse::Keep,
                (true, Some(_)) => CheckpointUse::Resume,
            },
            from: run
                .continues
                .as_ref()
                .and_then(|from| self.checkpoint_of(from)),
            constants: &run.constants,
        }
    }

    /// Where a run that is done has left its checkpoint.
    fn checkpoint_of(&self, run: &RunId) -> Option<PathBuf> {
        let shared = self.lock();
        let position = shared.progress.position(run)?;
        match shared.progress.state(position) {
            RunState::Done { attempt, .. } => {
                Some(self.dir.attempt(run, *attempt).join(CHECKPOINT_DIR))
            }
            _ => None,
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

    pub(super) fn lock(&self) -> parking_lot::MutexGuard<'_, Shared> {
        self.shared.lock()
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
    pub(super) fn new(journal: Journal<Entry>, progress: Progress) -> Self {
        Self {
            journal,
            progress,
            stop: false,
            warm: false,
            table_written: now(),
        }
    }

    /// Writes an entry down, then believes it.
    pub(super) fn note(&mut self, entry: Entry) -> Result<(), WriteRecordError> {
        self.journal.append(&entry)?;
        self.progress.apply(&entry);
        Ok(())
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
