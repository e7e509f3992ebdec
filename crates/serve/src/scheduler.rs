//! The queue at work: the one writer of its journal, and who starts, watches and
//! steers the processes that run jobs.
//!
//! A job's runner is a process of its own, which takes the lock of the job's directory
//! before it starts anything. A server that dies takes no job with it; the next one
//! finds what runs by those locks, and starts what was about to be started and was not.
//!
//! More than 600 lines: whatever changes the queue's state stands beside its one writer.

use crate::options::{self, JobOption, Options, OptionsError};
use crate::place::Place;
use crate::process;
use crate::queue::{
    Accepted, Act, Candidate, Decision, Entry, Item, Job, Kept, Known, Measure, Progress, Refused,
    Stage, State, Wish, Work, admit, ends, measures,
};
use crate::request::{Request, RequestError};
use paceline_answers::results::StudyState;
use paceline_model::EventKind;
use paceline_records::journal::{Journal, OpenJournalError};
use paceline_records::study::{Ledger, LedgerEntry, Promise, PromisedLimit, StudyDir};
use paceline_records::{Run, State as RecordState, WallTime, WriteRecordError, write_file};
use paceline_runner::study::RunState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::SystemTime;

/// What a server has to work with.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Paceline's own program, which runs jobs.
    pub program: PathBuf,
    /// The CPUs that jobs may use.
    pub cpus: Vec<u32>,
}

/// Why the queue cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenQueueError {
    /// Its directory cannot be made.
    #[error("cannot make {path}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Its journal cannot be read or written, or another server has it.
    #[error(transparent)]
    Journal(#[from] OpenJournalError),
}

/// Why a request was not decided on.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// It means nothing.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// It is not known what the job could be.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// It cannot be noted down: then it is not accepted.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
    /// There are as many jobs as the queue takes.
    #[error("{0} jobs wait or run already")]
    Full(usize),
    /// No such job, or one that is over.
    #[error("there is no job `{0}` that waits or runs")]
    NoJob(String),
}

impl SubmitError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Options(error) => error.hint(),
            Self::Request(RequestError::NoDeadline) => Some(
                "--deadline 10m says when it must have ended; --learn runs it without a promise"
                    .to_owned(),
            ),
            Self::NoJob(_) => Some("`paceline jobs` lists them".to_owned()),
            _ => None,
        }
    }
}

/// The answer to a request.
pub enum Answer {
    /// It was taken on.
    Accepted(Box<Known>),
    /// It was not.
    Refused(Refused, Box<Job>),
}

/// The queue, open for writing.
pub struct Queue {
    place: Place,
    machine: Machine,
    inner: Mutex<Inner>,
}

struct Inner {
    journal: Journal<Entry>,
    state: State,
    children: HashMap<String, Child>,
    progress: HashMap<String, Progress>,
    spawned: HashMap<String, u32>,
    news: Vec<News>,
}

/// Something that somebody outside may want to know.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct News {
    /// `ended`, `failed`, `broken` or `late`.
    pub event: &'static str,
    /// The job.
    pub job: String,
    /// In words.
    pub words: String,
}

/// So many jobs may wait or run at once.
const MOST_OPEN: usize = 1000;
/// A runner that dies without a word is started so often.
const MOST_SPAWNS: u32 = 3;

impl Queue {
    /// Opens the queue, as its only writer.
    ///
    /// # Errors
    /// If another server has it, or it cannot be read or written.
    pub fn open(place: Place, machine: Machine) -> Result<Self, OpenQueueError> {
        let directory = |source| OpenQueueError::Directory {
            path: place.path().to_owned(),
            source,
        };
        std::fs::create_dir_all(place.path()).map_err(directory)?;
        let (journal, replay) = Journal::open(&place.journal())?;
        Ok(Self {
            place,
            machine,
            inner: Mutex::new(Inner {
                journal,
                state: State::replay(&replay.entries),
                children: HashMap::new(),
                progress: HashMap::new(),
                spawned: HashMap::new(),
                news: Vec::new(),
            }),
        })
    }

    /// Where the queue is.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// How many CPUs jobs share.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.machine.cpus.len() as u32
    }

    /// Where every job stands now, and how far those are that run.
    #[must_use]
    pub fn seen(&self) -> (State, HashMap<String, Progress>) {
        let inner = self.inner.lock();
        (inner.state.clone(), inner.progress.clone())
    }

    /// What happened since somebody asked last.
    #[must_use]
    pub fn take_news(&self) -> Vec<News> {
        std::mem::take(&mut self.inner.lock().news)
    }

    /// Decides on a request, and notes down what was accepted before anybody is told.
    ///
    /// # Errors
    /// If the request means nothing, nothing is known of the job, or it cannot be
    /// noted down.
    pub fn submit(&self, request: &Request) -> Result<Answer, SubmitError> {
        request.check(self.cpus())?;
        // Fitting takes its time, and nobody has to wait for it.
        let options = self.options(request);
        let mut inner = self.inner.lock();
        let open = inner
            .state
            .jobs()
            .iter()
            .filter(|one| one.is_open())
            .count();
        if open >= MOST_OPEN {
            return Err(SubmitError::Full(open));
        }
        let now = now_ms();
        let options = match options {
            Ok(options) => options,
            Err(_) if request.learn => return self.learn(&mut inner, request, now),
            Err(error) => return Err(error.into()),
        };
        let Some(due_s) = request.deadline_s else {
            return self.learn(&mut inner, request, now);
        };
        let id = inner.state.next_id();
        let wish = Wish {
            id: id.clone(),
            due_s,
            confidence: request.confidence,
            tolerance: options.tolerance,
        };
        let present = inner.items(now);
        let candidates: Vec<Candidate> = options
            .each
            .iter()
            .map(|one| one.candidate.clone())
            .collect();
        match admit(&present, &candidates, &wish, self.cpus()) {
            Decision::Accepted(accepted) => {
                let chosen = &options.each[accepted.candidate];
                let job = accepted_job(request, &options, chosen, &accepted, &id, now);
                self.take_on(&mut inner, job)
            }
            Decision::Refused(refused) => {
                let job = first_measurement(request, &id, now, self.cpus());
                Ok(Answer::Refused(refused, Box::new(job)))
            }
        }
    }

    fn options(&self, request: &Request) -> Result<Options, OptionsError> {
        match &request.study {
            Some(dir) => options::of_study(dir, request, self.cpus()),
            None => {
                let work = command_of(request);
                let seconds: Vec<f64> = self.inner.lock().state.durations_of(&work).collect();
                options::of_command(&work, &seconds, request)
            }
        }
    }

    /// A first measurement: without a promise, behind all that have one.
    fn learn(&self, inner: &mut Inner, request: &Request, now: u64) -> Result<Answer, SubmitError> {
        let id = inner.state.next_id();
        let job = first_measurement(request, &id, now, self.cpus());
        self.take_on(inner, job)
    }

    fn take_on(&self, inner: &mut Inner, job: Job) -> Result<Answer, SubmitError> {
        let id = job.id.clone();
        inner.note(&Entry::Accepted(Box::new(job)))?;
        let known = inner.state.job(&id).expect("it was just taken on");
        Ok(Answer::Accepted(Box::new(known.clone())))
    }

    /// Ends a job, or takes it out of the queue.
    ///
    /// # Errors
    /// If there is no such job, or it cannot be noted down.
    pub fn cancel(&self, id: &str) -> Result<(), SubmitError> {
        let mut inner = self.inner.lock();
        let known = inner.state.job(id).filter(|one| one.is_open());
        let known = known.ok_or_else(|| SubmitError::NoJob(id.to_owned()))?;
        let runs = matches!(known.stage, Stage::Running { .. });
        inner.note(&Entry::Cancelled {
            job: id.to_owned(),
            time_ms: now_ms(),
        })?;
        if runs && let Some(pid) = self.runner(&inner, id) {
            process::end(pid);
        }
        Ok(())
    }

    fn runner(&self, inner: &Inner, id: &str) -> Option<u32> {
        let own = inner.children.get(id).map(Child::id);
        own.or_else(|| process::runner_of(&self.place.job(id)))
    }

    /// One round: what has ended is noted down, what is threatened is acted on, and what
    /// fits is started.
    ///
    /// # Errors
    /// If anything cannot be noted down; then nothing is done about it.
    pub fn round(&self) -> Result<(), WriteRecordError> {
        let mut inner = self.inner.lock();
        self.watch(&mut inner)?;
        self.steer(&mut inner)?;
        self.start(&mut inner)
    }

    /// Looks at every job that runs, and at every end that its study does not know of.
    fn watch(&self, inner: &mut Inner) -> Result<(), WriteRecordError> {
        inner
            .children
            .retain(|_, child| !matches!(child.try_wait(), Ok(Some(_))));
        let known: Vec<Known> = inner.state.jobs().to_vec();
        for one in &known {
            match &one.stage {
                Stage::Running { cpus, .. } => self.watch_one(inner, one, &cpus.clone())?,
                Stage::Ended { .. } if !one.settled => self.settle(inner, one)?,
                _ => {}
            }
            if one.is_open() {
                note_promise(one);
            }
        }
        Ok(())
    }

    fn watch_one(
        &self,
        inner: &mut Inner,
        one: &Known,
        cpus: &[u32],
    ) -> Result<(), WriteRecordError> {
        let id = &one.job.id;
        let seen = look(&self.place, &one.job);
        match seen {
            Seen::Ended(entry) => {
                inner.progress.remove(id);
                inner.note(&entry)?;
                inner.tell_end(id);
                if let Some(why) = inner.stale(id) {
                    inner.note(&why)?;
                }
            }
            Seen::Live(progress) => {
                inner.progress.insert(id.clone(), progress);
            }
            Seen::Nothing => {
                let has_runner = self.runner(inner, id).is_some();
                let spawned = inner.spawned.get(id).copied().unwrap_or(0);
                if has_runner {
                } else if spawned >= MOST_SPAWNS {
                    let outcome = format!("its runner ended {spawned} times without a result");
                    inner.note(&failed(id, outcome))?;
                    inner.tell_end(id);
                } else {
                    self.spawn(inner, &one.job, cpus);
                }
            }
        }
        Ok(())
    }

    /// Notes down that the study knows what came of a job.
    fn settle(&self, inner: &mut Inner, one: &Known) -> Result<(), WriteRecordError> {
        let Work::Study { dir, .. } = &one.job.work else {
            return inner.note(&Entry::Settled {
                job: one.job.id.clone(),
            });
        };
        let is_known = match &one.job.promise {
            None => true,
            Some(promise) => {
                let ledger = Ledger::read(&StudyDir::new(dir).promises()).unwrap_or_default();
                ledger.iter().any(|entry| match entry {
                    LedgerEntry::Came(outcome) => outcome.promise == promise.id,
                    LedgerEntry::Promised(_) => false,
                })
            }
        };
        let id = &one.job.id;
        let tried = inner.spawned.get(id).copied().unwrap_or(0);
        if is_known {
            return inner.note(&Entry::Settled { job: id.clone() });
        }
        if self.runner(inner, id).is_none() && tried < MOST_SPAWNS {
            // The job is over: its runner only tells the study.
            self.spawn(inner, &one.job, &[]);
        }
        Ok(())
    }

    /// Recomputes every promise and acts on those that are threatened.
    fn steer(&self, inner: &mut Inner) -> Result<(), WriteRecordError> {
        let now = now_ms();
        let progress = inner.progress.clone();
        let done = |one: &Known| progress.get(&one.job.id).copied().unwrap_or_default();
        let subjects = inner.state.subjects(now, done);
        for measure in measures(&subjects, self.cpus()) {
            self.act(inner, &measure, now)?;
        }
        Ok(())
    }

    fn act(&self, inner: &mut Inner, measure: &Measure, now: u64) -> Result<(), WriteRecordError> {
        let (job, act, words) = match measure {
            Measure::MoreCpus { job, cpus } => {
                let cpus = self.wider(inner, job, *cpus);
                let words = format!("more CPUs, because its promise was threatened: {cpus:?}");
                (job, Act::Cpus { cpus }, words)
            }
            Measure::FewerNeighbours { job, paused } => {
                let words =
                    format!("stopped for a while, because {job} was threatened and this can wait");
                inner.act(paused, now, Act::Paused, words)?;
                if let Some(pid) = self.runner(inner, paused) {
                    process::hold(pid, true);
                }
                let words =
                    format!("fewer neighbours, because its promise was threatened: {paused} waits");
                let is_running = inner
                    .state
                    .job(job)
                    .is_some_and(|one| !one.held().is_empty());
                match is_running {
                    true => {
                        let cpus = self.free(inner);
                        let own = inner.state.job(job).map(|one| one.held().to_vec());
                        let cpus = [own.unwrap_or_default(), cpus].concat();
                        (job, Act::Cpus { cpus }, words)
                    }
                    false => (job, Act::First, words),
                }
            }
            Measure::FewerEpochs { job, epochs } => {
                let place = self.place.job(job).epochs();
                write_file(&place, format!("{epochs}\n").as_bytes())?;
                let words = format!("fewer epochs, because its promise was threatened: {epochs}");
                (job, Act::Epochs { epochs: *epochs }, words)
            }
            Measure::LaterStart { job, others } => {
                let words = format!(
                    "started before {}, because its promise was threatened",
                    others.join(", ")
                );
                (job, Act::First, words)
            }
            Measure::Announced {
                job,
                chance,
                latest_s,
            } => {
                let Some(latest_ms) = later_by(*latest_s, now) else {
                    return Ok(());
                };
                // The same time is announced once.
                let said = inner
                    .state
                    .job(job)
                    .and_then(|one| one.late_ms.or(one.job.deadline_ms));
                let is_new = said.is_none_or(|said| {
                    let tolerance = (latest_ms.saturating_sub(now) / 5).max(2000);
                    latest_ms > said + tolerance
                });
                if !is_new {
                    return Ok(());
                }
                let time = WallTime(latest_ms as i64 * 1000);
                let words = format!(
                    "its promise is kept with a probability of {chance:.2} only, and nothing helps: \
                     it will have ended by {time}"
                );
                inner.news.push(News {
                    event: "late",
                    job: job.clone(),
                    words: words.clone(),
                });
                (job, Act::Late { latest_ms }, words)
            }
        };
        inner.act(job, now, act.clone(), words)?;
        if let (Act::Cpus { cpus }, Some(pid)) = (&act, self.runner(inner, job)) {
            process::move_to(pid, cpus);
        }
        Ok(())
    }

    /// A job's CPUs and as many free ones as make `count`.
    fn wider(&self, inner: &Inner, job: &str, count: u32) -> Vec<u32> {
        let own = inner.state.job(job).map(|one| one.held().to_vec());
        let all = own.unwrap_or_default().into_iter().chain(self.free(inner));
        all.take(count as usize).collect()
    }

    /// CPUs that nobody holds.
    fn free(&self, inner: &Inner) -> Vec<u32> {
        let held: Vec<u32> = inner
            .state
            .jobs()
            .iter()
            .flat_map(|one| one.held().to_vec())
            .collect();
        let all = self.machine.cpus.iter().copied();
        all.filter(|cpu| !held.contains(cpu)).collect()
    }

    /// Starts, in their order, all that fit.
    fn start(&self, inner: &mut Inner) -> Result<(), WriteRecordError> {
        let order = inner.state.in_order();
        let waiting: Vec<Known> = order
            .into_iter()
            .filter(|one| one.held().is_empty())
            .cloned()
            .collect();
        for one in waiting {
            let free = self.free(inner);
            let need = one.job.cpus.min(self.cpus()) as usize;
            if need > free.len() {
                continue;
            }
            let cpus = free[..need].to_vec();
            let id = one.job.id.clone();
            if matches!(one.stage, Stage::Running { .. }) {
                let words = "goes on".to_owned();
                inner.act(&id, now_ms(), Act::Resumed { cpus: cpus.clone() }, words)?;
                if let Some(pid) = self.runner(inner, &id) {
                    process::move_to(pid, &cpus);
                    process::hold(pid, false);
                }
                continue;
            }
            inner.note(&Entry::Starting {
                job: id,
                time_ms: now_ms(),
                cpus: cpus.clone(),
            })?;
            self.spawn(inner, &one.job, &cpus);
        }
        Ok(())
    }

    /// Starts a job's runner. One that cannot be started is tried again in the next
    /// round, and a few rounds later has failed.
    fn spawn(&self, inner: &mut Inner, job: &Job, cpus: &[u32]) {
        let place = self.place.job(&job.id);
        *inner.spawned.entry(job.id.clone()).or_default() += 1;
        let prepared = std::fs::create_dir_all(place.path()).and_then(|()| {
            let text = serde_json::to_vec_pretty(job).map_err(io::Error::other)?;
            write_file(&place.spec(), &text).map_err(io::Error::other)
        });
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let args = match &job.work {
            Work::Study { .. } => vec!["job".to_owned(), text(place.path())],
            Work::Command { argv, .. } => {
                let fixed = ["run", "--quiet", "--out"].map(str::to_owned);
                let rest = [text(&place.record()), "--".to_owned()];
                [&fixed[..], &rest[..], &argv[..]].concat()
            }
        };
        let started = prepared.and_then(|()| {
            let cwd = match &job.work {
                Work::Command { cwd, .. } => Some(cwd.as_path()),
                Work::Study { .. } => None,
            };
            process::start(&self.machine.program, &args, cwd, &place.log(), cpus)
        });
        if let Ok(child) = started {
            inner.children.insert(job.id.clone(), child);
        }
    }
}

impl Inner {
    /// On disk first, then believed.
    fn note(&mut self, entry: &Entry) -> Result<(), WriteRecordError> {
        self.journal.append(entry)?;
        self.journal.sync()?;
        self.state.apply(entry);
        Ok(())
    }

    fn act(
        &mut self,
        job: &str,
        time_ms: u64,
        measure: Act,
        words: String,
    ) -> Result<(), WriteRecordError> {
        self.note(&Entry::Acted {
            job: job.to_owned(),
            time_ms,
            measure,
            words,
        })
    }

    fn items(&self, now: u64) -> Vec<Item> {
        let order = self.state.in_order().into_iter();
        order
            .map(|one| one.item(now, self.progress.get(&one.job.id).and_then(|p| p.share)))
            .collect()
    }

    fn tell_end(&mut self, id: &str) {
        let Some(one) = self.state.job(id) else {
            return;
        };
        let (event, words) = match (&one.stage, one.kept()) {
            (
                Stage::Ended {
                    done: false,
                    outcome,
                    ..
                },
                _,
            ) => ("failed", format!("{id} failed: {outcome}")),
            (_, Kept::Broken) => ("broken", format!("{id} ended later than promised")),
            (_, kept) => ("ended", format!("{id} ended; its promise: {}", kept.word())),
        };
        let job = id.to_owned();
        self.news.push(News { event, job, words });
    }

    /// Whether what came of a job says that its study's predictors are stale: it was
    /// outside of its interval. What is asked next is learned with this run.
    fn stale(&self, id: &str) -> Option<Entry> {
        let one = self.state.job(id)?;
        let (Work::Study { dir, .. }, Some(promise)) = (&one.job.work, &one.job.promise) else {
            return None;
        };
        let Stage::Ended {
            done: true,
            values,
            time_ms,
            ..
        } = &one.stage
        else {
            return None;
        };
        let outside = promise.predictions.iter().find_map(|stated| {
            let (_, came) = values.iter().find(|(name, _)| *name == stated.response)?;
            let within = (stated.low..=stated.high).contains(came);
            (!within).then(|| {
                format!(
                    "{} of {id} came to {came:.4}, outside of {:.4} to {:.4}: the next job is \
                     judged with this run among those that are learned from",
                    stated.response, stated.low, stated.high
                )
            })
        });
        Some(Entry::Refitted {
            study: dir.clone(),
            time_ms: *time_ms,
            why: outside?,
        })
    }
}

/// What a job's directory says.
enum Seen {
    Ended(Entry),
    Live(Progress),
    Nothing,
}

fn look(place: &Place, job: &Job) -> Seen {
    let dir = place.job(&job.id);
    match &job.work {
        Work::Command { .. } => match Run::open(&dir.record()) {
            Ok(run) if run.state() == RecordState::Live => Seen::Live(Progress::default()),
            Ok(run) if run.state() == RecordState::Finished => {
                let duration = run
                    .manifest()
                    .end
                    .as_ref()
                    .map_or(0.0, |end| end.duration.as_secs());
                let (done, outcome) = match &run.manifest().end {
                    Some(end) => {
                        let done = end.outcome == paceline_model::Outcome::Exited(0);
                        (done, end.outcome.to_string())
                    }
                    None => (false, "not known".to_owned()),
                };
                Seen::Ended(Entry::Ended {
                    job: job.id.clone(),
                    time_ms: ended_ms(&run).unwrap_or_else(now_ms),
                    done,
                    outcome,
                    duration_s: duration,
                    values: Vec::new(),
                })
            }
            // A command that was cut is not begun again: nobody knows what it has done.
            Ok(_) => Seen::Ended(failed(&job.id, "its runner was killed".to_owned())),
            Err(_) => Seen::Nothing,
        },
        Work::Study { .. } => look_at_study(&dir.study(), job),
    }
}

fn look_at_study(dir: &Path, job: &Job) -> Seen {
    let Ok(state) = StudyState::read(dir) else {
        return Seen::Nothing;
    };
    if state.plan.runs.is_empty() {
        return Seen::Nothing;
    }
    let run = &state.plan.runs[0];
    match state.progress.state(0) {
        // A failed run may be tried again by whoever runs it.
        RunState::Failed { .. } if state.live => Seen::Live(Progress::default()),
        RunState::Done { attempt, result } | RunState::Failed { attempt, result } => {
            let record = Run::open(&state.dir.attempt(&run.id, *attempt)).ok();
            let values = result
                .responses
                .iter()
                .map(|(name, value)| (name.clone(), *value));
            let duration = ("duration_s".to_owned(), result.duration_s);
            Seen::Ended(Entry::Ended {
                job: job.id.clone(),
                time_ms: record.as_ref().and_then(ended_ms).unwrap_or_else(now_ms),
                done: result.done,
                outcome: result.outcome.clone(),
                duration_s: result.duration_s,
                values: values.chain([duration]).collect(),
            })
        }
        RunState::Leased { attempt } if state.live => {
            Seen::Live(progress(&state.dir.attempt(&run.id, *attempt), job))
        }
        RunState::Pending if state.live => Seen::Live(Progress::default()),
        RunState::Leased { .. } | RunState::Pending => Seen::Nothing,
    }
}

/// How far a run is, by the epochs that it has reported.
fn progress(record: &Path, job: &Job) -> Progress {
    let events = Run::open(record).ok().and_then(|run| run.events().ok());
    let steps = events.into_iter().flatten();
    let steps = steps.filter(|event| event.kind == EventKind::Metric);
    let last = steps.filter_map(|event| event.step).max();
    let epochs = last.and_then(|last| u32::try_from(last).ok());
    let share = epochs
        .zip(job.epochs)
        .map(|(done, all)| f64::from(done) / f64::from(all.max(1)));
    Progress {
        // A step that is no epoch says nothing about the share.
        share: share.filter(|share| *share <= 1.0),
        epochs,
    }
}

/// When a finished record says that its run ended.
fn ended_ms(run: &Run) -> Option<u64> {
    let manifest = run.manifest();
    let end = manifest.end.as_ref()?;
    let started = u64::try_from(manifest.start.started.0).ok()?;
    Some((started + end.duration.0) / 1000)
}

fn failed(id: &str, outcome: String) -> Entry {
    Entry::Ended {
        job: id.to_owned(),
        time_ms: now_ms(),
        done: false,
        outcome,
        duration_s: 0.0,
        values: Vec::new(),
    }
}

/// Notes a promise down in its study's ledger, unless it is there. A ledger that
/// cannot be written now is tried in every round.
fn note_promise(one: &Known) {
    let (Work::Study { dir, .. }, Some(promise)) = (&one.job.work, &one.job.promise) else {
        return;
    };
    let path = StudyDir::new(dir).promises();
    let is_it = |entry: &LedgerEntry| match entry {
        LedgerEntry::Promised(known) => known.id == promise.id,
        LedgerEntry::Came(_) => false,
    };
    if Ledger::read(&path).is_ok_and(|known| known.iter().any(is_it)) {
        return;
    }
    if let Ok((mut ledger, known)) = Ledger::open(&path)
        && !known.iter().any(is_it)
    {
        let _ = ledger.append(&LedgerEntry::Promised(promise.clone()));
    }
}

fn command_of(request: &Request) -> Work {
    Work::Command {
        argv: request.command.clone(),
        cwd: request.cwd.clone().unwrap_or_else(|| PathBuf::from("/")),
    }
}

/// The response that a deadline limits: seconds from the promise to the end.
pub const FINISH: &str = "finish_s";

fn accepted_job(
    request: &Request,
    options: &Options,
    chosen: &JobOption,
    accepted: &Accepted,
    id: &str,
    now: u64,
) -> Job {
    let due_s = request.deadline_s.unwrap_or(0.0);
    let settings = match &chosen.work {
        Work::Study { settings, .. } => settings.clone(),
        Work::Command { .. } => Vec::new(),
    };
    let objective = options.objective.clone();
    let promise = matches!(chosen.work, Work::Study { .. }).then(|| {
        Box::new(Promise {
            id: format!("{id}-{now:x}"),
            time: WallTime(now as i64 * 1000).to_string(),
            question: format!(
                "queue {id}: {} within {due_s} s, confidence {}",
                objective.as_deref().unwrap_or("anything"),
                request.confidence
            ),
            configuration: settings.into_iter().collect(),
            objective: objective.clone().unwrap_or_default(),
            confidence: request.confidence,
            learned_from: options.runs,
            counted: options.counted,
            limits: vec![PromisedLimit {
                response: FINISH.to_owned(),
                at_most: true,
                value: due_s,
                probability: accepted.probability,
            }],
            predictions: chosen.predictions.clone(),
        })
    });
    Job {
        id: id.to_owned(),
        work: chosen.work.clone(),
        accepted_ms: now,
        deadline_ms: Some(now + (due_s * 1000.0) as u64),
        confidence: request.confidence,
        probability: Some(accepted.probability),
        alone_s: chosen.candidate.alone.clone(),
        cpus: chosen.candidate.cpus,
        faster: chosen.faster.clone(),
        objective,
        epochs: chosen.epochs,
        epochs_free: request.epochs_free,
        promise,
        because: format!(
            "the best of {} that keeps the deadline and every earlier promise, by {} runs; it is \
             expected to end {:.1} s after it was taken on, and by {:.1} s with a probability of {}",
            options.each.len(),
            options.runs,
            accepted.expected_s,
            accepted.latest_s,
            request.confidence
        ),
    }
}

/// A job of which nothing is known: it gets the whole machine, if nothing else is said.
fn first_measurement(request: &Request, id: &str, now: u64, cpus: u32) -> Job {
    let given = request.given.clone();
    Job {
        id: id.to_owned(),
        work: match &request.study {
            Some(dir) => Work::Study {
                dir: dir.clone(),
                settings: given,
            },
            None => command_of(request),
        },
        accepted_ms: now,
        deadline_ms: None,
        confidence: request.confidence,
        probability: None,
        alone_s: Default::default(),
        cpus: request.cpus.unwrap_or(match request.study {
            Some(_) => cpus,
            None => 1,
        }),
        faster: Vec::new(),
        objective: None,
        epochs: None,
        epochs_free: false,
        promise: None,
        because: "a first measurement: nothing is promised".to_owned(),
    }
}

fn later_by(seconds: f64, now: u64) -> Option<u64> {
    let millis = seconds * 1000.0;
    (millis.is_finite() && millis >= 0.0).then(|| now + millis as u64)
}

/// When every job that waits or runs ends, at its own confidence: name, chance, half,
/// and latest, in seconds from now.
#[must_use]
pub fn outlook(
    state: &State,
    progress: &HashMap<String, Progress>,
    now: u64,
    cpus: u32,
) -> Vec<(String, f64, f64, f64)> {
    let items: Vec<Item> = state
        .in_order()
        .into_iter()
        .map(|one| one.item(now, progress.get(&one.job.id).and_then(|p| p.share)))
        .collect();
    let found = ends(&items, cpus);
    let pairs = items.into_iter().zip(found);
    pairs
        .map(|(item, end)| {
            let latest = end.quantile(item.confidence);
            (item.id, end.chance, end.quantile(0.5), latest)
        })
        .collect()
}

/// Milliseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "deadlines are times on the wall, and this is a shell"
)]
#[must_use]
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}
