//! What the view shows: a picture of the run that samples, events, output and
//! keys bring up to date.

use super::history::History;
use super::input::Action;
use super::log::Log;
use indexmap::IndexMap;
use paceline_model::{
    Event, EventKind, ExitStatus, Lifecycle, Measure, Micros, PartKind, PartMeasure, PartReading,
    Sample, Stream,
};

/// A job that reports more names than this is not shown all of them.
const MOST_METRICS: usize = 64;

/// What is known of a run before it starts.
#[derive(Debug, Clone)]
pub struct Title {
    /// What the run is called.
    pub name: String,
    /// The command as it was typed.
    pub command: String,
    /// The logical CPUs of the machine.
    pub cpus: u32,
}

/// The whole picture.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) title: Title,
    pub(super) elapsed: Micros,
    pub(super) progress: Progress,
    pub(super) resources: Resources,
    pub(super) processes: Vec<Process>,
    pub(super) sort: Sort,
    pub(super) metrics: IndexMap<String, Metric>,
    pub(super) log: Log,
    /// How many lines the log is scrolled back.
    pub(super) scrolled: usize,
}

/// How far the run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Progress {
    /// It runs.
    Running,
    /// It was stopped (Ctrl-Z) and waits to go on.
    Stopped,
    /// The user asked for its end.
    Ending,
    /// It has exited: how.
    Ended(ExitStatus),
}

/// The recent past of each resource. Rates are per second.
#[derive(Debug, Clone, Default)]
pub(super) struct Resources {
    pub(super) cpus: History,
    pub(super) memory: History,
    pub(super) disk_read: History,
    pub(super) disk_write: History,
    pub(super) received: History,
    pub(super) sent: History,
    /// How busy the run's GPUs are; the machine's where no driver tells whose.
    pub(super) gpu: History,
    /// The strongest pressure, as a share of the time.
    pub(super) pressure: History,
    /// What that pressure is about.
    pub(super) pressed: &'static str,
}

/// One process of the run, as last seen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Process {
    pub(super) pid: String,
    pub(super) command: String,
    pub(super) cpus: f64,
    pub(super) memory: f64,
    pub(super) threads: f64,
    pub(super) disk_read: Option<f64>,
    pub(super) disk_write: Option<f64>,
}

/// What processes are ordered by, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Cpu,
    Memory,
    Disk,
}

/// A number that the command reports.
#[derive(Debug, Clone, Default)]
pub(super) struct Metric {
    /// Kept apart from the history, in which NaN is a gap.
    pub(super) last: f64,
    pub(super) step: Option<u64>,
    pub(super) history: History,
}

impl State {
    pub(super) fn new(title: Title) -> Self {
        Self {
            title,
            elapsed: Micros::ZERO,
            progress: Progress::Running,
            resources: Resources::default(),
            processes: Vec::new(),
            sort: Sort::Cpu,
            metrics: IndexMap::new(),
            log: Log::default(),
            scrolled: 0,
        }
    }

    pub(super) fn sample(&mut self, sample: &Sample) {
        let seconds = sample.interval.as_secs().max(1e-6);
        self.resources.push(sample, seconds);
        self.processes = sample
            .parts
            .iter()
            .filter(|part| part.kind == PartKind::Process)
            .map(|part| Process::new(part, seconds))
            .collect();
        self.order();
    }

    pub(super) fn event(&mut self, event: &Event) {
        match (event.kind, event.value) {
            (EventKind::Metric, Some(value)) => {
                if self.metrics.len() == MOST_METRICS && !self.metrics.contains_key(&event.name) {
                    return;
                }
                let metric = self.metrics.entry(event.name.clone()).or_default();
                metric.last = value;
                metric.step = event.step;
                metric.history.push(Some(value));
            }
            (EventKind::Lifecycle, _) => match event.lifecycle() {
                Some(Lifecycle::Stopped) => self.progress = Progress::Stopped,
                Some(Lifecycle::Continued) if self.progress == Progress::Stopped => {
                    self.progress = Progress::Running;
                }
                Some(Lifecycle::Exited(status)) => self.progress = Progress::Ended(status),
                Some(Lifecycle::Started { .. } | Lifecycle::Continued) | None => {}
            },
            _ => {}
        }
    }

    pub(super) fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.log.push(stream, bytes);
    }

    /// Takes what a key means for the picture. What it means for the run is the
    /// caller's.
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::End if !matches!(self.progress, Progress::Ended(_)) => {
                self.progress = Progress::Ending;
            }
            Action::Sort => {
                self.sort = match self.sort {
                    Sort::Cpu => Sort::Memory,
                    Sort::Memory => Sort::Disk,
                    Sort::Disk => Sort::Cpu,
                };
                self.order();
            }
            Action::Back(lines) => {
                self.scrolled = (self.scrolled + lines).min(self.log.lines().count());
            }
            Action::Forth(lines) => self.scrolled = self.scrolled.saturating_sub(lines),
            Action::Latest => self.scrolled = 0,
            Action::End | Action::Pause | Action::Suspend | Action::Redraw => {}
        }
    }

    fn order(&mut self) {
        let sort = self.sort;
        let key = |process: &Process| match sort {
            Sort::Cpu => process.cpus,
            Sort::Memory => process.memory,
            Sort::Disk => process.disk_read.unwrap_or(0.0) + process.disk_write.unwrap_or(0.0),
        };
        // Equal ones stay in the order of the sample, so that rows do not dance.
        self.processes.sort_by(|a, b| key(b).total_cmp(&key(a)));
    }
}

impl Resources {
    fn push(&mut self, sample: &Sample, seconds: f64) {
        let read = |measure| sample.readings.get(measure);
        let rate = |measure| read(measure).map(|amount| amount / seconds);
        let cpus = rate(Measure::RunCpuUser).zip(rate(Measure::RunCpuSystem));
        self.cpus.push(cpus.map(|(user, system)| user + system));
        // Not the proportional share, which is read only now and then: a line that
        // alternates between two measures would show what is not there.
        self.memory.push(read(Measure::RunMemRss));
        self.disk_read.push(rate(Measure::RunDiskRead));
        self.disk_write.push(rate(Measure::RunDiskWrite));
        // The run's own connections; the node's where nobody knows whose it is.
        self.received
            .push(rate(Measure::RunNetRx).or(rate(Measure::NodeNetRx)));
        self.sent
            .push(rate(Measure::RunNetTx).or(rate(Measure::NodeNetTx)));
        // Read once a second at most: between two readings there is nothing to show.
        if read(Measure::NodeGpus).is_some() {
            let of_run = read(Measure::RunGpus);
            let busy = read(Measure::RunGpuBusy);
            self.gpu.push(match of_run {
                Some(_) => busy,
                None => read(Measure::NodeGpuBusy),
            });
        }
        // The run's own pressure is about the run; the node's is better than none.
        let pressures = [
            ("cpu", Measure::RunPsiCpuSome, Measure::NodePsiCpuSome),
            (
                "memory",
                Measure::RunPsiMemorySome,
                Measure::NodePsiMemorySome,
            ),
            ("disk", Measure::RunPsiIoSome, Measure::NodePsiIoSome),
        ];
        let strongest = pressures
            .into_iter()
            .filter_map(|(name, run, node)| Some((name, rate(run).or_else(|| rate(node))?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        self.pressed = strongest.map_or("", |(name, _)| name);
        self.pressure
            .push(strongest.map(|(_, share)| share.clamp(0.0, 1.0)));
    }
}

impl Process {
    fn new(part: &PartReading, seconds: f64) -> Self {
        let (pid, command) = part.name.split_once(' ').unwrap_or((&part.name, ""));
        let read = |measure| part.readings.get(measure);
        let rate = |measure| read(measure).map(|amount| amount / seconds);
        Self {
            pid: pid.to_owned(),
            command: command.to_owned(),
            cpus: rate(PartMeasure::CpuUser).unwrap_or(0.0)
                + rate(PartMeasure::CpuSystem).unwrap_or(0.0),
            memory: read(PartMeasure::MemRss).unwrap_or(0.0),
            threads: read(PartMeasure::Threads).unwrap_or(0.0),
            disk_read: rate(PartMeasure::DiskRead),
            disk_write: rate(PartMeasure::DiskWrite),
        }
    }
}

impl Sort {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Disk => "disk",
        }
    }
}
