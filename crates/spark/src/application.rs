//! An application as its log tells it: jobs, stages, executors and their sums.

use crate::event::{Line, StageInfo, TaskEnd};
use crate::log::LogNotice;
use std::collections::HashMap;

/// How many tasks are kept one by one, for medians and the simulation: 40 MB.
const MOST_TASKS: usize = 2_000_000;
/// How many stages, jobs and executors are kept.
const MOST_PARTS: usize = 200_000;
/// The longest name that is kept, in characters.
const LONGEST_NAME: usize = 200;

/// What one application did. All times are in milliseconds; moments count from
/// 1970.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Application {
    /// Spark's own id, if the log has one.
    pub id: Option<String>,
    /// The name the application gave itself.
    pub name: String,
    /// When it started.
    pub started: i64,
    /// When it ended, or the last moment the log speaks of.
    pub ended: i64,
    /// Its jobs by their submission.
    pub jobs: Vec<Job>,
    /// Its stages by their submission; every attempt is one.
    pub stages: Vec<Stage>,
    /// Its executors in the order they came.
    pub executors: Vec<Executor>,
    /// All tasks together.
    pub totals: Totals,
    /// How many cores one task takes, `spark.task.cpus`.
    pub task_cpus: u32,
    /// What a reader should know of the log.
    pub notices: Vec<LogNotice>,
}

/// One job: what an action of the driver started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Spark's number.
    pub id: u32,
    /// When the driver submitted it.
    pub submitted: i64,
    /// When it ended, if it did.
    pub ended: Option<i64>,
    /// True if it ended without success.
    pub failed: bool,
    /// The numbers of the stages it may need.
    pub(crate) stages: Vec<u32>,
}

/// One attempt at one stage.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stage {
    /// Spark's number.
    pub id: u32,
    /// The attempt, from 0.
    pub attempt: u32,
    /// What it was called, mostly the line of the program.
    pub name: String,
    /// How many tasks it was planned with.
    pub planned_tasks: u32,
    /// When it was submitted.
    pub submitted: Option<i64>,
    /// When it was done, if it was.
    pub completed: Option<i64>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// All its tasks together.
    pub totals: Totals,
    pub(crate) parents: Vec<u32>,
    /// True if all tasks must run at the same time.
    pub(crate) barrier: bool,
    pub(crate) first_launch: Option<i64>,
    pub(crate) last_finish: Option<i64>,
    pub(crate) tasks: Vec<Task>,
}

/// One executor: a process that runs tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Executor {
    /// Spark's id; `driver` where tasks run inside the driver.
    pub id: String,
    /// Its machine.
    pub host: String,
    /// Its cores.
    pub cores: u32,
    /// When it registered.
    pub added: Option<i64>,
    /// When it was lost or given back.
    pub removed: Option<i64>,
    /// Why it was removed, in Spark's words.
    pub reason: Option<String>,
    /// All tasks it ran.
    pub totals: Totals,
}

/// Sums over tasks, failed ones included.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// Task attempts that ended.
    pub tasks: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Those of them that were killed, as a slower twin is.
    pub killed: u64,
    /// From launch to finish: how long slots were taken.
    pub duration_ms: u64,
    /// Running the task's code.
    pub run_ms: u64,
    /// CPU time of that, in nanoseconds.
    pub cpu_ns: u64,
    /// Pauses of the garbage collector while tasks ran.
    pub gc_ms: u64,
    /// Unpacking tasks.
    pub deserialize_ms: u64,
    /// Between the driver's launch and the executor's start, and back.
    pub scheduler_delay_ms: u64,
    /// Waiting for other executors' shuffle data.
    pub fetch_wait_ms: u64,
    /// Shuffle data from other machines.
    pub shuffle_remote_bytes: u64,
    /// Shuffle data from the same machine.
    pub shuffle_local_bytes: u64,
    /// Shuffle data written.
    pub shuffle_write_bytes: u64,
    /// Writing them, in nanoseconds.
    pub shuffle_write_ns: u64,
    /// Memory that was given up by spilling.
    pub spilled_memory_bytes: u64,
    /// What spilling wrote to disks.
    pub spilled_disk_bytes: u64,
    /// Read from files.
    pub input_bytes: u64,
    /// Written to files.
    pub output_bytes: u64,
    /// The highest memory of one task's own structures.
    pub peak_memory_bytes: u64,
}

/// One task attempt, as the simulation needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Task {
    /// Spark numbers tasks as it launches them.
    pub(crate) id: u64,
    pub(crate) duration_ms: u32,
    pub(crate) gc_ms: u32,
    pub(crate) fetch_wait_ms: u32,
    /// Scheduler delay and unpacking.
    pub(crate) overhead_ms: u32,
}

impl Application {
    /// From start to end.
    #[must_use]
    pub fn wall_ms(&self) -> u64 {
        span(self.started, self.ended)
    }

    /// How long no stage was running: the driver's own time.
    #[must_use]
    pub fn driver_ms(&self) -> u64 {
        let mut active: Vec<(i64, i64)> = self
            .stages
            .iter()
            .filter_map(|stage| {
                let end = stage.completed.unwrap_or(self.ended);
                Some((stage.submitted?.max(self.started), end.min(self.ended)))
            })
            .filter(|(from, to)| from < to)
            .collect();
        active.sort_unstable();
        let mut covered = 0;
        let mut reached = self.started;
        for (from, to) in active {
            covered += span(from.max(reached), to);
            reached = reached.max(to);
        }
        self.wall_ms().saturating_sub(covered)
    }

    /// The most slots for tasks that there were at one time.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.peak(|executor| executor.cores / self.task_cpus)
    }

    /// The most executors that there were at one time.
    #[must_use]
    pub fn peak_executors(&self) -> u32 {
        self.peak(|_| 1)
    }

    /// Slots times time: what tasks could have used.
    #[must_use]
    pub fn slot_ms(&self) -> u64 {
        self.executors
            .iter()
            .map(|executor| self.slot_ms_of(executor))
            .sum()
    }

    /// Slots times time of one executor.
    #[must_use]
    pub fn slot_ms_of(&self, executor: &Executor) -> u64 {
        let from = executor.added.unwrap_or(self.started).max(self.started);
        let to = executor.removed.unwrap_or(self.ended).min(self.ended);
        u64::from(executor.cores / self.task_cpus) * span(from, to)
    }

    /// The share of slot time in which no task ran.
    #[must_use]
    pub fn idle_share(&self) -> f64 {
        match self.slot_ms() {
            0 => 0.0,
            slot_ms => (1.0 - self.totals.duration_ms as f64 / slot_ms as f64).max(0.0),
        }
    }

    /// The stage whose longest task took the most beyond its median, and by how
    /// much it did, as a ratio.
    #[must_use]
    pub fn most_skewed(&self) -> Option<(&Stage, f64)> {
        self.stages
            .iter()
            .filter_map(|stage| Some((stage, stage.skew()?, stage.excess_ms()?)))
            .max_by(|a, b| a.2.total_cmp(&b.2))
            .map(|(stage, skew, _)| (stage, skew))
    }

    fn peak(&self, weight: impl Fn(&Executor) -> u32) -> u32 {
        let mut changes: Vec<(i64, i64)> = Vec::new();
        for executor in &self.executors {
            let weight = i64::from(weight(executor));
            changes.push((executor.added.unwrap_or(self.started), weight));
            changes.extend(executor.removed.map(|at| (at, -weight)));
        }
        // What goes makes room before what comes at the same moment.
        changes.sort_unstable();
        let (mut now, mut most) = (0_i64, 0);
        for (_, change) in changes {
            now += change;
            most = most.max(now);
        }
        u32::try_from(most).unwrap_or(u32::MAX)
    }
}

impl Stage {
    /// From submission to completion, if both are known.
    #[must_use]
    pub fn wall_ms(&self) -> Option<u64> {
        Some(span(self.submitted?, self.completed?))
    }

    /// The longest task.
    #[must_use]
    pub fn longest_ms(&self) -> Option<u32> {
        self.tasks.iter().map(|task| task.duration_ms).max()
    }

    /// The middle of its tasks' durations.
    #[must_use]
    pub fn median_ms(&self) -> Option<f64> {
        let mut durations: Vec<u32> = self.tasks.iter().map(|task| task.duration_ms).collect();
        let n = durations.len();
        if n == 0 {
            return None;
        }
        durations.sort_unstable();
        let upper = f64::from(durations[n / 2]);
        Some(match n % 2 {
            0 => f64::midpoint(f64::from(durations[n / 2 - 1]), upper),
            _ => upper,
        })
    }

    /// Longest over median task; of at least two tasks.
    #[must_use]
    pub fn skew(&self) -> Option<f64> {
        let median = self.median_ms()?.max(1.0);
        (self.tasks.len() > 1).then_some(f64::from(self.longest_ms()?) / median)
    }

    fn excess_ms(&self) -> Option<f64> {
        Some(f64::from(self.longest_ms()?) - self.median_ms()?)
    }
}

impl Totals {
    fn add(&mut self, end: &TaskEnd, task: &Task) {
        self.tasks += 1;
        let reason = end.reason.as_ref().map_or("", |reason| &reason.reason);
        if end.info.killed || reason == "TaskKilled" {
            self.killed += 1;
        } else if reason != "Success" {
            self.failed += 1;
        }
        self.duration_ms += u64::from(task.duration_ms);
        let Some(metrics) = &end.metrics else {
            return;
        };
        let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
        add(&mut self.run_ms, metrics.run_ms);
        add(&mut self.cpu_ns, metrics.cpu_ns);
        add(&mut self.gc_ms, metrics.gc_ms);
        add(&mut self.deserialize_ms, metrics.deserialize_ms);
        let delay = u64::from(task.overhead_ms).saturating_sub(metrics.deserialize_ms);
        add(&mut self.scheduler_delay_ms, delay);
        add(&mut self.fetch_wait_ms, metrics.read.wait_ms);
        add(&mut self.shuffle_remote_bytes, metrics.read.remote);
        add(&mut self.shuffle_local_bytes, metrics.read.local);
        add(&mut self.shuffle_write_bytes, metrics.write.bytes);
        add(&mut self.shuffle_write_ns, metrics.write.ns);
        add(&mut self.spilled_memory_bytes, metrics.spilled_memory);
        add(&mut self.spilled_disk_bytes, metrics.spilled_disk);
        add(&mut self.input_bytes, metrics.input.bytes);
        add(&mut self.output_bytes, metrics.output.bytes);
        self.peak_memory_bytes = self.peak_memory_bytes.max(metrics.peak_memory);
    }
}

/// Makes an application of events, one at a time.
#[derive(Default)]
pub(crate) struct Builder {
    application: Application,
    has_start: bool,
    has_end: bool,
    last_seen: i64,
    stages: HashMap<(u32, u32), usize>,
    executors: HashMap<String, usize>,
    jobs: HashMap<u32, usize>,
    kept_tasks: usize,
    left_out_tasks: u64,
    left_out_parts: u64,
}

impl Builder {
    pub(crate) fn take(&mut self, line: Line) {
        match line {
            Line::ApplicationStart { name, id, at } => {
                // A rolled log says it again in every file.
                if !self.has_start {
                    self.application.name = shortened(name);
                    self.application.id = id.map(shortened);
                    self.application.started = at;
                    self.has_start = true;
                }
                self.see(at);
            }
            Line::ApplicationEnd { at } => {
                self.has_end = true;
                self.see(at);
            }
            Line::Environment { properties } => {
                let cpus = properties.get("spark.task.cpus");
                if let Some(cpus) = cpus.and_then(|text| text.parse().ok()) {
                    self.application.task_cpus = cpus;
                }
            }
            Line::ExecutorAdded { at, id, info } => {
                self.see(at);
                if let Some(executor) = self.executor(&id) {
                    executor.host = shortened(info.host);
                    executor.cores = info.cores;
                    executor.added = Some(at);
                }
            }
            Line::ExecutorRemoved { at, id, reason } => {
                self.see(at);
                if let Some(executor) = self.executor(&id) {
                    executor.removed = Some(at);
                    executor.reason = Some(shortened(reason));
                }
            }
            Line::JobStart { id, at, stages } => {
                self.see(at);
                if self.application.jobs.len() >= MOST_PARTS {
                    self.left_out_parts += 1;
                    return;
                }
                self.jobs.insert(id, self.application.jobs.len());
                self.application.jobs.push(Job {
                    id,
                    submitted: at,
                    ended: None,
                    failed: false,
                    stages,
                });
            }
            Line::JobEnd { id, at, result } => {
                self.see(at);
                if let Some(&index) = self.jobs.get(&id) {
                    let job = &mut self.application.jobs[index];
                    job.ended = Some(at);
                    job.failed = result.is_none_or(|result| result.result != "JobSucceeded");
                }
            }
            Line::StageSubmitted { info } | Line::StageCompleted { info } => self.stage_info(info),
            Line::TaskEnd(end) => self.task(&end),
            Line::LogStart {} | Line::Other => {}
        }
    }

    /// The application, if one started.
    pub(crate) fn finish(mut self) -> Option<Application> {
        if !self.has_start {
            return None;
        }
        let mut application = self.application;
        application.ended = self.last_seen.max(application.started);
        application.task_cpus = application.task_cpus.max(1);
        if !self.has_end {
            application.notices.push(LogNotice::Unfinished);
        }
        for (what, left_out) in [
            ("tasks", self.left_out_tasks),
            ("stages, jobs and executors", self.left_out_parts),
        ] {
            if left_out > 0 {
                application
                    .notices
                    .push(LogNotice::TooMany { what, left_out });
            }
        }
        for stage in &mut application.stages {
            stage.tasks.sort_unstable_by_key(|task| task.id);
        }
        // By the moment Spark began with each; those that never began come last.
        application
            .stages
            .sort_by_key(|stage| (stage.submitted.unwrap_or(i64::MAX), stage.id, stage.attempt));
        application.jobs.sort_by_key(|job| (job.submitted, job.id));
        self.stages.clear();
        Some(application)
    }

    fn see(&mut self, at: i64) {
        self.last_seen = self.last_seen.max(at);
    }

    fn stage_info(&mut self, info: StageInfo) {
        for at in [info.submitted, info.completed].into_iter().flatten() {
            self.see(at);
        }
        let Some(stage) = self.stage(info.id, info.attempt) else {
            return;
        };
        stage.name = shortened(info.name);
        stage.planned_tasks = info.tasks;
        stage.parents = info.parents;
        stage.barrier = info.data.iter().any(|data| data.barrier);
        stage.submitted = info.submitted.or(stage.submitted);
        stage.completed = info.completed.or(stage.completed);
        stage.failure = info.failure.map(shortened).or(stage.failure.take());
    }

    fn task(&mut self, end: &TaskEnd) {
        self.see(end.info.finished);
        let task = measured(end);
        self.application.totals.add(end, &task);
        if let Some(executor) = self.executor(&end.info.executor) {
            executor.totals.add(end, &task);
        }
        let keep = self.kept_tasks < MOST_TASKS;
        let Some(stage) = self.stage(end.stage, end.attempt) else {
            return;
        };
        stage.totals.add(end, &task);
        let (launched, finished) = (end.info.launched, end.info.finished);
        stage.first_launch = Some(stage.first_launch.map_or(launched, |at| at.min(launched)));
        stage.last_finish = Some(stage.last_finish.map_or(finished, |at| at.max(finished)));
        if keep {
            stage.tasks.push(task);
            self.kept_tasks += 1;
        } else {
            self.left_out_tasks += 1;
        }
    }

    fn stage(&mut self, id: u32, attempt: u32) -> Option<&mut Stage> {
        let stages = &mut self.application.stages;
        let index = match self.stages.get(&(id, attempt)) {
            Some(&index) => index,
            None if stages.len() >= MOST_PARTS => {
                self.left_out_parts += 1;
                return None;
            }
            None => {
                self.stages.insert((id, attempt), stages.len());
                stages.push(Stage {
                    id,
                    attempt,
                    ..Stage::default()
                });
                stages.len() - 1
            }
        };
        stages.get_mut(index)
    }

    fn executor(&mut self, id: &str) -> Option<&mut Executor> {
        let executors = &mut self.application.executors;
        let index = match self.executors.get(id) {
            Some(&index) => index,
            None if executors.len() >= MOST_PARTS => {
                self.left_out_parts += 1;
                return None;
            }
            None => {
                self.executors.insert(id.to_owned(), executors.len());
                executors.push(Executor {
                    id: shortened(id.to_owned()),
                    ..Executor::default()
                });
                executors.len() - 1
            }
        };
        executors.get_mut(index)
    }
}

/// Times of one task. The scheduler's delay is what Spark's own pages call it:
/// the part of the duration that nothing else accounts for.
fn measured(end: &TaskEnd) -> Task {
    let small = |ms: u64| u32::try_from(ms).unwrap_or(u32::MAX);
    let info = &end.info;
    let duration = span(info.launched, info.finished);
    let Some(metrics) = &end.metrics else {
        return Task {
            id: info.id,
            duration_ms: small(duration),
            ..Task::default()
        };
    };
    let getting_result = match info.getting_result {
        0 => 0,
        at => span(at, info.finished),
    };
    let accounted = metrics
        .run_ms
        .saturating_add(metrics.deserialize_ms)
        .saturating_add(metrics.serialize_ms)
        .saturating_add(getting_result);
    let delay = duration.saturating_sub(accounted);
    Task {
        id: info.id,
        duration_ms: small(duration),
        gc_ms: small(metrics.gc_ms),
        fetch_wait_ms: small(metrics.read.wait_ms),
        overhead_ms: small(delay.saturating_add(metrics.deserialize_ms)),
    }
}

/// From `from` to `to`, nothing if they are the wrong way round.
fn span(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST_NAME) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
