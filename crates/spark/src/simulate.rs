//! An application's own tasks, scheduled again on other slots.
//!
//! The model is Spark's first-in-first-out scheduler: a stage is ready when its
//! parents are done, stages of earlier jobs go first, a free slot takes the next
//! task. The driver's own time between jobs is kept as measured, and so is each
//! task's duration: that other executors would change locality, contention and
//! garbage collection is left out. It is Sparklens' model with the driver's gaps
//! per job rather than in one sum.

use crate::application::{Application, Stage, Task};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

/// What a simulation replays.
pub(crate) struct Script<'a> {
    jobs: Vec<ScriptJob>,
    stages: Vec<ScriptStage<'a>>,
    /// The jobs that wait for each job's end.
    followers: Vec<Vec<usize>>,
    /// From the last job's end to the application's.
    tail_ms: u64,
}

struct ScriptJob {
    /// The job whose end this one waited for, and how long the driver took then.
    after: Option<usize>,
    gap_ms: u64,
    stages: Vec<usize>,
}

struct ScriptStage<'a> {
    stage: &'a Stage,
    job: usize,
    parents: Vec<usize>,
    /// From ready to the first launch, where no other stage held the slots.
    lead_ms: u64,
    /// From the last task's end to the stage's.
    trail_ms: u64,
}

/// What is different from what was measured.
pub(crate) struct Changes<'a> {
    pub(crate) slots: u32,
    /// False leaves out the driver's own time.
    pub(crate) driver: bool,
    /// False leaves out the waits between stages.
    pub(crate) waits: bool,
    /// The durations of a stage's tasks.
    pub(crate) tasks: &'a dyn Fn(&Stage) -> Vec<u32>,
}

/// The durations as measured.
pub(crate) fn measured(stage: &Stage) -> Vec<u32> {
    durations(stage, |task| task.duration_ms)
}

pub(crate) fn durations(stage: &Stage, duration: impl Fn(&Task) -> u32) -> Vec<u32> {
    stage.tasks.iter().map(duration).collect()
}

impl<'a> Script<'a> {
    pub(crate) fn of(application: &'a Application) -> Self {
        let mut script = Self {
            jobs: Vec::new(),
            stages: Vec::new(),
            followers: Vec::new(),
            tail_ms: 0,
        };
        script.add_jobs(application);
        script.add_stages(application);
        for (index, job) in script.jobs.iter().enumerate() {
            if let Some(after) = job.after {
                script.followers[after].push(index);
            }
        }
        script
    }

    fn add_jobs(&mut self, application: &Application) {
        let mut ends: Vec<(i64, usize)> = application
            .jobs
            .iter()
            .enumerate()
            .filter_map(|(i, job)| Some((job.ended?, i)))
            .collect();
        ends.sort_unstable();
        let mut last_end = application.started;
        for (index, job) in application.jobs.iter().enumerate() {
            let before = ends.partition_point(|(ended, _)| *ended <= job.submitted);
            let anchor = ends[..before].iter().rev().find(|(_, i)| *i < index);
            let since = anchor.map_or(application.started, |(ended, _)| *ended);
            self.jobs.push(ScriptJob {
                after: anchor.map(|(_, i)| *i),
                gap_ms: span(since, job.submitted),
                stages: Vec::new(),
            });
            last_end = last_end.max(job.ended.unwrap_or(application.ended));
        }
        self.tail_ms = span(last_end, application.ended);
    }

    fn add_stages(&mut self, application: &'a Application) {
        let ran: Vec<&Stage> = application
            .stages
            .iter()
            .filter(|stage| stage.submitted.is_some() && !stage.tasks.is_empty())
            .collect();
        let mut owners: HashMap<u32, Vec<usize>> = HashMap::new();
        for (index, job) in application.jobs.iter().enumerate() {
            for &stage in &job.stages {
                owners.entry(stage).or_default().push(index);
            }
        }
        let busy = Busy::of(&ran);
        for (index, stage) in ran.iter().enumerate() {
            let submitted = stage.submitted.unwrap_or(application.started);
            // The newest job that may need it; a stage of no job is a job of its own.
            let owner = owners.get(&stage.id).and_then(|jobs| {
                let mut jobs = jobs.iter().rev().copied();
                jobs.find(|&job| application.jobs[job].submitted <= submitted)
            });
            let job = owner.unwrap_or_else(|| {
                self.jobs.push(ScriptJob {
                    after: None,
                    gap_ms: span(application.started, submitted),
                    stages: Vec::new(),
                });
                self.jobs.len() - 1
            });
            let siblings = self.jobs[job].stages.iter().copied();
            let parents: Vec<usize> = siblings
                .filter(|&i| {
                    stage.parents.contains(&ran[i].id)
                        && ran[i].completed.is_some_and(|at| at <= submitted)
                })
                .collect();
            let ready = parents
                .iter()
                .filter_map(|&i| ran[i].completed)
                .chain(owner.map(|job| application.jobs[job].submitted))
                .max()
                .unwrap_or(submitted);
            let launch = stage.first_launch.unwrap_or(submitted);
            let done = stage.completed.or(stage.last_finish).unwrap_or(launch);
            self.jobs[job].stages.push(index);
            self.stages.push(ScriptStage {
                stage,
                job,
                parents,
                lead_ms: if busy.between(ready, launch) {
                    0
                } else {
                    span(ready, launch)
                },
                trail_ms: span(stage.last_finish.unwrap_or(done), done),
            });
        }
        self.followers = vec![Vec::new(); self.jobs.len()];
    }

    /// True if nothing can be replayed.
    pub(crate) fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// The slots that no stage could fill.
    pub(crate) fn endless(&self) -> u32 {
        let tasks: usize = self.stages.iter().map(|it| it.stage.tasks.len()).sum();
        u32::try_from(tasks).unwrap_or(u32::MAX).max(1)
    }

    /// How long the application takes with `changes`; nothing if a stage whose
    /// tasks must run together does not fit.
    pub(crate) fn run(&self, changes: &Changes<'_>) -> Option<u64> {
        Run::new(self, changes)?.finish()
    }
}

/// What happens next: by time, then in a fixed order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    TaskEnds(usize),
    StageEnds(usize),
    StageReady(usize),
    JobStarts(usize),
}

struct Run<'s, 'a> {
    script: &'s Script<'a>,
    changes: &'s Changes<'s>,
    tasks: Vec<Vec<u32>>,
    /// The next task of each stage to launch.
    launched: Vec<usize>,
    running: Vec<usize>,
    missing_parents: Vec<usize>,
    missing_stages: Vec<usize>,
    /// Stages with tasks to launch, by job and stage.
    queue: BTreeSet<(usize, usize)>,
    free: usize,
    heap: BinaryHeap<Reverse<(u64, Happening)>>,
    last_end: u64,
}

impl<'s, 'a> Run<'s, 'a> {
    fn new(script: &'s Script<'a>, changes: &'s Changes<'s>) -> Option<Self> {
        let slots = changes.slots.max(1) as usize;
        let tasks: Vec<Vec<u32>> = script
            .stages
            .iter()
            .map(|it| (changes.tasks)(it.stage))
            .collect();
        let fits =
            |(it, tasks): (&ScriptStage<'_>, &Vec<u32>)| !it.stage.barrier || tasks.len() <= slots;
        if !script.stages.iter().zip(&tasks).all(fits) {
            return None;
        }
        Some(Self {
            script,
            changes,
            launched: vec![0; tasks.len()],
            running: vec![0; tasks.len()],
            tasks,
            missing_parents: script.stages.iter().map(|it| it.parents.len()).collect(),
            missing_stages: script.jobs.iter().map(|job| job.stages.len()).collect(),
            queue: BTreeSet::new(),
            free: slots,
            heap: BinaryHeap::new(),
            last_end: 0,
        })
    }

    fn finish(mut self) -> Option<u64> {
        for (index, job) in self.script.jobs.iter().enumerate() {
            if job.after.is_none() {
                self.start_job(0, index);
            }
        }
        while let Some(Reverse((now, first))) = self.heap.pop() {
            self.happen(now, first);
            while let Some(&Reverse((at, next))) = self.heap.peek()
                && at == now
            {
                self.heap.pop();
                self.happen(now, next);
            }
            self.launch(now);
        }
        let tail = if self.changes.driver {
            self.script.tail_ms
        } else {
            0
        };
        Some(self.last_end + tail)
    }

    fn start_job(&mut self, now: u64, job: usize) {
        let gap = if self.changes.driver {
            self.script.jobs[job].gap_ms
        } else {
            0
        };
        self.heap
            .push(Reverse((now + gap, Happening::JobStarts(job))));
    }

    fn make_ready(&mut self, now: u64, stage: usize) {
        let lead = if self.changes.waits {
            self.script.stages[stage].lead_ms
        } else {
            0
        };
        self.heap
            .push(Reverse((now + lead, Happening::StageReady(stage))));
    }

    fn happen(&mut self, now: u64, what: Happening) {
        match what {
            Happening::JobStarts(job) => {
                if self.missing_stages[job] == 0 {
                    self.end_job(now, job);
                }
                for &stage in &self.script.jobs[job].stages {
                    if self.missing_parents[stage] == 0 {
                        self.make_ready(now, stage);
                    }
                }
            }
            Happening::StageReady(stage) => {
                self.queue.insert((self.script.stages[stage].job, stage));
            }
            Happening::TaskEnds(stage) => {
                self.free += 1;
                self.running[stage] -= 1;
                if self.running[stage] == 0 && self.launched[stage] == self.tasks[stage].len() {
                    let trail = match self.changes.waits {
                        true => self.script.stages[stage].trail_ms,
                        false => 0,
                    };
                    self.heap
                        .push(Reverse((now + trail, Happening::StageEnds(stage))));
                }
            }
            Happening::StageEnds(stage) => {
                let job = self.script.stages[stage].job;
                for &child in &self.script.jobs[job].stages {
                    if self.script.stages[child].parents.contains(&stage) {
                        self.missing_parents[child] -= 1;
                        if self.missing_parents[child] == 0 {
                            self.make_ready(now, child);
                        }
                    }
                }
                self.missing_stages[job] -= 1;
                if self.missing_stages[job] == 0 {
                    self.end_job(now, job);
                }
            }
        }
    }

    fn end_job(&mut self, now: u64, job: usize) {
        self.last_end = self.last_end.max(now);
        for &follower in &self.script.followers[job] {
            self.start_job(now, follower);
        }
    }

    /// Gives free slots to waiting tasks.
    fn launch(&mut self, now: u64) {
        let waiting: Vec<(usize, usize)> = self.queue.iter().copied().collect();
        for key in waiting {
            let stage = key.1;
            let left = self.tasks[stage].len() - self.launched[stage];
            if self.free == 0 {
                return;
            }
            // Tasks behind a barrier start together or not at all.
            if self.script.stages[stage].stage.barrier && left > self.free {
                continue;
            }
            let count = left.min(self.free);
            for _ in 0..count {
                let duration = u64::from(self.tasks[stage][self.launched[stage]]);
                self.heap
                    .push(Reverse((now + duration, Happening::TaskEnds(stage))));
                self.launched[stage] += 1;
            }
            self.free -= count;
            self.running[stage] += count;
            if count == left {
                self.queue.remove(&key);
            }
        }
    }
}

/// When tasks were running: the first launches in order, each with the latest
/// finish of those before and of its own.
struct Busy(Vec<(i64, i64)>);

impl Busy {
    fn of(stages: &[&Stage]) -> Self {
        let mut spans: Vec<(i64, i64)> = stages
            .iter()
            .filter_map(|stage| Some((stage.first_launch?, stage.last_finish?)))
            .collect();
        spans.sort_unstable();
        let mut latest = i64::MIN;
        for (_, finish) in &mut spans {
            latest = latest.max(*finish);
            *finish = latest;
        }
        Self(spans)
    }

    /// True if a stage that launched before `launch` still ran after `ready`.
    fn between(&self, ready: i64, launch: i64) -> bool {
        let earlier = self.0.partition_point(|(first, _)| *first < launch);
        earlier > 0 && self.0[earlier - 1].1 > ready
    }
}

fn span(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}
