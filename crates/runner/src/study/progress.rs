//! The state of a study: what its journal says of each run.

use paceline_model::RunId;
use paceline_records::study::{Entry, Plan, PlannedRun, RunResult};
use std::collections::HashMap;

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub enum RunState {
    /// It is to be run.
    Pending,
    /// An attempt has begun and not ended, as far as the journal knows.
    Leased {
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// It is done.
    Done {
        /// Which attempt did it.
        attempt: u32,
        /// What came of it.
        result: Box<RunResult>,
    },
    /// It failed as often as it may.
    Failed {
        /// The last attempt.
        attempt: u32,
        /// What came of it.
        result: Box<RunResult>,
    },
}

/// Where every run of a study stands, in the plan's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    runs: Vec<Record>,
    positions: HashMap<String, usize>,
    retries: u32,
}

#[derive(Debug, Clone, PartialEq)]
struct Record {
    state: RunState,
    /// The attempts so far, whatever came of them.
    attempts: u32,
    /// Those that failed since the user last asked for a retry.
    failures: u32,
    /// Those that were repeated because they were disturbed.
    repeats: u32,
}

impl Progress {
    /// A study that has not begun. A failed run is tried `retries` times more.
    #[must_use]
    pub fn new(plan: &Plan, retries: u32) -> Self {
        let mut progress = Self {
            runs: Vec::with_capacity(plan.runs.len()),
            positions: HashMap::with_capacity(plan.runs.len()),
            retries,
        };
        plan.runs.iter().for_each(|run| progress.add(run));
        progress
    }

    /// Takes one more planned run, which has not begun.
    pub(super) fn add(&mut self, run: &PlannedRun) {
        self.positions
            .insert(run.id.as_str().to_owned(), self.runs.len());
        self.runs.push(Record {
            state: RunState::Pending,
            attempts: 0,
            failures: 0,
            repeats: 0,
        });
    }

    /// As [`Progress::new`], with everything that the journal says.
    #[must_use]
    pub fn replay(plan: &Plan, retries: u32, entries: &[Entry]) -> Self {
        let mut progress = Self::new(plan, retries);
        entries.iter().for_each(|entry| progress.apply(entry));
        progress
    }

    /// Takes one more entry. An entry of a run that is not planned (a warm-up)
    /// changes nothing.
    pub fn apply(&mut self, entry: &Entry) {
        let (Entry::Leased { run, .. }
        | Entry::Ended { run, .. }
        | Entry::Abandoned { run, .. }
        | Entry::Retried { run }) = entry;
        let Some(&position) = self.positions.get(run) else {
            return;
        };
        let record = &mut self.runs[position];
        match entry {
            Entry::Leased { attempt, .. } => {
                record.attempts = record.attempts.max(*attempt);
                record.state = RunState::Leased { attempt: *attempt };
            }
            Entry::Abandoned { .. } => record.state = RunState::Pending,
            Entry::Retried { .. } => {
                record.failures = 0;
                record.state = RunState::Pending;
            }
            Entry::Ended {
                attempt, result, ..
            } => {
                let (attempt, result) = (*attempt, result.clone());
                record.attempts = record.attempts.max(attempt);
                let repeated = result.noise.as_ref().is_some_and(|noise| noise.repeated);
                record.state = if result.done && repeated {
                    record.repeats += 1;
                    RunState::Pending
                } else if result.done {
                    RunState::Done { attempt, result }
                } else {
                    record.failures += 1;
                    match record.failures > self.retries {
                        true => RunState::Failed { attempt, result },
                        false => RunState::Pending,
                    }
                };
            }
        }
    }

    /// Where the run at a position of the plan stands.
    #[must_use]
    pub fn state(&self, position: usize) -> &RunState {
        &self.runs[position].state
    }

    /// The position of a run in the plan.
    #[must_use]
    pub fn position(&self, run: &RunId) -> Option<usize> {
        self.positions.get(run.as_str()).copied()
    }

    /// The attempt that would be next.
    #[must_use]
    pub fn next_attempt(&self, position: usize) -> u32 {
        self.runs[position].attempts + 1
    }

    /// How often the run was repeated because it was disturbed.
    #[must_use]
    pub fn repeats(&self, position: usize) -> u32 {
        self.runs[position].repeats
    }

    /// The first run that is to be run, of all or of those at these positions.
    #[must_use]
    pub fn next_pending(&self, among: Option<&[usize]>) -> Option<usize> {
        let is_pending = |&at: &usize| self.runs[at].state == RunState::Pending;
        match among {
            Some(among) => among.iter().copied().find(is_pending),
            None => (0..self.runs.len()).find(is_pending),
        }
    }

    /// How many runs are done, failed, begun and to be run.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for record in &self.runs {
            match record.state {
                RunState::Pending => counts.pending += 1,
                RunState::Leased { .. } => counts.leased += 1,
                RunState::Done { .. } => counts.done += 1,
                RunState::Failed { .. } => counts.failed += 1,
            }
        }
        counts
    }
}

/// How many runs stand where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// To be run.
    pub pending: usize,
    /// Begun.
    pub leased: usize,
    /// Done.
    pub done: usize,
    /// Failed.
    pub failed: usize,
}

impl Counts {
    /// All runs.
    #[must_use]
    pub fn total(&self) -> usize {
        self.pending + self.leased + self.done + self.failed
    }
}
