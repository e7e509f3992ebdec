//! Adding up samples one by one, so that a run of any length takes no memory.

use crate::Amount;
use crate::gpu::{Energy, GpuTally};
use paceline_model::{Aggregate, GapReason, Measure, RunValue, Sample};

/// Everything a summary of a run needs from its samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    pub(crate) run_cpus: Rate,
    pub(crate) foreign_cpus: Rate,
    memory: Level,
    memory_peak: Option<f64>,
    pub(crate) disk_read: Rate,
    pub(crate) disk_write: Rate,
    /// What the run's own sockets moved, and what the whole node did.
    own_net: Traffic,
    node_net: Traffic,
    pub(crate) steal: Rate,
    pub(crate) iowait: Rate,
    cpu_user: Rate,
    cpu_system: Rate,
    psi_cpu: Rate,
    psi_memory: Rate,
    psi_io: Rate,
    pub(crate) swapped: Rate,
    pub(crate) throttled: Rate,
    pub(crate) net_faults: Rate,
    pub(crate) energy: Energy,
    pub(crate) gpu: GpuTally,
    frequency: Option<(f64, f64)>,
    gaps: [usize; GapReason::ALL.len()],
}

impl Tally {
    /// Takes the next sample.
    pub fn add(&mut self, sample: &Sample) {
        let seconds = sample.interval.as_secs();
        // Amounts are divided by their time, levels are not: the column says which
        // it is.
        let read = |measure: Measure| {
            debug_assert_eq!(measure.aggregate(), Aggregate::Sum, "{measure:?}");
            sample.readings.get(measure)
        };
        let level = |measure: Measure| {
            debug_assert_eq!(measure.aggregate(), Aggregate::Level, "{measure:?}");
            sample.readings.get(measure)
        };
        let both = |a, b| Some(read(a)? + read(b)?);
        let run_cpu = both(Measure::RunCpuUser, Measure::RunCpuSystem);
        let node_cpu = both(Measure::NodeCpuUser, Measure::NodeCpuSystem);
        let foreign = node_cpu
            .zip(run_cpu)
            .map(|(node, run)| (node - run).max(0.0));
        for (rate, value) in [
            (&mut self.run_cpus, run_cpu),
            (&mut self.foreign_cpus, foreign),
            (&mut self.disk_read, read(Measure::RunDiskRead)),
            (&mut self.disk_write, read(Measure::RunDiskWrite)),
            (&mut self.own_net.received, read(Measure::RunNetRx)),
            (&mut self.own_net.sent, read(Measure::RunNetTx)),
            // Both ends may be the run's: as for the node, what was sent counts,
            // unless somebody else sent it.
            (
                &mut self.own_net.loopback,
                read(Measure::RunLoopbackTx)
                    .zip(read(Measure::RunLoopbackRx))
                    .map(|(sent, received)| sent.max(received)),
            ),
            (&mut self.own_net.segments, read(Measure::RunTcpSegments)),
            (
                &mut self.own_net.retransmits,
                read(Measure::RunTcpRetransmits),
            ),
            (&mut self.node_net.received, read(Measure::NodeNetRx)),
            (&mut self.node_net.sent, read(Measure::NodeNetTx)),
            (&mut self.node_net.loopback, read(Measure::NodeLoopback)),
            (&mut self.node_net.segments, read(Measure::NodeNetTxPackets)),
            (
                &mut self.node_net.retransmits,
                read(Measure::NodeTcpRetransmits),
            ),
            (&mut self.steal, read(Measure::NodeCpuSteal)),
            (&mut self.iowait, read(Measure::NodeCpuIowait)),
            (&mut self.cpu_user, read(Measure::RunCpuUser)),
            (&mut self.cpu_system, read(Measure::RunCpuSystem)),
            (
                &mut self.psi_cpu,
                read(Measure::RunPsiCpuSome).or(read(Measure::NodePsiCpuSome)),
            ),
            (
                &mut self.psi_memory,
                read(Measure::RunPsiMemorySome).or(read(Measure::NodePsiMemorySome)),
            ),
            (
                &mut self.psi_io,
                read(Measure::RunPsiIoSome).or(read(Measure::NodePsiIoSome)),
            ),
            (
                &mut self.swapped,
                both(Measure::NodeSwapIn, Measure::NodeSwapOut),
            ),
            (&mut self.throttled, read(Measure::RunCpuThrottled)),
            (
                &mut self.net_faults,
                both(Measure::NodeNetErrors, Measure::NodeNetDrops),
            ),
        ] {
            rate.add(value, seconds);
        }
        self.energy.add(sample);
        self.gpu.add(sample);
        // At the last reading the commands have exited and hold nothing any more;
        // that is no memory they worked with.
        let held = level(Measure::RunMemPss).or(level(Measure::RunMemRss));
        self.memory.add(held.filter(|&bytes| bytes > 0.0), seconds);
        if let Some(peak) = level(Measure::RunMemPeak) {
            self.memory_peak = Some(self.memory_peak.map_or(peak, |known| known.max(peak)));
        }
        if let Some(rate) = level(Measure::NodeCpuFrequency) {
            let (lowest, highest) = self.frequency.unwrap_or((rate, rate));
            self.frequency = Some((lowest.min(rate), highest.max(rate)));
        }
        if let Some(reason) = sample.gap {
            self.gaps[reason as usize] += 1;
        }
    }

    /// Memory of the run. The cgroup's own high-water mark sees peaks between two
    /// readings.
    pub(crate) fn memory(&self) -> Option<Amount> {
        let sampled = self.memory.amount();
        let peak = self.memory_peak.filter(|&peak| peak > 0.0);
        match (sampled, peak) {
            (Some(amount), Some(peak)) => Some(Amount {
                peak: amount.peak.max(peak),
                ..amount
            }),
            (Some(amount), None) => Some(amount),
            (None, Some(peak)) => Some(Amount {
                mean: peak,
                peak,
                total: peak,
            }),
            (None, None) => None,
        }
    }

    /// Whether the traffic is known to be the run's own.
    pub(crate) fn net_is_own(&self) -> bool {
        self.own_net.received.seconds() > 0.0
    }

    /// What the run moved; the whole node where the run's own is unknown.
    pub(crate) fn net(&self) -> &Traffic {
        if self.net_is_own() {
            &self.own_net
        } else {
            &self.node_net
        }
    }

    /// The lowest clock rate of the cores as a share of the highest.
    pub(crate) fn lowest_frequency(&self) -> Option<f64> {
        let (lowest, highest) = self.frequency.filter(|&(_, highest)| highest > 0.0)?;
        Some(lowest / highest)
    }

    /// How many samples are out of the ordinary, and the most frequent reason.
    pub(crate) fn gaps(&self) -> Option<(usize, GapReason)> {
        let reason = GapReason::ALL
            .into_iter()
            .max_by_key(|&reason| self.gaps[reason as usize])?;
        let count = self.gaps.iter().sum();
        (count > 0).then_some((count, reason))
    }

    /// A value of a study's table; what was never read is absent. The duration
    /// is the caller's to know.
    #[must_use]
    pub fn value(&self, value: RunValue, duration_s: Option<f64>) -> Option<f64> {
        let mean = |amount: Option<Amount>| amount.map(|amount| amount.mean);
        let peak = |amount: Option<Amount>| amount.map(|amount| amount.peak);
        let total = |rate: &Rate| rate.amount().map(|amount| amount.total);
        match value {
            RunValue::Duration => duration_s,
            RunValue::CpuMean => mean(self.run_cpus.amount()),
            RunValue::CpuPeak => peak(self.run_cpus.amount()),
            RunValue::CpuUser => total(&self.cpu_user),
            RunValue::CpuSystem => total(&self.cpu_system),
            RunValue::MemMean => mean(self.memory()),
            RunValue::MemPeak => peak(self.memory()),
            RunValue::DiskRead => total(&self.disk_read),
            RunValue::DiskWrite => total(&self.disk_write),
            RunValue::NetRx => total(&self.net().received),
            RunValue::NetTx => total(&self.net().sent),
            RunValue::Iowait => total(&self.iowait),
            RunValue::Steal => total(&self.steal),
            RunValue::PsiCpu => total(&self.psi_cpu),
            RunValue::PsiMemory => total(&self.psi_memory),
            RunValue::PsiIo => total(&self.psi_io),
            RunValue::Energy => self.energy.total(),
            RunValue::CpuEnergy => self.energy.cpu,
            RunValue::DramEnergy => self.energy.dram,
            RunValue::GpuEnergy => self.energy.gpu,
            RunValue::GpuBusy => mean(self.gpu.busy()),
            RunValue::GpuMem => peak(self.gpu.memory()),
        }
    }
}

/// What moved over a network.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Traffic {
    /// From and to other hosts.
    pub(crate) received: Rate,
    pub(crate) sent: Rate,
    pub(crate) loopback: Rate,
    /// Sent to other hosts; of the node, packets of every kind.
    pub(crate) segments: Rate,
    /// Sent again; of the node, over loopback as well.
    pub(crate) retransmits: Rate,
}

/// An amount per second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Rate {
    seconds: f64,
    total: f64,
    peak: Option<f64>,
}

impl Rate {
    /// Intervals shorter than this (the last one, cut off by the end of the run)
    /// count in mean and total but not in the peak: a clock tick of CPU time in a
    /// millisecond is not ten CPUs.
    const SHORTEST_FOR_PEAK_S: f64 = 0.05;

    fn add(&mut self, value: Option<f64>, seconds: f64) {
        let Some(value) = value.filter(|_| seconds > 0.0) else {
            return;
        };
        self.seconds += seconds;
        self.total += value;
        if seconds >= Self::SHORTEST_FOR_PEAK_S {
            let rate = value / seconds;
            self.peak = Some(self.peak.map_or(rate, |peak| peak.max(rate)));
        }
    }

    pub(crate) fn amount(&self) -> Option<Amount> {
        let mean = self.total / self.seconds;
        // An interval too short for a peak may be the busiest of all.
        let peak = self.peak.map_or(mean, |peak| peak.max(mean));
        (self.seconds > 0.0).then_some(Amount {
            mean,
            peak,
            total: self.total,
        })
    }

    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// The time in which the value was read.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// A level: its mean weighted by time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Level {
    seconds: f64,
    weighted: f64,
    peak: f64,
    last: f64,
}

impl Level {
    pub(crate) fn add(&mut self, value: Option<f64>, seconds: f64) {
        let Some(value) = value else { return };
        self.seconds += seconds;
        self.weighted += value * seconds;
        self.peak = self.peak.max(value);
        self.last = value;
    }

    pub(crate) fn amount(&self) -> Option<Amount> {
        let mean = self.weighted / self.seconds;
        (self.seconds > 0.0).then_some(Amount {
            mean,
            peak: self.peak,
            total: self.last,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_peak_is_below_its_mean() {
        let mut rate = Rate::default();
        rate.add(Some(0.0016), 1.0);
        // The busiest interval is too short to be a peak of its own.
        rate.add(Some(0.02), 0.01);
        let amount = rate.amount().expect("it was read");
        assert!(amount.peak >= amount.mean, "{amount:?}");
        assert!((amount.total - 0.0216).abs() < 1e-12);
    }
}
