//! One reading after the other.

use crate::budget::thread_cpu_time;
use crate::counter::Tick;
use crate::gpu::Gpus;
use crate::node::Node;
use crate::parts::Parts;
use crate::roots::Roots;
use crate::run::Run;
use crate::scan::{number, words};
use crate::source::Buffer;
use crate::target::Target;
use paceline_model::{GapReason, Measure, Micros, Readings, Sample};
use std::path::PathBuf;
use std::time::Duration;

/// Reads what the node and the run use.
///
/// The files of the kernel stay open and are read into one buffer. A sample
/// that is filled by [`Probe::sample_into`] allocates nothing as long as no
/// process, device or core appears.
#[derive(Debug)]
pub struct Probe {
    node: Node,
    gpus: Gpus,
    run: Run,
    buffer: Buffer,
    ticks: u64,
    at: Micros,
    /// Columns that have been read and should not go missing, one bit each.
    expected: u128,
    own_memory: PathBuf,
    cpu: Duration,
    samples: u64,
}

/// Why there can be no probe.
#[derive(Debug, thiserror::Error)]
pub enum OpenProbeError {
    /// The kernel's counters are not where they should be.
    #[error("{path} cannot be read: this probe needs Linux with procfs mounted")]
    NoProc {
        /// The file that was looked for.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
}

/// What probing has cost so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// CPU time spent in readings, the baseline and the threads that ask drivers
    /// included.
    pub cpu_s: f64,
    /// Readings after the baseline.
    pub samples: u64,
    /// Resident memory of the whole process that holds the probe.
    pub rss_bytes: Option<u64>,
}

impl Probe {
    /// Opens the kernel's files and takes the first reading, which only sets
    /// the counters' beginnings. `now` is the time since the run's start.
    ///
    /// # Errors
    /// If there is no `/proc/stat`. Everything else may be missing: its
    /// columns then are.
    pub fn new(target: &Target, now: Micros) -> Result<Self, OpenProbeError> {
        Self::with_roots(target, &Roots::default(), now)
    }

    /// [`Probe::new`] with the kernel's files in another place.
    ///
    /// # Errors
    /// As for [`Probe::new`].
    pub fn with_roots(target: &Target, roots: &Roots, now: Micros) -> Result<Self, OpenProbeError> {
        let begin = thread_cpu_time();
        let stat = roots.proc.join("stat");
        let mut buffer = Buffer::new();
        if let Err(error) = buffer.read_once(&stat) {
            return Err(OpenProbeError::NoProc {
                path: stat,
                source: error.into(),
            });
        }
        let mut probe = Self {
            node: Node::open(roots),
            gpus: Gpus::open(roots),
            run: Run::open(target, roots, &mut buffer),
            buffer,
            ticks: 0,
            at: now,
            expected: 0,
            own_memory: roots.proc.join("self/statm"),
            cpu: Duration::ZERO,
            samples: 0,
        };
        probe.read(now, &mut empty_sample());
        probe.cpu = thread_cpu_time().saturating_sub(begin);
        Ok(probe)
    }

    /// Takes a reading. Amounts are those since the reading before.
    #[must_use]
    pub fn sample(&mut self, now: Micros) -> Sample {
        let mut sample = empty_sample();
        self.sample_into(now, &mut sample);
        sample
    }

    /// Takes a reading over an earlier sample, whose memory is used again.
    pub fn sample_into(&mut self, now: Micros, sample: &mut Sample) {
        let begin = thread_cpu_time();
        self.read(now, sample);
        self.samples += 1;
        self.cpu += thread_cpu_time().saturating_sub(begin);
    }

    /// What probing has cost so far.
    #[must_use]
    pub fn cost(&mut self) -> Cost {
        let pages = self.buffer.read_once(&self.own_memory).ok();
        let resident = pages.and_then(|text| words(text).nth(1).and_then(number));
        Cost {
            cpu_s: (self.cpu + self.gpus.cpu()).as_secs_f64(),
            samples: self.samples,
            rss_bytes: resident.map(|pages| pages * rustix::param::page_size() as u64),
        }
    }

    fn read(&mut self, now: Micros, sample: &mut Sample) {
        self.ticks += 1;
        let mut tick = Tick::new(self.ticks, now.since(self.at));
        self.at = now;
        sample.at = now;
        sample.interval = tick.interval;
        sample.readings = Readings::default();
        let mut parts = Parts::over(&mut sample.parts);
        self.node.read(
            &mut tick,
            &mut self.buffer,
            &mut sample.readings,
            &mut parts,
        );
        self.gpus.read(&mut tick);
        let has_run = self.run.is_any();
        if has_run {
            self.run.read(
                &mut tick,
                &self.node,
                &self.gpus,
                &mut self.buffer,
                &mut sample.readings,
                &mut parts,
            );
        }
        let run = &self.run;
        let is_run = |pid| run.has(pid);
        self.gpus.report(
            &mut tick,
            &mut sample.readings,
            &mut parts,
            has_run.then_some(&is_run),
        );
        parts.finish();
        let present = steady_columns(&sample.readings);
        let is_missing = self.expected & !present != 0;
        self.expected |= present;
        sample.gap = tick.gap().or(is_missing.then_some(GapReason::Unreadable));
    }
}

fn empty_sample() -> Sample {
    Sample {
        at: Micros::ZERO,
        interval: Micros::ZERO,
        gap: None,
        readings: Readings::default(),
        parts: Vec::new(),
    }
}

/// The columns that were read, apart from those that are read now and then.
fn steady_columns(readings: &Readings) -> u128 {
    readings
        .iter()
        .filter(|(measure, _)| {
            !matches!(
                measure,
                Measure::NodeCpuFrequency
                    | Measure::RunMemPss
                    | Measure::RunContextSwitches
                    // One process that became somebody else's hides them all.
                    | Measure::RunNetRx
                    | Measure::RunNetTx
                    | Measure::RunNetBusy
                    | Measure::RunLoopbackRx
                    | Measure::RunLoopbackTx
                    | Measure::RunTcpSegments
                    | Measure::RunTcpRetransmits
                    | Measure::RunTcpSockets
                    // A GPU's driver notes itself what it does not tell.
                    | Measure::NodeGpus
                    | Measure::NodeGpuBusy
                    | Measure::NodeGpuMem
                    | Measure::NodeGpuMemTotal
                    | Measure::NodeGpuPower
                    | Measure::NodeGpuTemperature
                    | Measure::NodeGpuPcieRx
                    | Measure::NodeGpuPcieTx
                    | Measure::NodeGpuNvlinkRx
                    | Measure::NodeGpuNvlinkTx
                    | Measure::NodeGpuEnergy
                    | Measure::RunGpus
                    | Measure::RunGpuBusy
                    | Measure::RunGpuMem
            )
        })
        .fold(0, |mask, (measure, _)| mask | 1 << measure as u8)
}
