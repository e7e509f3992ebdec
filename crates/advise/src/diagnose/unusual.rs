//! What a careful reader of a run would want to know.

use super::{Amount, Node, Usage};
use paceline_model::{GapReason, Measure, Sample};

/// Something that makes a run's numbers less than they seem, with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum Unusual {
    /// The hypervisor took this share of the node's CPU time.
    Steal {
        /// From 0 to 1.
        share: f64,
    },
    /// Other processes used this many CPUs on average.
    ForeignLoad {
        /// CPUs, mean over the run.
        cpus: f64,
    },
    /// The node swapped this many bytes.
    Swapping {
        /// Bytes in and out.
        bytes: f64,
    },
    /// The run came close to its memory limit.
    MemoryLimit {
        /// The peak as a share of the limit.
        share: f64,
    },
    /// The run's CPU limit held it back for this long.
    Throttled {
        /// Seconds.
        seconds: f64,
    },
    /// TCP sent this many segments again.
    Retransmits {
        /// Segments.
        count: f64,
    },
    /// Packets were dropped or damaged.
    NetworkErrors {
        /// Errors and drops.
        count: f64,
    },
    /// The clock rate of the cores changed by this much during the run.
    FrequencyChanged {
        /// The lowest rate as a share of the highest.
        lowest_share: f64,
    },
    /// Samples came late or lack values.
    Gaps {
        /// How many.
        count: usize,
        /// The most frequent reason.
        reason: GapReason,
    },
}

/// A hypervisor that takes this share of the CPU time disturbs every timing.
const STEAL: f64 = 0.02;
/// Foreign load that disturbs, as a share of the node's CPUs.
const FOREIGN: f64 = 0.10;

pub(super) fn find(samples: &[Sample], node: Node) -> Vec<Unusual> {
    let usage = Usage::of(samples);
    let mean = |amount: Option<Amount>| amount.map_or(0.0, |amount| amount.mean);
    let sum = |measure| {
        samples
            .iter()
            .filter_map(|s| s.readings.get(measure))
            .sum::<f64>()
    };
    let mut unusual = Vec::new();
    let mut note = |is_unusual: bool, what: Unusual| {
        if is_unusual {
            unusual.push(what);
        }
    };

    let share = mean(usage.steal_cpus) / node.cpus.max(1) as f64;
    note(share >= STEAL, Unusual::Steal { share });
    let cpus = mean(usage.foreign_cpus);
    note(
        cpus >= FOREIGN * node.cpus as f64,
        Unusual::ForeignLoad { cpus },
    );
    let bytes = sum(Measure::NodeSwapIn) + sum(Measure::NodeSwapOut);
    note(bytes > 0.0, Unusual::Swapping { bytes });
    if let (Some(limit), Some(memory)) = (node.memory_max_bytes, usage.memory_bytes) {
        let share = memory.peak / limit as f64;
        note(share >= 0.9, Unusual::MemoryLimit { share });
    }
    let seconds = sum(Measure::RunCpuThrottled);
    note(seconds > 0.0, Unusual::Throttled { seconds });
    let count = sum(Measure::NodeTcpRetransmits);
    note(
        count > 0.001 * sum(Measure::NodeNetTxPackets).max(1e4),
        Unusual::Retransmits { count },
    );
    let count = sum(Measure::NodeNetErrors) + sum(Measure::NodeNetDrops);
    note(count > 0.0, Unusual::NetworkErrors { count });
    if let Some(lowest_share) = frequency_range(samples) {
        note(
            lowest_share < 0.85,
            Unusual::FrequencyChanged { lowest_share },
        );
    }
    if let Some((count, reason)) = gaps(samples) {
        note(true, Unusual::Gaps { count, reason });
    }
    unusual
}

fn frequency_range(samples: &[Sample]) -> Option<f64> {
    let rates = || {
        samples
            .iter()
            .filter_map(|s| s.readings.get(Measure::NodeCpuFrequency))
    };
    let highest = rates()
        .max_by(f64::total_cmp)
        .filter(|&highest| highest > 0.0)?;
    Some(rates().min_by(f64::total_cmp)? / highest)
}

fn gaps(samples: &[Sample]) -> Option<(usize, GapReason)> {
    let with = |reason| {
        samples
            .iter()
            .filter(|sample| sample.gap == Some(reason))
            .count()
    };
    let count = samples.iter().filter(|sample| sample.gap.is_some()).count();
    let reason = GapReason::ALL
        .into_iter()
        .max_by_key(|&reason| with(reason))?;
    (count > 0).then_some((count, reason))
}
