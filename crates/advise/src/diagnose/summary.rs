//! Mean and peak of each resource.

use paceline_model::{Measure, Sample};

/// The mean over the run and the highest interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// The mean over all intervals in which the value was read.
    pub mean: f64,
    /// The highest value of any interval.
    pub peak: f64,
    /// The sum over the run, for amounts; the last value, for levels.
    pub total: f64,
}

/// What a run used. Anything that was never read is absent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// CPUs in use by the run.
    pub cpus: Option<Amount>,
    /// CPUs in use on the node by others than the run.
    pub foreign_cpus: Option<Amount>,
    /// Memory of the run, in bytes.
    pub memory_bytes: Option<Amount>,
    /// Disk reads of the run, in bytes per second.
    pub disk_read_bytes_per_s: Option<Amount>,
    /// Disk writes of the run, in bytes per second.
    pub disk_write_bytes_per_s: Option<Amount>,
    /// Bytes received per second by the node, loopback excluded.
    pub net_rx_bytes_per_s: Option<Amount>,
    /// Bytes sent per second by the node, loopback excluded.
    pub net_tx_bytes_per_s: Option<Amount>,
    /// Bytes per second over loopback.
    pub loopback_bytes_per_s: Option<Amount>,
    /// CPUs taken by the hypervisor.
    pub steal_cpus: Option<Amount>,
    /// CPUs idle while a disk request was outstanding.
    pub iowait_cpus: Option<Amount>,
}

impl Usage {
    pub(super) fn of(samples: &[Sample]) -> Self {
        let run_cpu = |s: &Sample| add(s, Measure::RunCpuUser, Measure::RunCpuSystem);
        let node_cpu = |s: &Sample| add(s, Measure::NodeCpuUser, Measure::NodeCpuSystem);
        let one = |measure: Measure| move |s: &Sample| s.readings.get(measure);
        Self {
            cpus: rate(samples, run_cpu),
            foreign_cpus: rate(samples, |s| Some((node_cpu(s)? - run_cpu(s)?).max(0.0))),
            memory_bytes: level(samples, |s| {
                let resident = s.readings.get(Measure::RunMemPss);
                resident.or_else(|| s.readings.get(Measure::RunMemRss))
            }),
            disk_read_bytes_per_s: rate(samples, one(Measure::RunDiskRead)),
            disk_write_bytes_per_s: rate(samples, one(Measure::RunDiskWrite)),
            net_rx_bytes_per_s: rate(samples, one(Measure::NodeNetRx)),
            net_tx_bytes_per_s: rate(samples, one(Measure::NodeNetTx)),
            loopback_bytes_per_s: rate(samples, one(Measure::NodeLoopback)),
            steal_cpus: rate(samples, one(Measure::NodeCpuSteal)),
            iowait_cpus: rate(samples, one(Measure::NodeCpuIowait)),
        }
    }
}

fn add(sample: &Sample, a: Measure, b: Measure) -> Option<f64> {
    Some(sample.readings.get(a)? + sample.readings.get(b)?)
}

/// An amount per second. Intervals shorter than a twentieth of a second (the
/// last one, cut off by the end of the run) count in mean and total but not in
/// the peak: a clock tick of CPU time in a millisecond is not ten CPUs.
fn rate(samples: &[Sample], read: impl Fn(&Sample) -> Option<f64>) -> Option<Amount> {
    const SHORTEST_FOR_PEAK_S: f64 = 0.05;
    let (mut seconds, mut total, mut peak) = (0.0, 0.0, f64::NAN);
    for sample in samples {
        let interval = sample.interval.as_secs();
        let Some(value) = read(sample).filter(|_| interval > 0.0) else {
            continue;
        };
        seconds += interval;
        total += value;
        if interval >= SHORTEST_FOR_PEAK_S {
            peak = f64::max(peak, value / interval);
        }
    }
    let mean = total / seconds;
    (seconds > 0.0).then_some(Amount {
        mean,
        peak: f64::max(peak, mean),
        total,
    })
}

/// A level: its mean weighted by time.
fn level(samples: &[Sample], read: impl Fn(&Sample) -> Option<f64>) -> Option<Amount> {
    let (mut seconds, mut weighted, mut peak, mut last) = (0.0, 0.0, f64::NAN, 0.0);
    for sample in samples {
        let Some(value) = read(sample) else { continue };
        seconds += sample.interval.as_secs();
        weighted += value * sample.interval.as_secs();
        peak = f64::max(peak, value);
        last = value;
    }
    (seconds > 0.0).then(|| Amount {
        mean: weighted / seconds,
        peak,
        total: last,
    })
}
