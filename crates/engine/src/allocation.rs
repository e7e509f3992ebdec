//! The nodes that a run is given.

use paceline_model::{Machine, NodeName};
use std::time::Duration;

/// What a run asks of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeRequest {
    /// How many nodes.
    pub nodes: u32,
    /// Cores of each node, for an engine that gives parts of machines; the
    /// engine's own number without.
    pub cores: Option<u32>,
    /// Whether no two nodes may be parts of one machine.
    pub is_spread: bool,
}

impl NodeRequest {
    /// So many machines.
    #[must_use]
    pub fn machines(nodes: u32) -> Self {
        Self {
            nodes,
            cores: None,
            is_spread: true,
        }
    }
}

/// The nodes that an engine has set aside for one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// The nodes, that of rank 0 first; none if the run takes place in this
    /// machine's own name.
    pub nodes: Vec<AllocatedNode>,
    /// How long the run waited for them. It is no part of the run's duration.
    pub queued: Duration,
    /// The cluster's own name for the allocation, such as Slurm's job id.
    pub job: Option<String>,
}

/// One node of an allocation.
#[derive(Debug, Clone, PartialEq)]
pub struct AllocatedNode {
    /// The machine, under the name by which the user knows it.
    pub machine: Machine,
    /// Where the other nodes reach it.
    pub address: String,
    /// How its clock stands to this machine's.
    pub clock: ClockOffset,
}

/// How far a node's monotonic clock is ahead of this machine's, as an exchange
/// of time stamps tells (the shortest of several round trips).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockOffset {
    /// By how much, in microseconds; negative if it is behind.
    pub offset_us: i64,
    /// How wrong that can be, in microseconds: half of the round trip.
    pub uncertainty_us: u64,
}

impl Allocation {
    /// This machine.
    #[must_use]
    pub fn here() -> Self {
        Self {
            nodes: Vec::new(),
            queued: Duration::ZERO,
            job: None,
        }
    }

    /// The names of the nodes.
    #[must_use]
    pub fn names(&self) -> Vec<NodeName> {
        let nodes = self.nodes.iter();
        nodes.map(|node| node.machine.node.clone()).collect()
    }
}
