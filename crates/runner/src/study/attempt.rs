//! One attempt at one planned run.

use super::session::Settings;
use crate::host::Opening;
use crate::interrupt::Interrupt;
use crate::placement::{cluster, ranks, request};
use crate::reports::MetricPattern;
use crate::supervise::{
    Ended, ExecuteError, Execution, Observer, Results, STOPPED_EARLY, STOPS, execute,
};
use indexmap::IndexMap;
use paceline_diagnose::{Node, Tally, unusual};
use paceline_engine::{
    Allocation, Command, Engine, Launch, Leftovers, Rank, RunClock, StartError, Stdin,
};
use paceline_model::{
    Event, EventKind, Level, Machine, NodeName, Outcome, RunId, RunNotice, RunValue, Sample,
    Verdict, WorkerId, error_chain,
};
use paceline_probe::cgroup::CpuSet;
use paceline_records::study::{Noise, RunResult};
use paceline_records::{CreateRunError, End, Manifest, Run, RunWriter, reports_file};
use paceline_study::{
    CheckpointUse, CommandLine, Job, ResponseCollector, ResponseSource, RunFacts, Share, Study,
};
use std::path::{Path, PathBuf};

/// One attempt: which run, where, and on which CPUs.
pub(super) struct Attempt<'a> {
    pub(super) study: &'a Study,
    pub(super) settings: &'a Settings,
    pub(super) id: RunId,
    pub(super) attempt: u32,
    pub(super) replicate: u32,
    pub(super) seed: u64,
    pub(super) levels: &'a [Level],
    /// The record's directory, absolute.
    pub(super) dir: PathBuf,
    pub(super) cpus: Option<CpuSet>,
    /// What becomes of the run's checkpoint.
    pub(super) checkpoint: CheckpointUse,
    /// The checkpoint directory of the run that this one goes on from.
    pub(super) from: Option<PathBuf>,
    /// Constants of the study that the run has otherwise.
    pub(super) constants: &'a [(String, Level)],
}

/// How many copies of a command a run starts, and where each works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copies(Vec<PathBuf>);

impl Copies {
    /// One directory, or one per copy below it.
    #[must_use]
    pub fn of(count: u32, work: &Path) -> Self {
        match count {
            0 | 1 => Self(vec![work.to_owned()]),
            n => Self((0..n).map(|copy| work.join(copy.to_string())).collect()),
        }
    }
}

/// What an attempt came to, for the journal.
pub(super) struct Attempted {
    pub(super) result: RunResult,
    /// True if the user stopped it: nobody knows what it would have come to.
    pub(super) unfinished: bool,
}

/// Why an attempt came to nothing that could be recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttemptError {
    #[error(transparent)]
    Allocate(StartError),
    #[error(transparent)]
    Create(#[from] CreateRunError),
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    #[error("cannot copy the checkpoint {path}")]
    Checkpoint {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot make {path}")]
    WorkDir {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl Attempt<'_> {
    pub(super) fn execute(
        self,
        engine: &dyn Engine,
        interrupt: &Interrupt,
        watcher: &mut dyn Observer,
    ) -> Result<Attempted, AttemptError> {
        let share = self.study.share_of(self.levels);
        // Time in a cluster's queue is no part of the run.
        let allocation = match engine.allocate(&request(share), &|| interrupt.is_wanted()) {
            Ok(allocation) => allocation,
            Err(StartError::Cancelled) => {
                return Ok(Attempted {
                    result: RunResult::default(),
                    unfinished: true,
                });
            }
            Err(error) => return Err(AttemptError::Allocate(error)),
        };
        let attempted = self.execute_on(&allocation, share, engine, interrupt, watcher);
        engine.release(&allocation);
        attempted
    }

    fn execute_on(
        self,
        allocation: &Allocation,
        share: Share,
        engine: &dyn Engine,
        interrupt: &Interrupt,
        watcher: &mut dyn Observer,
    ) -> Result<Attempted, AttemptError> {
        let clock = RunClock::start();
        let work = self.dir.join("work");
        let ranks = ranks(allocation, share.copies, share.tasks_per_node);
        let machines: Vec<Machine> = allocation
            .nodes
            .iter()
            .map(|node| node.machine.clone())
            .collect();
        let cpus = machines.first().unwrap_or(&self.settings.host.machine);
        let cpus = cpus.cpus_count as usize;
        let line = self.command_line(&work);
        let host = &self.settings.host;
        let opening = Opening {
            machines,
            cluster: cluster(engine.kind(), allocation, &ranks),
            ..self.opening(&line, share)
        };
        let start = host.start(&opening, &clock);
        let writer = RunWriter::create(&self.dir, start)?;
        let copies = Copies::of(share.copies, &work);
        for path in &copies.0 {
            std::fs::create_dir_all(path).map_err(|source| AttemptError::WorkDir {
                path: path.clone(),
                source,
            })?;
        }
        if matches!(self.study.job(), Job::SparkSubmit(_)) {
            // Spark refuses to start if the folder for its log is not there.
            let path = paceline_records::event_log_dir(&self.dir);
            std::fs::create_dir_all(&path)
                .map_err(|source| AttemptError::WorkDir { path, source })?;
        }
        let checkpoint = self.dir.join(CHECKPOINT_DIR);
        copy_checkpoint(self.from.as_deref(), &checkpoint)?;
        let reports = reports_file(&self.dir);
        let launch = Launch {
            run: self.group_name(),
            commands: self.commands(&ranks, &copies, share),
            nodes: allocation.names(),
            stdin: Stdin::Null,
            memory_max: share.memory_bytes,
            interval: self.settings.interval,
            leftovers: Leftovers::End,
        };
        let timeout = self.study.policy().timeout;
        let execution = Execution {
            launch,
            patterns: patterns(self.study),
            reports,
            timeout,
        };
        let mut listener = Listener {
            study: self.study,
            levels: self.levels,
            collector: ResponseCollector::new(self.study),
            watcher,
            result: None,
            cpus,
            memory_max_bytes: share.memory_bytes,
            parallel: self.settings.parallel,
        };
        match execute(engine, execution, clock, writer, interrupt, &mut listener) {
            Ok(executed) => {
                let end = executed.manifest.end.as_ref();
                let verdict = end.map_or(Verdict::Unfinished, |end| end.outcome.verdict());
                let result = listener.result.take().unwrap_or_default();
                remove_if_empty(&work, &copies);
                // Most commands leave no checkpoint.
                let _ = std::fs::remove_dir(&checkpoint);
                Ok(Attempted {
                    result,
                    unfinished: verdict == Verdict::Unfinished,
                })
            }
            // A command that cannot be started has failed like any other.
            Err(ExecuteError::Start(error)) => {
                let outcome = format!("not started: {}", error_chain(&error));
                let result = RunResult {
                    outcome,
                    ..RunResult::default()
                };
                Ok(Attempted {
                    result,
                    unfinished: false,
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The first copy's command: the record is of it.
    fn opening<'b>(&'b self, line: &'b CommandLine, share: Share) -> Opening<'b> {
        let factors = self.study.factors().iter();
        let names = factors.map(|factor| factor.name.clone());
        Opening {
            id: RunId::new(&format!("{}.{}", self.id, self.attempt))
                .expect("a planned run's id with a number at its end"),
            name: self.study.name().map(str::to_owned),
            argv: line.argv.clone(),
            cwd: self.cwd(line.cwd.as_deref()),
            dir: &self.dir,
            set: &line.env,
            cpus: self.cpus.as_ref(),
            memory_bytes: share.memory_bytes,
            timeout: self.study.policy().timeout,
            interval: self.settings.interval,
            factors: names.zip(self.levels.iter().cloned()).collect(),
            machines: Vec::new(),
            cluster: None,
        }
    }

    fn command_line(&self, work: &Path) -> CommandLine {
        let facts = RunFacts {
            seed: self.seed,
            run_id: self.id.to_string(),
            run_dir: work.to_string_lossy().into_owned(),
            replicate: self.replicate,
            program: self.settings.program.to_string_lossy().into_owned(),
            checkpoint_dir: self.dir.join(CHECKPOINT_DIR).to_string_lossy().into_owned(),
            checkpoint: self.checkpoint,
            constants: self.constants.to_vec(),
            event_log_dir: paceline_records::event_log_dir(&self.dir)
                .to_string_lossy()
                .into_owned(),
        };
        self.study
            .command_for(self.levels, &facts)
            .expect("a study is checked and planned before it runs")
    }

    /// Relative to the study file's directory, as the user wrote it.
    fn cwd(&self, of_study: Option<&str>) -> PathBuf {
        self.settings.base.join(of_study.unwrap_or("."))
    }

    /// The commands of all copies, each copy's by rank.
    fn commands(&self, ranks: &[Option<Rank>], copies: &Copies, share: Share) -> Vec<Command> {
        let workers = (0..).map(WorkerId).zip(ranks);
        workers
            .enumerate()
            .map(|(at, (worker, rank))| {
                let copy = rank.map_or(at, |rank| rank.job as usize);
                let mut command = self.command(copy, &copies.0[copy], share);
                command.worker = worker;
                command.rank = *rank;
                command
            })
            .collect()
    }

    fn command(&self, copy: usize, work: &Path, share: Share) -> Command {
        let line = self.command_line(work);
        let mut env = self.settings.host.variables(&self.opening(&line, share));
        env.push(("PACELINE_COPY".into(), copy.to_string().into()));
        Command {
            worker: WorkerId(u32::try_from(copy).unwrap_or(u32::MAX)),
            rank: None,
            cwd: Some(self.cwd(line.cwd.as_deref())),
            argv: line.argv.into_iter().map(Into::into).collect(),
            env,
            cpus: self.cpus.clone(),
            tee_out: None,
            tee_err: None,
        }
    }

    fn group_name(&self) -> RunId {
        let name = format!("{}.{}.{}", self.id, self.attempt, std::process::id());
        RunId::new(&name).expect("a planned run's id with numbers at its end")
    }
}

/// The directory of a record in which a run leaves what another goes on from.
pub(super) const CHECKPOINT_DIR: &str = "checkpoint";

/// Makes a run's checkpoint directory, with the files of the one it goes on from:
/// a copy, because a finished record does not change, whatever the run does.
fn copy_checkpoint(from: Option<&Path>, to: &Path) -> Result<(), AttemptError> {
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |source| AttemptError::Checkpoint { path, source }
    };
    std::fs::create_dir_all(to).map_err(cannot(to))?;
    let Some(from) = from else { return Ok(()) };
    let entries = match std::fs::read_dir(from) {
        Ok(entries) => entries,
        // The run before has left none: this one begins anew.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot(from)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(cannot(from))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(cannot(&path))?;
        if kind.is_dir() {
            copy_checkpoint(Some(&path), &target)?;
        } else if kind.is_file() {
            std::fs::copy(&path, &target).map_err(cannot(&path))?;
        }
    }
    Ok(())
}

/// The study's expressions over the log, so that what they find is recorded with
/// its steps like any metric. Which value counts as the response is the
/// collector's to say.
fn patterns(study: &Study) -> Vec<MetricPattern> {
    let logs = study
        .responses()
        .iter()
        .filter_map(|response| match &response.source {
            ResponseSource::Log(pattern, _) => Some((&response.name, pattern)),
            ResponseSource::Expression(_) | ResponseSource::Metric(..) => None,
        });
    // An expression without a group takes the whole match, which is no pattern's way.
    logs.filter_map(|(name, pattern)| MetricPattern::new(name, pattern.as_str()).ok())
        .collect()
}

/// Most commands leave nothing in the directory they got.
fn remove_if_empty(work: &Path, copies: &Copies) {
    for path in copies.0.iter().map(PathBuf::as_path).chain([work]) {
        // Whatever is in it stays.
        let _ = std::fs::remove_dir(path);
    }
}

/// Collects the responses of one run while it lasts.
struct Listener<'a> {
    study: &'a Study,
    levels: &'a [Level],
    collector: ResponseCollector<'a>,
    watcher: &'a mut dyn Observer,
    result: Option<RunResult>,
    cpus: usize,
    memory_max_bytes: Option<u64>,
    parallel: usize,
}

impl Observer for Listener<'_> {
    fn sample(&mut self, node: &NodeName, sample: &Sample) {
        self.watcher.sample(node, sample);
    }

    fn event(&mut self, event: &Event) {
        if let (EventKind::Metric, Some(value)) = (event.kind, event.value) {
            self.collector.metric(event.worker, &event.name, value);
        }
        self.watcher.event(event);
    }

    fn stop(&mut self) -> Option<String> {
        self.watcher.stop()
    }

    fn line(&mut self, worker: WorkerId, line: &[u8]) {
        self.collector.log_line(&String::from_utf8_lossy(line));
        self.watcher.line(worker, line);
    }

    fn results(&mut self, end: &Ended<'_>) -> Results {
        let node = Node {
            cpus: self.cpus,
            memory_max_bytes: self.memory_max_bytes,
        };
        let outcome = end.outcome;
        let duration = end.duration.as_secs();
        let heard = Heard {
            outcome,
            duration_s: duration,
            tally: end.tally,
            node,
            stops: end.stops.evidence(),
            stopped: end.stopped.map(str::to_owned),
        };
        let result = summarise(self.study, self.levels, &self.collector, heard);
        let responses = result.responses.clone();
        self.result = Some(result);
        let notices = match self.parallel {
            0 | 1 => Vec::new(),
            runs => vec![RunNotice::SideBySide {
                runs: u32::try_from(runs).unwrap_or(u32::MAX),
            }],
        };
        Results { responses, notices }
    }
}

/// What was heard of an attempt besides its metrics.
struct Heard<'a> {
    outcome: &'a Outcome,
    duration_s: f64,
    tally: &'a Tally,
    node: Node,
    /// What stood still meanwhile, in words.
    stops: Vec<String>,
    /// Why it was stopped before its end.
    stopped: Option<String>,
}

/// What an attempt came to, from everything that was heard of it.
fn summarise(
    study: &Study,
    levels: &[Level],
    collector: &ResponseCollector<'_>,
    heard: Heard<'_>,
) -> RunResult {
    let Heard {
        outcome,
        duration_s,
        tally,
        node,
        stops,
        stopped,
    } = heard;
    let value_of = |value: RunValue| tally.value(value, Some(duration_s));
    let measured = |name: &str| value_of(RunValue::from_name(name)?);
    let mut responses = IndexMap::new();
    let mut absent = IndexMap::new();
    for (response, value) in study
        .responses()
        .iter()
        .zip(collector.finish(levels, measured))
    {
        match value {
            Ok(value) => drop(responses.insert(response.name.clone(), value)),
            Err(why) => drop(absent.insert(response.name.clone(), why.to_string())),
        }
    }
    let evidence: Vec<String> = unusual(tally, node)
        .iter()
        .filter(|found| found.is_disturbance())
        .map(ToString::to_string)
        .chain(stops)
        .collect();
    RunResult {
        // Whoever was stopped on purpose has not failed.
        done: outcome.verdict() == Verdict::Done || stopped.is_some(),
        outcome: match &stopped {
            Some(why) => format!("stopped early: {why}"),
            None => outcome.to_string(),
        },
        stopped,
        duration_s,
        responses,
        absent,
        resources: RunValue::ALL
            .iter()
            .filter_map(|&value| Some((value.name().to_owned(), value_of(value)?)))
            .collect(),
        noise: (!evidence.is_empty()).then_some(Noise {
            evidence,
            repeated: false,
        }),
    }
}

/// What an attempt came to whose record was closed but whose end is not in the
/// journal: everything is read from the record.
pub(super) fn adopt(
    study: &Study,
    settings: &Settings,
    levels: &[Level],
    run: &Run,
) -> Result<Option<RunResult>, paceline_records::ReadTableError> {
    let Manifest {
        end:
            Some(End {
                outcome,
                duration,
                notices,
                ..
            }),
        ..
    } = run.manifest()
    else {
        return Ok(None);
    };
    if outcome.verdict() == Verdict::Unfinished {
        return Ok(None);
    }
    let mut collector = ResponseCollector::new(study);
    for event in run.events()? {
        if let (EventKind::Metric, Some(value)) = (event.kind, event.value) {
            collector.metric(event.worker, &event.name, value);
        }
    }
    let mut lines = crate::reports::Lines::default();
    for log in run.logs()? {
        let mut hear = |line: &[u8]| collector.log_line(&String::from_utf8_lossy(line));
        let mut source = log.open()?;
        let mut piece = [0; 64 * 1024];
        while let Ok(n @ 1..) = std::io::Read::read(&mut source, &mut piece) {
            lines.push(&piece[..n], &mut hear);
        }
        lines.finish(&mut hear);
    }
    let mut tally = Tally::default();
    if let Some(node) = run.nodes()?.first() {
        for sample in run.samples_of(node)? {
            tally.add(&sample?);
        }
    }
    let node = Node {
        cpus: settings.host.machine.cpus_count as usize,
        memory_max_bytes: study.share_of(levels).memory_bytes,
    };
    let seconds = duration.as_secs();
    let stops = notices
        .iter()
        .filter(|notice| STOPS.contains(&notice.name.as_str()))
        .map(|notice| notice.text.clone())
        .collect();
    let heard = Heard {
        outcome,
        duration_s: seconds,
        tally: &tally,
        node,
        stops,
        stopped: notices
            .iter()
            .find(|notice| notice.name == STOPPED_EARLY)
            .map(|notice| notice.text.clone()),
    };
    Ok(Some(summarise(study, levels, &collector, heard)))
}
