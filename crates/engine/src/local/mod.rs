//! Processes on this machine.

mod ask;
mod kernel;
mod orphans;
mod placement;
mod pump;
mod ranks;
mod spawn;
mod terminal;
pub mod warden;
mod watch;

pub use ask::{answer_of, end_process, output_of, usable_cpus};
pub use placement::{take_share_of_cpus, use_batch_scheduling};
pub use ranks::free_ports;
pub use spawn::find_program;
pub use terminal::stop_own_job;

use crate::clock::RunClock;
use crate::launch::{Launch, Leftovers};
use crate::message::Message;
use crate::{Engine, Job};
use paceline_model::NodeName;
use paceline_probe::cgroup::{CreateGroupError, Layout, Limits, RunGroup};
use paceline_probe::{Roots, become_subreaper};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use watch::Gang;

/// Starts commands on this machine.
#[derive(Debug)]
pub struct LocalEngine {
    node: NodeName,
    roots: Roots,
    groups: Layout,
    sole: bool,
}

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no command at all.
    #[error("there is no command to start")]
    Empty,
    /// No such program.
    #[error("there is no program `{0}`")]
    NotFound(String),
    /// A file that cannot be executed.
    #[error("`{0}` cannot be executed")]
    NotExecutable(String),
    /// No such working directory.
    #[error("the working directory {} does not exist", .0.display())]
    NoDirectory(PathBuf),
    /// CPUs that this process may not use.
    #[error("none of the cpus {0} can be used here")]
    NoSuchCpus(String),
    /// A limit that cannot be kept here.
    #[error("the limits of the run cannot be set")]
    Limits(#[source] CreateGroupError),
    /// Anything else the system said.
    #[error("`{program}` cannot be started")]
    Refused {
        /// The program.
        program: String,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// There are not as many nodes as the run is to have.
    #[error("the run is to have {asked} nodes, and there are {found}")]
    TooFewNodes {
        /// How many are asked for.
        asked: u32,
        /// How many there are.
        found: u32,
    },
    /// The user did not want to wait for nodes any longer.
    #[error("stopped while waiting for nodes")]
    Cancelled,
    /// A node does not start its part of the run.
    #[error("on node {node}: {what}")]
    OnNode {
        /// The node.
        node: String,
        /// What it said.
        what: String,
        /// Whether the command is at fault, not the node.
        is_the_users: bool,
    },
    /// A cluster does not give nodes.
    #[error("there are no nodes to run on")]
    Cluster(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A thread or pipe of our own could not be made.
    #[error("the run cannot be watched")]
    Watch(#[source] io::Error),
}

impl LocalEngine {
    /// An engine for this machine, which the record calls `node`.
    ///
    /// `sole` promises that this process has no children but those of one run
    /// at a time. Then whatever a run leaves behind is known to be its own,
    /// even where there are no cgroups.
    #[must_use]
    pub fn new(node: NodeName, roots: Roots, sole: bool) -> Self {
        // Without adoption, orphans go to init and are merely not accounted.
        let _ = become_subreaper();
        let groups = Layout::detect(&roots);
        Self {
            node,
            roots,
            groups,
            sole,
        }
    }

    /// A cgroup for the run. Where none can be made, a run without limits goes
    /// on without one.
    fn group(&self, launch: &Launch) -> Result<Option<RunGroup>, StartError> {
        let limits = Limits {
            memory_bytes: launch.memory_max,
            ..Limits::default()
        };
        match RunGroup::create(&self.groups, &launch.run, &limits) {
            Ok(group) => Ok(Some(group)),
            Err(cause) if launch.memory_max.is_some() => Err(StartError::Limits(cause)),
            Err(_) => Ok(None),
        }
    }
}

impl Engine for LocalEngine {
    fn start(
        &self,
        launch: Launch,
        clock: RunClock,
        messages: SyncSender<Message>,
    ) -> Result<Arc<dyn Job>, StartError> {
        if launch.commands.is_empty() {
            return Err(StartError::Empty);
        }
        let furthest = launch.commands.iter().filter_map(|command| command.rank);
        if let Some(node) = furthest
            .map(|rank| rank.node)
            .max()
            .filter(|node| *node > 0)
        {
            let asked = node.saturating_add(1);
            return Err(StartError::TooFewNodes { asked, found: 1 });
        }
        let mut launch = launch;
        ranks::introduce(&mut launch.commands).map_err(StartError::Watch)?;
        let group = self.group(&launch)?;
        let gang = Gang::start(self, launch, group, clock, messages)?;
        Ok(Arc::new(LocalJob(gang)))
    }
}

struct LocalJob(Arc<Gang>);

impl Job for LocalJob {
    fn signal(&self, signal: i32) {
        self.0.signal(signal);
    }

    fn kill(&self) {
        self.0.kill();
    }
}

impl Leftovers {
    const fn are_ended(self) -> bool {
        matches!(self, Self::End)
    }
}
