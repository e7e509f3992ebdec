//! What a person should know of a training by several workers.

use std::fmt;
use std::time::Duration;

use paceline_records::WriteRecordError;
use paceline_wire::{Member, Role};

/// Something that happened to a training and that its user should know.
#[derive(Debug)]
pub enum Notice {
    /// The servers miss a worker.
    WorkerLost {
        /// Which.
        worker: u32,
        /// How it was seen and what the worker was doing last.
        words: String,
    },
    /// A member has ended, and nobody replaces it.
    Ended {
        /// Who.
        member: Member,
        /// How.
        how: String,
    },
    /// A member has ended and another takes its place.
    Replaced {
        /// Who.
        member: Member,
        /// How it ended.
        how: String,
    },
    /// A member was stopped for too long, and is killed.
    Stopped {
        /// Who.
        member: Member,
        /// For how long it was seen to do nothing.
        time: Duration,
    },
    /// A server does not answer.
    ServerLost {
        /// Which.
        server: usize,
        /// How that was seen.
        words: String,
    },
    /// A server goes on from an earlier step.
    ServerResumed {
        /// Which.
        server: usize,
        /// That step.
        step: u64,
        /// The steps since, which are computed again.
        lost: u64,
    },
    /// All servers go on from one earlier step, after one of them was lost or
    /// they were at different steps.
    ShardsRolledBack {
        /// That step.
        step: u64,
        /// The steps since, which are computed again.
        lost: u64,
    },
    /// Workers that sum among themselves go on after one was lost.
    GroupResumed {
        /// From which step.
        step: u64,
        /// Steps that are computed again.
        lost: u64,
    },
    /// Members that are started elsewhere have not come, or have come.
    Missing {
        /// Who is missing.
        words: String,
    },
    /// A member was told to train something else.
    OtherTraining {
        /// Who, and what differs.
        words: String,
    },
    /// A connection was refused, or could not be made yet.
    Connection {
        /// Whose, and why.
        words: String,
    },
    /// A worker waits for longer than a loss takes to notice.
    Waiting {
        /// Which.
        worker: u32,
        /// For whom, and what they were doing last.
        words: String,
    },
    /// The iterations of a worker are not all in the record.
    Unwritten {
        /// Whose.
        worker: u32,
        /// Why.
        source: WriteRecordError,
    },
}

impl Notice {
    /// The word in records.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::WorkerLost { .. } => "worker_lost",
            Self::Ended { .. } => "member_ended",
            Self::Replaced { .. } => "member_replaced",
            Self::Stopped { .. } => "member_stopped",
            Self::ServerLost { .. } => "server_lost",
            Self::ServerResumed { .. } => "server_resumed",
            Self::ShardsRolledBack { .. } => "servers_resumed",
            Self::GroupResumed { .. } => "workers_resumed",
            Self::Missing { .. } => "members_missing",
            Self::OtherTraining { .. } => "other_training",
            Self::Connection { .. } => "connection",
            Self::Waiting { .. } => "worker_waits",
            Self::Unwritten { .. } => "iterations_unwritten",
        }
    }

    /// The worker that it is about, if it is about one.
    pub fn worker(&self) -> Option<u32> {
        match self {
            Self::WorkerLost { worker, .. }
            | Self::Waiting { worker, .. }
            | Self::Unwritten { worker, .. } => Some(*worker),
            Self::Ended { member, .. }
            | Self::Replaced { member, .. }
            | Self::Stopped { member, .. } => (member.role == Role::Worker).then_some(member.rank),
            Self::ServerLost { .. }
            | Self::ServerResumed { .. }
            | Self::ShardsRolledBack { .. }
            | Self::GroupResumed { .. }
            | Self::Missing { .. }
            | Self::OtherTraining { .. }
            | Self::Connection { .. } => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorkerLost { words, .. }
            | Self::Waiting { words, .. }
            | Self::Missing { words }
            | Self::OtherTraining { words }
            | Self::Connection { words } => formatter.write_str(words),
            Self::Stopped { member, time } => write!(
                formatter,
                "{member} has been stopped for {:.1} s and is killed",
                time.as_secs_f64()
            ),
            Self::ServerLost { server, words } => {
                write!(formatter, "server{server} is lost: {words}")
            }
            Self::ShardsRolledBack { step, lost } => write!(
                formatter,
                "all servers go on from step {step}: {lost} steps are computed again"
            ),
            Self::GroupResumed { step, lost } => write!(
                formatter,
                "the workers go on together from step {step}: {lost} steps are computed again"
            ),
            Self::Ended { member, how } => write!(formatter, "{member} has ended: {how}"),
            Self::Replaced { member, how } => {
                write!(formatter, "{member} has ended ({how}) and is started again")
            }
            Self::ServerResumed { server, step, lost } => write!(
                formatter,
                "server{server} goes on from step {step}: its part of {lost} steps is computed \
                 again"
            ),
            Self::Unwritten { worker, source } => write!(
                formatter,
                "the iterations of worker {worker} are not all in the record: {source}"
            ),
        }
    }
}
