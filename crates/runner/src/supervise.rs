//! Executing one run: everything that happens in one order, in one record.

use crate::event_files::EventFiles;
use crate::interrupt::{Interrupt, SIGINT, SIGQUIT, SIGTERM};
use crate::reporting::Reporting;
use crate::reports::MetricPattern;
use crate::standstill::{Standstill, Watch};
use crate::time_limit::TimeLimit;
use indexmap::IndexMap;
use paceline_diagnose::Tally;
use paceline_engine::leftovers::{self, Leftover};
use paceline_engine::{Engine, Job, Launch, Leftovers, Message, RunClock, StartError, Usage};
use paceline_model::{
    Event, EventKind, ExitStatus, Lifecycle, Micros, NodeName, Outcome, RunNotice, Sample, Stream,
    WorkerId,
};
use paceline_records::{End, Manifest, Overhead, RunWriter, WriteRecordError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How many processes that were left behind are named.
const NAMED: usize = 8;

/// How many messages may wait for the record: at 64 KiB each, 4 MiB.
const QUEUE: usize = 64;
/// How often the file of reports and the time limit are looked at.
const GLANCE: Duration = Duration::from_millis(50);
/// The names of notices that say that something stood still while a run lasted.
pub(crate) const STOPS: [&str; 3] = ["suspended", "stood_still", "machine_slept"];
/// The name of the notice that says why a run was stopped before its end.
pub(crate) const STOPPED_EARLY: &str = "stopped_early";
/// How long commands that were asked to end may take to close their files.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long commands may take to close their files after a SIGTERM or SIGHUP to
/// Paceline; whoever sends one waits 10 to 30 s before SIGKILL.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(8);

/// What to execute, and how to listen to it.
pub struct Execution {
    /// The commands.
    pub launch: Launch,
    /// Metrics to look for in the log.
    pub patterns: Vec<MetricPattern>,
    /// The file, not made yet, in which the commands report: the one that
    /// `$PACELINE_EVENTS` names.
    pub reports: PathBuf,
    /// The time after which the commands are ended.
    pub timeout: Option<Duration>,
}

/// Somebody who watches a run live. Called on the thread that records, so it
/// must be quick.
pub trait Observer {
    /// A node was sampled.
    fn sample(&mut self, _node: &NodeName, _sample: &Sample) {}
    /// Something happened.
    fn event(&mut self, _event: &Event) {}
    /// A command printed a line, given without its end.
    fn line(&mut self, _worker: WorkerId, _line: &[u8]) {}
    /// Asked after everything that was heard at once: why the run need not go on, in
    /// words. It is then ended, politely at first.
    fn stop(&mut self) -> Option<String> {
        None
    }
    /// The commands have ended. What the run's results are is the observer's to
    /// say; by default, the last value of each metric.
    fn results(&mut self, end: &Ended<'_>) -> Results {
        Results {
            responses: end.metrics.clone(),
            notices: Vec::new(),
        }
    }
}

/// Nobody watches.
impl Observer for () {}

/// What is known of a run when its commands have ended.
#[derive(Debug)]
pub struct Ended<'a> {
    /// From the first start to the last exit.
    pub duration: Micros,
    /// How it ended.
    pub outcome: &'a Outcome,
    /// What each command used and when it was started and exited, in the order
    /// of exit.
    pub exits: &'a [Exit],
    /// The last value of each metric that was reported.
    pub metrics: &'a IndexMap<String, f64>,
    /// All samples of the first node, added up.
    pub tally: &'a Tally,
    /// Time in which the commands, Paceline or the machine stood still.
    pub stops: Stops,
    /// Why the observer had it stopped, if it had.
    pub stopped: Option<&'a str>,
}

/// Time of a run that was not the commands' own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stops {
    /// How often a command was stopped and went on.
    pub of_commands: u32,
    /// In which Paceline or the machine stood still.
    pub standstill: Standstill,
}

impl Stops {
    /// What they mean for the run's numbers, in words; nothing without any.
    #[must_use]
    pub fn evidence(&self) -> Vec<String> {
        let commands = (self.of_commands > 0).then_some(RunNotice::Suspended {
            times: self.of_commands,
        });
        let notices = commands.into_iter().chain(self.standstill.notices());
        notices.map(|notice| notice.to_string()).collect()
    }
}

/// What a run has to show.
#[derive(Debug, Default)]
pub struct Results {
    /// Its responses.
    pub responses: IndexMap<String, f64>,
    /// What the user should know of it.
    pub notices: Vec<RunNotice>,
}

/// The exit of one command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exit {
    /// The worker that the command was.
    pub worker: WorkerId,
    /// When it was started.
    pub started: Micros,
    /// When it exited.
    pub at: Micros,
    /// By itself or by a signal.
    pub status: ExitStatus,
    /// What the kernel accounts to it.
    pub usage: Usage,
}

/// Why a run has no closed record.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The commands could not be started. The record says so.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The record could not be written, so the commands were ended. What was
    /// written is kept and says `interrupted`.
    #[error(transparent)]
    Record(#[from] WriteRecordError),
    /// The file of reports could not be made or read.
    #[error("cannot follow {path}")]
    Reports {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A run that has been executed and recorded.
#[derive(Debug)]
pub struct Executed {
    /// The record's manifest.
    pub manifest: Manifest,
    /// The exit of each command, in the order of exit.
    pub exits: Vec<Exit>,
    /// All samples of the first node, added up.
    pub tally: Tally,
}

/// Executes a run and closes its record.
///
/// # Errors
/// If the commands cannot be started or the record cannot be written. How the
/// commands end is an outcome, never an error.
pub fn execute(
    engine: &dyn Engine,
    execution: Execution,
    clock: RunClock,
    writer: RunWriter,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Executed, ExecuteError> {
    let Execution {
        launch,
        patterns,
        reports,
        timeout,
    } = execution;
    let workers: Vec<WorkerId> = launch
        .commands
        .iter()
        .map(|command| command.worker)
        .collect();
    // By this, what the commands leave behind is found, cgroup or not.
    let mark = launch.commands.iter().find_map(|command| {
        let mark = command
            .env
            .iter()
            .rfind(|(name, _)| name == leftovers::MARK);
        mark.map(|(_, dir)| dir.clone())
    });
    let ends_leftovers = launch.leftovers == Leftovers::End;
    let mut ranks = launch.commands.iter().filter_map(|command| command.rank);
    let together = ranks.any(|rank| rank.world > 1);
    // The commands know the record by an absolute path.
    let run_dir = mark.as_deref().map_or(writer.dir(), Path::new);
    let event_files = EventFiles::new(&writer.start().cwd, run_dir, clock);
    let reporting = Reporting::new(&reports, patterns, event_files).map_err(|source| {
        ExecuteError::Reports {
            path: reports,
            source,
        }
    })?;
    let mut recording = Recording {
        writer,
        reporting,
        observer,
        node: None,
        tally: Tally::default(),
        started: Vec::new(),
        exits: Vec::new(),
        suspensions: 0,
        left: Vec::new(),
        stopped: None,
        together,
        failed: None,
    };
    let (sender, messages) = sync_channel(QUEUE);
    for &worker in &workers {
        recording.writer.log(worker, Stream::Out)?;
        recording.writer.log(worker, Stream::Err)?;
    }
    let watch = Watch::begin();
    let job = match engine.start(launch, clock, sender) {
        Ok(job) => job,
        Err(error) => {
            recording
                .writer
                .finish(End::new(Outcome::NotStarted, clock.now()))?;
            return Err(error.into());
        }
    };
    interrupt.watch(&job);
    // A signal that came before the job could be told of it.
    if interrupt.is_wanted() {
        job.kill();
    }
    let mut limit = TimeLimit {
        timeout,
        asked: None,
        stopping: None,
    };
    match listen(
        &mut recording,
        &messages,
        clock,
        &job,
        &mut limit,
        interrupt,
    ) {
        Ok(ending) => {
            recording.left = mark.map_or_else(Vec::new, |mark| leftovers::of(&mark));
            for left in recording.left.iter().filter(|_| ends_leftovers) {
                // What cannot be ended is told all the same.
                let _ = paceline_engine::host::end_process(left.number);
            }
            let cancelled = interrupt.is_wanted();
            let standstill = watch.end();
            recording.close(
                &clock,
                limit.asked.is_some(),
                cancelled,
                &ending,
                standstill,
            )
        }
        Err(error) => {
            // What cannot be recorded must not go on. The engine's last message
            // has to be awaited, so that no process outlives this call.
            job.kill();
            while messages.recv().is_ok() {}
            Err(error)
        }
    }
}

fn listen(
    recording: &mut Recording<'_>,
    messages: &Receiver<Message>,
    clock: RunClock,
    job: &Arc<dyn Job>,
    limit: &mut TimeLimit,
    interrupt: &Interrupt,
) -> Result<paceline_engine::Ending, ExecuteError> {
    loop {
        match messages.recv_timeout(GLANCE) {
            Ok(Message::Ended(ending)) => return Ok(ending),
            Ok(message) => recording.take(message)?,
            Err(RecvTimeoutError::Timeout) => recording.glance(clock.now())?,
            Err(RecvTimeoutError::Disconnected) => {
                unreachable!("an engine's last message is that the run has ended")
            }
        }
        if let Some(asked) = limit.enforce(clock.now(), job.as_ref(), interrupt) {
            recording.events(&[Event::of_asking(clock.now(), asked)])?;
        }
        recording.stop(clock.now(), job.as_ref());
        recording.end_together(clock.now(), job.as_ref());
    }
}

struct Recording<'a> {
    writer: RunWriter,
    reporting: Reporting,
    observer: &'a mut dyn Observer,
    node: Option<NodeName>,
    tally: Tally,
    started: Vec<(WorkerId, Micros)>,
    exits: Vec<Exit>,
    suspensions: u32,
    /// Processes that outlived the commands.
    left: Vec<Leftover>,
    /// When and why the observer had the run stopped.
    stopped: Option<(Micros, String)>,
    /// Whether the commands work together: without one, the others wait for ever.
    together: bool,
    /// When one of them failed.
    failed: Option<Micros>,
}

impl Recording<'_> {
    /// Ends a run that its observer has seen enough of: politely, then at once.
    fn stop(&mut self, now: Micros, job: &dyn Job) {
        match &self.stopped {
            None => {
                if let Some(why) = self.observer.stop() {
                    job.signal(SIGTERM);
                    self.stopped = Some((now, why));
                }
            }
            Some((asked, _)) if Duration::from(now.since(*asked)) >= GRACE => job.kill(),
            Some(_) => {}
        }
    }

    /// Ends the commands of a job of which one has failed: politely, then at once.
    fn end_together(&mut self, now: Micros, job: &dyn Job) {
        if !self.together {
            return;
        }
        match self.failed {
            None => {
                let failed = |exit: &Exit| exit.status != ExitStatus::Exited(0);
                if self.exits.iter().any(failed) {
                    job.signal(SIGTERM);
                    self.failed = Some(now);
                }
            }
            Some(since) if Duration::from(now.since(since)) >= GRACE => job.kill(),
            Some(_) => {}
        }
    }

    fn take(&mut self, message: Message) -> Result<(), ExecuteError> {
        match message {
            Message::Started { worker, at, pid } => {
                self.started.push((worker, at));
                self.lifecycle(at, worker, Lifecycle::Started { pid })
            }
            Message::Output {
                worker,
                stream,
                at,
                bytes,
            } => {
                self.writer.log(worker, stream)?.append(&bytes)?;
                let observer = &mut *self.observer;
                let events = self.reporting.output(worker, stream, at, &bytes, |line| {
                    observer.line(worker, line)
                });
                self.events(&events)
            }
            Message::Sample { node, sample } => {
                // Nodes of one run have one clock but many machines; sums are of one.
                if *self.node.get_or_insert_with(|| node.clone()) == node {
                    self.tally.add(&sample);
                }
                self.observer.sample(&node, &sample);
                self.writer.sample(&node, &sample)?;
                self.glance(sample.at)
            }
            Message::Suspended {
                worker,
                stopped,
                at,
            } => {
                self.suspensions += u32::from(stopped);
                let what = match stopped {
                    true => Lifecycle::Stopped,
                    false => Lifecycle::Continued,
                };
                self.lifecycle(at, worker, what)
            }
            Message::Exited {
                worker,
                at,
                status,
                usage,
            } => {
                let started = self.started.iter().find(|(started, _)| *started == worker);
                // A node may be lost before it has told of a start.
                let started = started.map_or(at, |&(_, at)| at);
                self.exits.push(Exit {
                    worker,
                    started,
                    at,
                    status,
                    usage,
                });
                // All that it reported comes before its exit: a record that has the
                // exit has everything.
                self.glance(at)?;
                let events = self.reporting.event_files(true);
                self.events(&events)?;
                self.lifecycle(at, worker, Lifecycle::Exited(status))
            }
            Message::Reports { node, at, bytes } => {
                let events = self.reporting.remote(&node, at, &bytes);
                self.events(&events)
            }
            Message::Noticed { node, at, what } => self.events(&[Event {
                at,
                worker: None,
                kind: EventKind::Notice,
                step: None,
                name: what.name().to_owned(),
                value: None,
                text: Some(format!("{node}: {}", what.describe())),
            }]),
            Message::Ended(_) => unreachable!("the caller takes the end itself"),
        }
    }

    /// Looks at what was reported in files.
    fn glance(&mut self, now: Micros) -> Result<(), ExecuteError> {
        let events = self.reporting.file(now);
        self.events(&events)?;
        let events = self.reporting.event_files(false);
        self.events(&events)
    }

    fn events(&mut self, events: &[Event]) -> Result<(), ExecuteError> {
        for event in events {
            self.writer.event(event)?;
            self.observer.event(event);
        }
        Ok(())
    }

    fn lifecycle(
        &mut self,
        at: Micros,
        worker: WorkerId,
        what: Lifecycle,
    ) -> Result<(), ExecuteError> {
        self.events(&[Event::of_process(at, worker, what)])
    }

    fn close(
        mut self,
        clock: &RunClock,
        timed_out: bool,
        cancelled: bool,
        ending: &paceline_engine::Ending,
        standstill: Standstill,
    ) -> Result<Executed, ExecuteError> {
        let observer = &mut *self.observer;
        let events = self
            .reporting
            .finish(clock.now(), |worker, line| observer.line(worker, line));
        self.events(&events)?;
        let found = crate::spark::reports(self.writer.dir());
        let events = self.reporting.told(found, clock.now());
        self.events(&events)?;
        let began = self
            .exits
            .iter()
            .map(|exit| exit.started)
            .min()
            .unwrap_or_default();
        let ended = self
            .exits
            .iter()
            .map(|exit| exit.at)
            .max()
            .unwrap_or_default();
        let duration = ended.since(began);
        let outcome = match worst(&self.exits) {
            // A command that finished its work before the signal is done all the same.
            ExitStatus::Exited(0) => Outcome::Exited(0),
            _ if timed_out => Outcome::TimedOut,
            _ if cancelled => Outcome::Cancelled,
            // The terminal sends Ctrl-C to the command, not to us.
            ExitStatus::Signalled(SIGINT | SIGQUIT) => Outcome::Cancelled,
            ExitStatus::Exited(code) => Outcome::Exited(code),
            ExitStatus::Signalled(signal) => Outcome::Signalled(signal),
            ExitStatus::Lost => Outcome::Lost,
        };
        let Results {
            responses,
            mut notices,
        } = self.observer.results(&Ended {
            duration,
            outcome: &outcome,
            exits: &self.exits,
            metrics: &self.reporting.results(),
            tally: &self.tally,
            stops: Stops {
                of_commands: self.suspensions,
                standstill,
            },
            stopped: self.stopped.as_ref().map(|(_, why)| why.as_str()),
        });
        if let Some((_, why)) = &self.stopped {
            notices.push(RunNotice::StoppedEarly { why: why.clone() });
        }
        notices.extend(self.notices(ending));
        notices.extend(standstill.notices());
        let mut end = End::new(outcome, duration);
        end.responses = responses;
        end.notices = notices.into_iter().map(Into::into).collect();
        end.overhead = ending.probe.map(|cost| Overhead {
            cpu_s: cost.cpu_s,
            mem_peak_bytes: None,
        });
        let manifest = self.writer.finish(end)?;
        Ok(Executed {
            manifest,
            exits: self.exits,
            tally: self.tally,
        })
    }

    fn notices(&self, ending: &paceline_engine::Ending) -> Vec<RunNotice> {
        let mut notices = self.reporting.notices();
        if ending.memory_kills > 0 {
            notices.push(RunNotice::OutOfMemory {
                limit_bytes: self.writer.start().limits.memory_bytes,
            });
        }
        let left = u32::try_from(self.left.len()).unwrap_or(u32::MAX);
        let left = left.max(ending.leftovers);
        if left > 0 {
            let named = self.left.iter().take(NAMED);
            notices.push(RunNotice::LeftoverProcesses {
                count: left,
                named: named
                    .map(|it| format!("{} {}", it.number, it.name))
                    .collect(),
            });
        }
        if self.suspensions > 0 {
            notices.push(RunNotice::Suspended {
                times: self.suspensions,
            });
        }
        if ending.probe.is_none() {
            notices.push(RunNotice::NotSampled);
        }
        notices
    }
}

/// The exit that decides the run's outcome: the first that is not a success.
fn worst(exits: &[Exit]) -> ExitStatus {
    let mut statuses = exits.iter().map(|exit| exit.status);
    statuses
        .find(|&status| status != ExitStatus::Exited(0))
        .unwrap_or(ExitStatus::Exited(0))
}
