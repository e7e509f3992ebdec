//! What a careful reader of a run would want to know.

use crate::tally::Rate;
use crate::{Node, Tally};
use paceline_model::GapReason;
use std::fmt;

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
        /// Whether they are the run's own, to other hosts; else anybody's.
        is_own: bool,
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

/// What was seen, and what it means for the numbers.
impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| 100.0 * share;
        match self {
            Self::Steal { share } => write!(
                f,
                "the hypervisor took {:.1}% of the cpu time: timings are less certain",
                percent(*share)
            ),
            Self::ForeignLoad { cpus } => write!(
                f,
                "other processes used {cpus:.1} cpus on average: timings are less certain"
            ),
            Self::Swapping { bytes } => {
                write!(
                    f,
                    "the machine swapped {:.1} MB: give it more memory",
                    bytes / 1e6
                )
            }
            Self::MemoryLimit { share } => {
                write!(f, "memory reached {:.0}% of its limit", percent(*share))
            }
            Self::Throttled { seconds } => {
                write!(f, "its cpu limit held it back for {seconds:.1} s")
            }
            Self::Retransmits {
                count,
                is_own: true,
            } => write!(
                f,
                "its TCP connections sent {count:.0} segments again: the way to other hosts loses packets"
            ),
            Self::Retransmits {
                count,
                is_own: false,
            } => write!(
                f,
                "TCP sent {count:.0} segments again, of this run or of others on the machine"
            ),
            Self::NetworkErrors { count } => write!(
                f,
                "the machine's network interfaces dropped or damaged {count:.0} packets"
            ),
            Self::FrequencyChanged { lowest_share } => write!(
                f,
                "the cores' clock rate fell to {:.0}% of its highest: heat or power saving",
                percent(*lowest_share)
            ),
            Self::Gaps { count, reason } => {
                let why = match reason {
                    GapReason::Late => "came late: the machine was overloaded or suspended",
                    GapReason::CounterReset => "lack a value: a counter was reset",
                    GapReason::DeviceChanged => "lack a value: a device came or went",
                    GapReason::Unreadable => "lack a value: a file could not be read",
                };
                write!(f, "{count} samples {why}")
            }
        }
    }
}

/// A hypervisor that takes this share of the CPU time disturbs every timing.
const STEAL: f64 = 0.02;
/// The node's CPU time is counted in hundredths of a second: of a shorter run it
/// says nothing.
const SHORTEST_S: f64 = 0.25;
/// Foreign load that disturbs, as a share of the node's CPUs.
const FOREIGN: f64 = 0.10;

impl Unusual {
    /// Whether it means that others took time from the run, so that its timing
    /// says less than it seems.
    #[must_use]
    pub fn is_disturbance(&self) -> bool {
        matches!(
            self,
            Self::Steal { .. } | Self::ForeignLoad { .. } | Self::FrequencyChanged { .. }
        )
    }
}

/// Everything unusual about a run whose samples were added up.
#[must_use]
pub fn unusual(tally: &Tally, node: Node) -> Vec<Unusual> {
    let mean = |rate: &Rate| rate.amount().map_or(0.0, |amount| amount.mean);
    let mut found = Vec::new();
    let mut note = |is_unusual: bool, what: Unusual| {
        if is_unusual {
            found.push(what);
        }
    };
    let long_enough = tally.steal.seconds() >= SHORTEST_S;
    let share = mean(&tally.steal) / node.cpus.max(1) as f64;
    note(long_enough && share >= STEAL, Unusual::Steal { share });
    let cpus = mean(&tally.foreign_cpus);
    note(
        long_enough && cpus >= FOREIGN * node.cpus as f64,
        Unusual::ForeignLoad { cpus },
    );
    let bytes = tally.swapped.total();
    note(bytes > 0.0, Unusual::Swapping { bytes });
    if let (Some(limit), Some(memory)) = (node.memory_max_bytes, tally.memory()) {
        let share = memory.peak / limit as f64;
        note(share >= 0.9, Unusual::MemoryLimit { share });
    }
    let seconds = tally.throttled.total();
    note(seconds > 0.0, Unusual::Throttled { seconds });
    // One in a thousand is the rate from which TCP's throughput suffers; a
    // handful among few packets proves nothing.
    let net = tally.net();
    let (count, is_own) = (net.retransmits.total(), tally.net_is_own());
    note(
        count > 0.001 * net.segments.total().max(1e4),
        Unusual::Retransmits { count, is_own },
    );
    // Others' packets are no concern of a run that sent and received none.
    let count = tally.net_faults.total();
    let is_concerned = !is_own || net.received.total() + net.sent.total() > 0.0;
    note(
        count > 0.0 && is_concerned,
        Unusual::NetworkErrors { count },
    );
    if let Some(lowest_share) = tally.lowest_frequency() {
        note(
            lowest_share < 0.85,
            Unusual::FrequencyChanged { lowest_share },
        );
    }
    if let Some((count, reason)) = tally.gaps() {
        note(true, Unusual::Gaps { count, reason });
    }
    found
}
