//! What to start, and under which limits.

use crate::rank::Rank;
use paceline_model::{NodeName, RunId, WorkerId};
use paceline_probe::Interval;
use paceline_probe::cgroup::CpuSet;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Everything an engine needs to start the commands of one run.
#[derive(Debug)]
pub struct Launch {
    /// The run, for the name of its cgroup: unique among the runs of this host.
    pub run: RunId,
    /// The commands, started together; at least one.
    pub commands: Vec<Command>,
    /// The nodes of the run's [`Allocation`](crate::Allocation), in its order;
    /// none for this machine.
    pub nodes: Vec<NodeName>,
    /// Where the commands read from.
    pub stdin: Stdin,
    /// The memory that all commands together may use, in bytes. Needs a memory
    /// cgroup.
    pub memory_max: Option<u64>,
    /// The time between two samples.
    pub interval: Interval,
    /// What happens to processes that outlive the commands.
    pub leftovers: Leftovers,
}

/// One process that a run starts, and all that descends from it.
#[derive(Debug)]
pub struct Command {
    /// Who it is in the record.
    pub worker: WorkerId,
    /// Who it is among commands that work together, and on which node it is
    /// started; a command without works alone, on the first.
    pub rank: Option<Rank>,
    /// The program and its arguments; at least the program.
    pub argv: Vec<OsString>,
    /// Variables set on top of the environment of `paceline` itself.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory; that of `paceline` if absent.
    pub cwd: Option<PathBuf>,
    /// The only CPUs it may use.
    pub cpus: Option<CpuSet>,
    /// Where its stdout goes besides the messages.
    pub tee_out: Option<Tee>,
    /// Where its stderr goes besides the messages.
    pub tee_err: Option<Tee>,
}

/// Where a command reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// From wherever `paceline` reads; at a terminal the command gets the
    /// foreground, so that it can ask questions and Ctrl-C reaches it.
    Inherit,
    /// From nowhere.
    Null,
}

/// What happens to processes that are still there when the command has exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// They were meant to stay (a daemon that the user started): counted and told.
    Leave,
    /// They would disturb the next run: ended.
    End,
}

/// A second reader of a command's output: each piece is written to it as it
/// comes. If it fails, the command's stream is closed.
pub struct Tee(pub Box<dyn io::Write + Send>);

impl fmt::Debug for Tee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tee")
    }
}
