//! What an engine reports of a started run.

use paceline_model::{ExitStatus, Micros, NodeName, Sample, Stream, WorkerId};
use paceline_probe::Cost;

/// Something that happened to a started run.
#[derive(Debug)]
pub enum Message {
    /// A command was started. Its first output may be told before.
    Started {
        /// The worker that the command is.
        worker: WorkerId,
        /// The instant before the system was asked to start it.
        at: Micros,
        /// Its process, as its host numbers it.
        pid: i32,
    },
    /// A command printed something.
    Output {
        /// The worker that printed.
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
        /// The worker that was stopped.
        worker: WorkerId,
        /// True when it was stopped, false when it goes on.
        stopped: bool,
        /// When the kernel told it.
        at: Micros,
    },
    /// A command exited. Its output may still follow.
    Exited {
        /// The worker that exited.
        worker: WorkerId,
        /// When the kernel told it.
        at: Micros,
        /// By itself or by a signal.
        status: ExitStatus,
        /// What the kernel accounts to it and to the children it waited for.
        usage: Usage,
    },
    /// Commands on another node reported something in the file that
    /// `$PACELINE_EVENTS` names there.
    Reports {
        /// On which node.
        node: NodeName,
        /// When it was read.
        at: Micros,
        /// What was appended to the file, cut anywhere.
        bytes: Vec<u8>,
    },
    /// Something happened to a node, or to the line to it.
    Noticed {
        /// Which node.
        node: NodeName,
        /// When.
        at: Micros,
        /// What.
        what: NodeEvent,
    },
    /// All commands have exited and all output is delivered; nothing follows.
    Ended(Ending),
}

/// What can happen to a node while a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeEvent {
    /// The line to it is cut; what it measures meanwhile is kept there.
    LineCut,
    /// The line is there again, and nothing was lost.
    LineBack,
    /// It is given up, and what ran on it with it.
    Lost,
}

impl NodeEvent {
    /// The name in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LineCut => "line_cut",
            Self::LineBack => "line_back",
            Self::Lost => "node_lost",
        }
    }

    /// What happened, in words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::LineCut => "the line is cut; its samples and output are kept there",
            Self::LineBack => "the line is there again; samples and output are complete",
            Self::Lost => "the node is lost, and what ran on it",
        }
    }
}

/// What is known once all commands have exited.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Processes of the run that outlived its commands.
    pub leftovers: u32,
    /// Processes that the kernel ended because the run had no memory left.
    pub memory_kills: u64,
    /// What sampling cost, if it was possible at all.
    pub probe: Option<Cost>,
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
