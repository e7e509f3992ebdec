//! Where agents are started.

use crate::hub::Hub;
use paceline_engine::{NodeRequest, RunClock, StartError};
use paceline_model::NodeName;
use std::path::PathBuf;
use std::time::Duration;

/// Starts agents somewhere, and knows when they have ended.
pub(crate) trait Site: Send + Sync {
    /// The engine's word.
    fn kind(&self) -> &'static str;

    /// Sees to it that agents of so many nodes are connected.
    fn acquire(
        &self,
        hub: &Hub,
        request: &NodeRequest,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Acquired, StartError>;

    /// A run does not need its nodes any more.
    fn release(&self, hub: &Hub, acquired: &[NodeName], job: Option<&str>);

    /// Whether the agent of a node is known to have ended.
    fn has_ended(&self, node: &NodeName) -> bool;

    /// Where the files beside the study are on a node: here, and there. None if
    /// they are at the same place.
    fn base(&self, node: &NodeName) -> Option<(PathBuf, PathBuf)>;

    /// Whether nodes see the files of this machine.
    fn shares_files(&self) -> bool;

    /// Ends everything that was started.
    fn close(&self);
}

/// The nodes of one run.
pub(crate) struct Acquired {
    /// That of rank 0 first.
    pub(crate) nodes: Vec<NodeName>,
    pub(crate) queued: Duration,
    pub(crate) job: Option<String>,
}

/// Tells what one controller has asked a cluster for apart.
pub(crate) fn stamp(clock: &RunClock) -> String {
    let since = clock
        .started_at()
        .duration_since(std::time::SystemTime::UNIX_EPOCH);
    format!("{:x}", since.map_or(0, |since| since.as_micros()))
}
