//! What an engine reports of a started run.

use paceline_model::{Micros, NodeName, Sample, WorkerId};
use std::fmt;

/// Something that happened to a started run.
#[derive(Debug)]
pub enum Message {
    /// A command was started. Its first output may be told before.
    Started {
        /// Whose.
        worker: WorkerId,
        /// The instant before the system was asked to start it.
        at: Micros,
        /// Its process, as its host numbers it.
        pid: i32,
    },
    /// A command printed something.
    Output {
        /// Whose.
        worker: WorkerId,
        /// On which stream.
        stream: Stream,
        /// When it was read.
        at: Micros,
        /// The bytes, at most 64 KiB, cut anywhere.
        bytes: Vec<u8>,
    },
    /// A node was sampled.
    Sample {
        /// Which node.
        node: NodeName,
        /// What was read; boxed because it is large and passes through a queue.
        sample: Box<Sample>,
    },
    /// A command was stopped (Ctrl-Z) or went on.
    Suspended {
        /// Whose.
        worker: WorkerId,
        /// True when it was stopped, false when it goes on.
        stopped: bool,
        /// When.
        at: Micros,
    },
    /// A command exited. Its output may still follow.
    Exited {
        /// Whose.
        worker: WorkerId,
        /// When.
        at: Micros,
        /// How.
        status: Status,
        /// What the kernel accounts to it and to the children it waited for.
        usage: Usage,
    },
    /// All commands have exited and all output is delivered; nothing follows.
    Ended(Ending),
}

/// One of the two streams a command prints on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What is known once all commands have exited.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Processes of the run that outlived its commands.
    pub leftovers: u32,
    /// What sampling cost, if it was possible at all.
    pub probe: Option<ProbeCost>,
}

/// What sampling a run cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeCost {
    /// CPU seconds of the sampling thread.
    pub cpu_s: f64,
    /// Samples taken.
    pub samples: u64,
}

/// How a process exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// The kernel's account of a process and the children it waited for (`wait4`).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// CPU seconds in user mode.
    pub cpu_user_s: f64,
    /// CPU seconds in the kernel.
    pub cpu_system_s: f64,
    /// The largest resident memory of any one process, in bytes.
    pub max_rss_bytes: u64,
}
