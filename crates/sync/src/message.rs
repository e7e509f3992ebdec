//! What goes into the coordinator and what comes out.

use std::fmt;

use paceline_model::WorkerId;

use crate::{Clock, Incarnation, Sender, Tick};

/// What a worker says to a server.
///
/// Every message may arrive late, twice or not at all; a worker repeats what
/// was not answered. A worker never repeats itself with different content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Message {
    /// I take part from now on, or again. Answered by [`Action::Welcome`].
    Join,
    /// Here is the update I computed in iteration `clock` (with `local:H`, in
    /// the H iterations from `clock` on). Answered by the [`Receipt`].
    Update {
        /// The iteration.
        clock: Clock,
    },
    /// I want to start iteration `clock`. Answered by [`Action::Proceed`], at
    /// once or later.
    Read {
        /// The iteration.
        clock: Clock,
    },
    /// I am alive.
    Heartbeat,
    /// I am done. What I sent still counts.
    Leave,
}

/// What the coordinator wants done, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Tell the worker that it takes part and at which clock it starts.
    Welcome {
        /// The worker, in the life that joined.
        to: Sender,
        /// Its first iteration.
        clock: Clock,
    },
    /// Tell the worker to start an iteration, and give it the parameters as
    /// they are now.
    Proceed {
        /// The worker.
        to: Sender,
        /// The iteration. Later than the one asked for if the worker's updates
        /// of those between would no longer count.
        clock: Clock,
        /// The version of the parameters: every update of an iteration below it
        /// is in them, later ones may be.
        version: Clock,
        /// Whose step ended the wait, if the worker waited: its straggler.
        waited_for: Option<WorkerId>,
    },
    /// An iteration has all the updates it will ever have. Apply what was
    /// gathered, before anything that follows in this list.
    Close {
        /// The iteration; with `local:H`, the first of its H iterations.
        clock: Clock,
        /// How many updates were counted: the divisor of their mean.
        counted: u32,
        /// The version of the parameters once the updates are applied.
        version: Clock,
    },
    /// A worker is lost: for the record.
    Lost {
        /// The worker.
        worker: WorkerId,
        /// How it became known.
        cause: LossCause,
        /// The worker's clock: its next iteration.
        clock: Clock,
        /// What it did when it was last heard of.
        doing: Doing,
        /// When it was last heard of.
        heard: Tick,
    },
    /// Start another process in the worker's place, in this life or a later
    /// one, and end the former if it still runs. Asked again whenever nobody
    /// joined within the join time-out; every server asks on its own, so ignore
    /// it while the worker already runs in this life or a later one.
    Replace {
        /// The worker.
        worker: WorkerId,
        /// The lowest number with which it may join.
        incarnation: Incarnation,
    },
    /// End the run, since the user does not want it to go on without the worker.
    Fail {
        /// The worker.
        worker: WorkerId,
    },
    /// Nobody takes part any more: the run has ended, or has nobody left.
    Empty,
}

/// How a loss became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// Nothing was heard for the failure time-out.
    Silent,
    /// It did not join within the join time-out.
    NeverJoined,
    /// The caller saw its connection break, its process end or its thread panic.
    Disconnected,
    /// It joined in a new life before the end of the former one was noticed.
    Restarted,
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silent => "silent",
            Self::NeverJoined => "never joined",
            Self::Disconnected => "disconnected",
            Self::Restarted => "restarted",
        })
    }
}

/// What a worker does, as far as its messages tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doing {
    /// It starts up, or reads its first parameters.
    Starting,
    /// It computes an iteration.
    Computing(Clock),
    /// It waits to start an iteration.
    Waiting(Clock),
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("starting"),
            Self::Computing(clock) => write!(f, "computing iteration {clock}"),
            Self::Waiting(clock) => write!(f, "waiting to start iteration {clock}"),
        }
    }
}

/// What became of a message that was not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Receipt {
    /// It was no update, and it is dealt with.
    Heard,
    /// The update counts: add it to what is gathered, or apply it now if the
    /// model [does not gather](crate::Consistency::gathers).
    Counted,
    /// The update came after its iteration had closed: drop it.
    Late,
    /// This update was counted or dropped before, or is from before the clock
    /// at which this server welcomed the worker: ignore it.
    Duplicate,
}

/// Why a message has no effect and its sender must be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The number is beyond the workers this run has room for.
    #[error("{worker} is beyond the {capacity} workers this run has room for")]
    NoSuchWorker {
        /// The worker.
        worker: WorkerId,
        /// How many workers there can be.
        capacity: u32,
    },
    /// The sender does not take part: it never joined, left, or was declared
    /// lost.
    #[error("{worker} does not take part; it may join with incarnation {join_with} or higher")]
    NotAMember {
        /// The worker.
        worker: WorkerId,
        /// The lowest number with which it may join.
        join_with: Incarnation,
    },
    /// The sender's place was taken by a later life.
    #[error("{worker} lives on in incarnation {current}")]
    FormerLife {
        /// The worker.
        worker: WorkerId,
        /// Its present life.
        current: Incarnation,
    },
    /// The update is of an iteration that this server has not allowed yet: the
    /// server lost state, or the worker breaks the rules. Joining anew tells
    /// the worker where the server is.
    #[error("iteration {clock} of {worker} is ahead of this server, which is at {at}")]
    AheadOfServer {
        /// The worker.
        worker: WorkerId,
        /// The iteration of the update.
        clock: Clock,
        /// The iteration the server expects of it.
        at: Clock,
    },
    /// With `local:H`, an update that does not begin at a multiple of H.
    #[error("an update at clock {clock} does not begin a round of {steps} iterations")]
    OffRound {
        /// The clock of the update.
        clock: Clock,
        /// Iterations per round.
        steps: u64,
    },
}
