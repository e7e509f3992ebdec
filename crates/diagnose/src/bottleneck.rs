//! Which resource held a run back during one interval.

use crate::Node;
use paceline_model::{Measure, Sample};
use std::fmt;

/// A resource that can hold a run back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Processor time.
    Cpu,
    /// Block devices.
    Disk,
    /// Main memory: reclaim, swapping.
    Memory,
    /// The way to other hosts, by the run's own connections.
    Network,
    /// The run's own GPUs.
    Gpu,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Disk => "disk",
            Self::Memory => "memory",
            Self::Network => "network",
            Self::Gpu => "gpu",
        })
    }
}

/// What held a run back during an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// This resource.
    Resource(Resource),
    /// Nothing that a counter shows: the run slept or waited for somebody else.
    Nothing,
}

impl Holder {
    /// Every holder, in the order in which ties are decided.
    pub const ALL: [Self; 6] = [
        Self::Resource(Resource::Gpu),
        Self::Resource(Resource::Memory),
        Self::Resource(Resource::Disk),
        Self::Resource(Resource::Cpu),
        Self::Resource(Resource::Network),
        Self::Nothing,
    ];
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(resource) => resource.fmt(f),
            Self::Nothing => f.write_str("waiting"),
        }
    }
}

/// How it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Tasks waited for the resource (PSI): a share of the time.
    Pressure,
    /// The run's CPU limit held it back: a share of the time.
    Throttled,
    /// The resource was used to its limit.
    Saturated,
    /// Nothing was.
    Unknown,
}

impl Cause {
    /// Every cause, the strongest evidence last.
    pub const ALL: [Self; 4] = [
        Self::Unknown,
        Self::Saturated,
        Self::Throttled,
        Self::Pressure,
    ];
}

/// From where on a reading counts as evidence. Shares are of the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Memory pressure: reclaim hurts early, so a tenth of the time is much.
    pub memory_pressure: f64,
    /// Disk pressure.
    pub disk_pressure: f64,
    /// CPU pressure. Tasks queue briefly on any busy machine, so a fifth.
    pub cpu_pressure: f64,
    /// CPUs used, as a share of one CPU: a thread that computes without pause.
    pub cpu_of_one: f64,
    /// The share of the interval in which the busiest disk had work.
    pub disk_busy: f64,
    /// The share of sent segments that TCP had to send again.
    pub retransmitted: f64,
    /// The share of the interval in which the run's GPUs executed anything.
    pub gpu_busy: f64,
    /// Network bytes per second below which a waiting run does not wait for it.
    pub network_bytes_per_s: f64,
    /// The share of the interval in which one of the run's connections had data
    /// on its way.
    pub network_busy: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_pressure: 0.10,
            disk_pressure: 0.20,
            cpu_pressure: 0.20,
            cpu_of_one: 0.85,
            disk_busy: 0.80,
            retransmitted: 0.01,
            gpu_busy: 0.85,
            network_bytes_per_s: 1e6,
            network_busy: 0.80,
        }
    }
}

/// One interval's verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Class {
    pub(crate) holder: Holder,
    pub(crate) cause: Cause,
    pub(crate) strength: f64,
}

/// Gives the interval of `sample` to what held the run back: pressure first,
/// the strongest if there are several; saturation second.
pub(crate) fn classify(sample: &Sample, node: Node, limits: &Limits) -> Class {
    let seconds = sample.interval.as_secs();
    if seconds <= 0.0 {
        return Class {
            holder: Holder::Nothing,
            cause: Cause::Unknown,
            strength: 0.0,
        };
    }
    let read = |measure| sample.readings.get(measure);
    let share = |measure| read(measure).map(|value| (value / seconds).clamp(0.0, 1.0));
    let amount = |measure| read(measure).unwrap_or(0.0);

    // A GPU that hardly pauses is what the run is as fast as, whatever its processes
    // do meanwhile: one that waits for its GPU often keeps a CPU busy with it.
    if let Some(busy) = read(Measure::RunGpuBusy).filter(|&busy| busy >= limits.gpu_busy) {
        return Class {
            holder: Holder::Resource(Resource::Gpu),
            cause: Cause::Saturated,
            strength: busy,
        };
    }

    let run_cpus = (amount(Measure::RunCpuUser) + amount(Measure::RunCpuSystem)) / seconds;
    let run_disk_bytes = amount(Measure::RunDiskRead) + amount(Measure::RunDiskWrite);

    // The run's own pressure is about the run. The node's is about everybody on
    // it, so it counts only while the run uses that resource itself.
    let pressure = |own, node_wide, involved: bool| {
        share(own)
            .or_else(|| share(node_wide).filter(|_| involved))
            .unwrap_or(0.0)
    };
    let memory = pressure(Measure::RunPsiMemorySome, Measure::NodePsiMemorySome, true);
    let disk = pressure(
        Measure::RunPsiIoSome,
        Measure::NodePsiIoSome,
        run_disk_bytes > 0.0,
    );
    let cpu = pressure(
        Measure::RunPsiCpuSome,
        Measure::NodePsiCpuSome,
        run_cpus >= 0.5,
    );
    let throttled = share(Measure::RunCpuThrottled).unwrap_or(0.0);

    let pressures = [
        (
            Resource::Memory,
            Cause::Pressure,
            memory,
            limits.memory_pressure,
        ),
        (Resource::Disk, Cause::Pressure, disk, limits.disk_pressure),
        (
            Resource::Cpu,
            Cause::Throttled,
            throttled,
            limits.cpu_pressure,
        ),
        (Resource::Cpu, Cause::Pressure, cpu, limits.cpu_pressure),
    ];
    let strongest = pressures
        .into_iter()
        .filter(|&(_, _, value, limit)| value >= limit)
        .max_by(|a, b| a.2.total_cmp(&b.2));
    if let Some((resource, cause, strength, _)) = strongest {
        return Class {
            holder: Holder::Resource(resource),
            cause,
            strength,
        };
    }

    let saturated = |resource, strength| Class {
        holder: Holder::Resource(resource),
        cause: Cause::Saturated,
        strength,
    };
    if run_cpus >= limits.cpu_of_one.min(node.cpus as f64) {
        return saturated(Resource::Cpu, run_cpus);
    }
    let disk_busy = share(Measure::NodeDiskBusy).unwrap_or(0.0);
    if disk_busy >= limits.disk_busy && run_disk_bytes > 0.0 {
        return saturated(Resource::Disk, disk_busy);
    }
    // No counter tells the speed of a link for certain. A run that neither
    // computes nor waits for a disk while much of its own data moves, or while
    // its own connection always has some on its way, waits for that data. What
    // the machine moves says nothing about the run: it may be anybody's.
    let net_rate = (amount(Measure::RunNetRx) + amount(Measure::RunNetTx)) / seconds;
    let again = amount(Measure::RunTcpRetransmits) / amount(Measure::RunTcpSegments).max(100.0);
    let net_busy = share(Measure::RunNetBusy).unwrap_or(0.0);
    let computing = run_cpus >= 0.5;
    let is_moving =
        net_rate >= limits.network_bytes_per_s || net_busy >= limits.network_busy && net_rate > 0.0;
    if !computing && (is_moving || again > limits.retransmitted && net_rate > 0.0) {
        return saturated(Resource::Network, net_rate);
    }
    Class {
        holder: Holder::Nothing,
        cause: Cause::Unknown,
        strength: 0.0,
    }
}
