//! Where every job stands: a replay of the journal.

use super::entry::{Act, Entry, Job, Work};
use super::measures::Subject;
use super::outlook::Item;
use std::collections::HashMap;
use std::path::PathBuf;

/// Where a job stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// It has not been started.
    Waiting,
    /// It runs, or is about to.
    Running {
        /// Since when.
        since_ms: u64,
        /// Its CPUs.
        cpus: Vec<u32>,
        /// Since when it is stopped, if it is.
        paused_ms: Option<u64>,
        /// How long it was stopped before.
        stopped_ms: u64,
    },
    /// It has ended.
    Ended {
        /// When.
        time_ms: u64,
        /// Whether it did what it was asked to.
        done: bool,
        /// How, in words.
        outcome: String,
        /// How long it ran.
        duration_s: f64,
        /// What it reported of what was predicted.
        values: Vec<(String, f64)>,
    },
    /// It was not wanted any more.
    Cancelled {
        /// When.
        time_ms: u64,
    },
}

/// A job with everything that happened to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// As it was taken on.
    pub job: Job,
    /// Where it stands.
    pub stage: Stage,
    /// It is to be started before others.
    pub first: bool,
    /// It ends after so many epochs.
    pub epochs: Option<u32>,
    /// The last time that was announced for it.
    pub late_ms: Option<u64>,
    /// What was done for it: when, and in words.
    pub acts: Vec<(u64, String)>,
    /// Whether its study knows what came of it.
    pub settled: bool,
}

/// What became of a job's promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nothing was promised.
    Nothing,
    /// It has not ended.
    Open,
    /// It ended in time.
    Kept,
    /// It did not.
    Broken,
}

impl Kept {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing promised",
            Self::Open => "open",
            Self::Kept => "kept",
            Self::Broken => "broken",
        }
    }
}

impl Known {
    /// The word for where it stands.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match &self.stage {
            Stage::Waiting => "waiting",
            Stage::Running {
                paused_ms: Some(_), ..
            } => "stopped for a while",
            Stage::Running { .. } => "running",
            Stage::Ended { done: true, .. } => "done",
            Stage::Ended { .. } => "failed",
            Stage::Cancelled { .. } => "cancelled",
        }
    }

    /// Whether it waits or runs.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Waiting | Stage::Running { .. })
    }

    /// Whether it holds CPUs.
    #[must_use]
    pub fn held(&self) -> &[u32] {
        match &self.stage {
            Stage::Running {
                cpus,
                paused_ms: None,
                ..
            } => cpus,
            _ => &[],
        }
    }

    /// What became of its promise. A cancelled job has none.
    #[must_use]
    pub fn kept(&self) -> Kept {
        match (self.job.deadline_ms, &self.stage) {
            (None, _) | (_, Stage::Cancelled { .. }) => Kept::Nothing,
            (Some(_), Stage::Waiting | Stage::Running { .. }) => Kept::Open,
            (Some(due), Stage::Ended { time_ms, done, .. }) => match *done && *time_ms <= due {
                true => Kept::Kept,
                false => Kept::Broken,
            },
        }
    }

    /// How long it has had its CPUs, in seconds.
    #[must_use]
    pub fn worked_s(&self, now_ms: u64) -> f64 {
        match self.stage {
            Stage::Running {
                since_ms,
                paused_ms,
                stopped_ms,
                ..
            } => {
                let until = paused_ms.unwrap_or(now_ms);
                let worked = until.saturating_sub(since_ms).saturating_sub(stopped_ms);
                worked as f64 / 1000.0
            }
            _ => 0.0,
        }
    }

    /// The job as the outlook sees it; `done` is the share that it has told to be done.
    #[must_use]
    pub fn item(&self, now_ms: u64, done: Option<f64>) -> Item {
        let due = self
            .job
            .deadline_ms
            .map(|due| (due as f64 - now_ms as f64) / 1000.0);
        let runs = matches!(self.stage, Stage::Running { .. });
        let held = self.held().len() as u32;
        Item {
            id: self.job.id.clone(),
            left: match runs {
                true => self.job.alone_s.left(self.worked_s(now_ms), done),
                false => self.job.alone_s.clone(),
            },
            cpus: if held > 0 { held } else { self.job.cpus },
            active: held > 0,
            due_s: due,
            confidence: self.job.confidence,
        }
    }
}

/// Every job, in the order in which they were taken on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    jobs: Vec<Known>,
    positions: HashMap<String, usize>,
    /// What was learned anew: the study, when and why.
    pub refits: Vec<(PathBuf, u64, String)>,
}

impl State {
    /// What a journal says.
    #[must_use]
    pub fn replay(entries: &[Entry]) -> Self {
        let mut state = Self::default();
        entries.iter().for_each(|entry| state.apply(entry));
        state
    }

    /// Takes one more entry. One of a job that is not known, or that contradicts what is
    /// (a second end, a start of what has ended), changes nothing.
    pub fn apply(&mut self, entry: &Entry) {
        let (id, time) = match entry {
            Entry::Accepted(job) => return self.accept(job),
            Entry::Refitted {
                study,
                time_ms,
                why,
            } => {
                self.refits.push((study.clone(), *time_ms, why.clone()));
                return;
            }
            Entry::Starting { job, time_ms, .. }
            | Entry::Acted { job, time_ms, .. }
            | Entry::Ended { job, time_ms, .. }
            | Entry::Cancelled { job, time_ms } => (job, *time_ms),
            Entry::Settled { job } => (job, 0),
        };
        let Some(&at) = self.positions.get(id) else {
            return;
        };
        let known = &mut self.jobs[at];
        match entry {
            Entry::Settled { .. } => known.settled = true,
            _ if !known.is_open() => {}
            Entry::Starting { cpus, .. } if known.stage == Stage::Waiting => {
                known.stage = Stage::Running {
                    since_ms: time,
                    cpus: cpus.clone(),
                    paused_ms: None,
                    stopped_ms: 0,
                };
            }
            Entry::Acted { measure, words, .. } => {
                known.acts.push((time, words.clone()));
                known.act(measure, time);
            }
            Entry::Ended {
                done,
                outcome,
                duration_s,
                values,
                ..
            } => {
                known.stage = Stage::Ended {
                    time_ms: time,
                    done: *done,
                    outcome: outcome.clone(),
                    duration_s: *duration_s,
                    values: values.clone(),
                };
            }
            Entry::Cancelled { .. } => known.stage = Stage::Cancelled { time_ms: time },
            Entry::Starting { .. } | Entry::Accepted(_) | Entry::Refitted { .. } => {}
        }
    }

    fn accept(&mut self, job: &Job) {
        if self.positions.contains_key(&job.id) {
            return;
        }
        self.positions.insert(job.id.clone(), self.jobs.len());
        self.jobs.push(Known {
            job: job.clone(),
            stage: Stage::Waiting,
            first: false,
            epochs: None,
            late_ms: None,
            acts: Vec::new(),
            settled: false,
        });
    }

    /// All jobs.
    #[must_use]
    pub fn jobs(&self) -> &[Known] {
        &self.jobs
    }

    /// A job by its name.
    #[must_use]
    pub fn job(&self, id: &str) -> Option<&Known> {
        self.positions.get(id).map(|&at| &self.jobs[at])
    }

    /// The name of the next job.
    #[must_use]
    pub fn next_id(&self) -> String {
        format!("j{:04}", self.jobs.len() + 1)
    }

    /// The jobs that are not over, in the order in which the machine takes them: who
    /// runs, then who waits or was stopped, by what was said and by deadline.
    #[must_use]
    pub fn in_order(&self) -> Vec<&Known> {
        let mut open: Vec<&Known> = self.jobs.iter().filter(|one| one.is_open()).collect();
        open.sort_by_key(|one| {
            let due = one.job.deadline_ms.unwrap_or(u64::MAX);
            (one.held().is_empty(), !one.first, due)
        });
        open
    }

    /// The same with what may be done for each. `done` tells the share of a job that is
    /// done, and how many epochs that is.
    #[must_use]
    pub fn subjects(&self, now_ms: u64, done: impl Fn(&Known) -> Progress) -> Vec<Subject> {
        let open = self.in_order().into_iter();
        open.map(|one| {
            let progress = done(one);
            let free = one.job.epochs_free && one.epochs.is_none();
            let all = one.job.epochs.filter(|_| free);
            Subject {
                item: one.item(now_ms, progress.share),
                faster: one.job.faster.clone(),
                paused: matches!(
                    one.stage,
                    Stage::Running {
                        paused_ms: Some(_),
                        ..
                    }
                ),
                epochs: all.map(|all| (progress.epochs.unwrap_or(0), all)),
            }
        })
        .collect()
    }

    /// Times and what came of jobs that ran the same, for a belief about the next.
    pub fn durations_of<'a>(&'a self, work: &'a Work) -> impl Iterator<Item = f64> + 'a {
        let same = self.jobs.iter().filter(move |one| one.job.work == *work);
        same.filter_map(|one| match one.stage {
            Stage::Ended {
                done: true,
                duration_s,
                ..
            } => Some(duration_s),
            _ => None,
        })
    }
}

/// How far a job is, by its own record.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// The share of it that is done.
    pub share: Option<f64>,
    /// Epochs that are done.
    pub epochs: Option<u32>,
}

impl Known {
    fn act(&mut self, measure: &Act, time: u64) {
        match (measure, &mut self.stage) {
            (Act::Cpus { cpus: new }, Stage::Running { cpus, .. }) => *cpus = new.clone(),
            (Act::Paused, Stage::Running { paused_ms, .. }) => {
                paused_ms.get_or_insert(time);
            }
            (
                Act::Resumed { cpus: new },
                Stage::Running {
                    cpus,
                    paused_ms,
                    stopped_ms,
                    ..
                },
            ) => {
                *cpus = new.clone();
                if let Some(since) = paused_ms.take() {
                    *stopped_ms += time.saturating_sub(since);
                }
            }
            (Act::Epochs { epochs }, _) => self.epochs = Some(*epochs),
            (Act::First, _) => self.first = true,
            (Act::Late { latest_ms }, _) => self.late_ms = Some(*latest_ms),
            (Act::Cpus { .. } | Act::Paused | Act::Resumed { .. }, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Belief;
    use proptest::prelude::*;

    pub(crate) fn job(id: &str, deadline_ms: Option<u64>) -> Job {
        Job {
            id: id.to_owned(),
            work: Work::Command {
                argv: vec!["true".to_owned()],
                cwd: "/".into(),
            },
            accepted_ms: 0,
            deadline_ms,
            confidence: 0.95,
            probability: deadline_ms.map(|_| 0.97),
            alone_s: Belief::new([10.0]),
            cpus: 1,
            faster: Vec::new(),
            objective: None,
            epochs: None,
            epochs_free: false,
            promise: None,
            because: String::new(),
        }
    }

    fn starting(job: &str, time_ms: u64) -> Entry {
        Entry::Starting {
            job: job.to_owned(),
            time_ms,
            cpus: vec![1],
        }
    }

    fn ended(job: &str, time_ms: u64, done: bool) -> Entry {
        Entry::Ended {
            job: job.to_owned(),
            time_ms,
            done,
            outcome: String::new(),
            duration_s: 1.0,
            values: Vec::new(),
        }
    }

    fn acted(job: &str, time_ms: u64, measure: Act) -> Entry {
        Entry::Acted {
            job: job.to_owned(),
            time_ms,
            measure,
            words: String::new(),
        }
    }

    #[test]
    fn a_promise_is_kept_by_what_was_done_in_time() {
        let check = |entry: Entry, expected: Kept| {
            let entries = [
                Entry::Accepted(Box::new(job("j1", Some(100)))),
                starting("j1", 1),
                entry,
            ];
            assert_eq!(State::replay(&entries).jobs()[0].kept(), expected);
        };
        check(ended("j1", 100, true), Kept::Kept);
        check(ended("j1", 101, true), Kept::Broken);
        check(ended("j1", 50, false), Kept::Broken);
        check(
            Entry::Settled {
                job: "j1".to_owned(),
            },
            Kept::Open,
        );
        let cancelled = Entry::Cancelled {
            job: "j1".to_owned(),
            time_ms: 7,
        };
        check(cancelled, Kept::Nothing);
    }

    #[test]
    fn time_that_a_job_was_stopped_for_is_not_its_own() {
        let mut state = State::replay(&[
            Entry::Accepted(Box::new(job("j1", None))),
            starting("j1", 1000),
            acted("j1", 3000, Act::Paused),
        ]);
        assert_eq!(state.jobs()[0].worked_s(9000), 2.0);
        assert!(state.jobs()[0].held().is_empty());
        state.apply(&acted("j1", 9000, Act::Resumed { cpus: vec![0] }));
        assert_eq!(state.jobs()[0].worked_s(10_000), 3.0);
        assert_eq!(state.jobs()[0].held(), [0]);
    }

    #[test]
    fn who_runs_comes_first_then_who_was_put_first_then_by_deadline() {
        let accept = |id: &str, due| Entry::Accepted(Box::new(job(id, due)));
        let state = State::replay(&[
            accept("a", Some(500)),
            accept("b", None),
            accept("c", Some(300)),
            accept("d", Some(400)),
            accept("e", Some(900)),
            starting("b", 1),
            acted("e", 2, Act::First),
        ]);
        let order: Vec<&str> = state
            .in_order()
            .iter()
            .map(|one| one.job.id.as_str())
            .collect();
        assert_eq!(order, ["b", "e", "c", "d", "a"]);
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        let id = prop_oneof![Just("j1"), Just("j2"), Just("nobody")];
        (id, 0_u64..1000, 0..7).prop_map(|(id, time, kind)| match kind {
            0 => Entry::Accepted(Box::new(job(id, Some(time)))),
            1 => starting(id, time),
            2 => ended(id, time, time % 2 == 0),
            3 => Entry::Cancelled {
                job: id.to_owned(),
                time_ms: time,
            },
            4 => acted(id, time, Act::Paused),
            5 => acted(id, time, Act::Resumed { cpus: vec![0] }),
            _ => Entry::Settled { job: id.to_owned() },
        })
    }

    proptest! {
        /// Whatever a journal says: what is over stays over, as it was, and no entry is
        /// needed twice.
        #[test]
        fn a_job_that_is_over_never_runs_again(entries in proptest::collection::vec(any_entry(), 0..40)) {
            let mut state = State::default();
            for entry in &entries {
                let before = state.clone();
                state.apply(entry);
                for old in before.jobs().iter().filter(|old| !old.is_open()) {
                    let new = state.job(&old.job.id).unwrap();
                    prop_assert_eq!(&new.stage, &old.stage);
                }
                let once = state.clone();
                if !matches!(entry, Entry::Acted { .. }) {
                    state.apply(entry);
                    prop_assert_eq!(&once, &state);
                }
            }
            prop_assert_eq!(State::replay(&entries).jobs().len(), state.jobs().len());
        }
    }
}
