//! Where the processes of a run live.
//!
//! An [`Engine`] starts what a [`Launch`] describes and reports everything that
//! happens to it as [`Message`]s into one bounded channel: output, samples,
//! the end. The [`LocalEngine`] does so on this machine, with threads and no
//! daemon. Engines that submit to a cluster send the same messages, so whoever
//! consumes them need not know where the processes are.
//!
//! An engine deliberately knows nothing of records, studies or metrics: it
//! moves bytes and samples, and never interprets them.

mod allocation;
mod clock;
#[cfg(feature = "fake")]
pub mod fake;
pub mod host;
mod launch;
pub mod leftovers;
mod local;
mod message;
mod rank;

pub use allocation::{AllocatedNode, Allocation, ClockOffset, NodeRequest};
pub use clock::RunClock;
pub use launch::{Command, Launch, Leftovers, Stdin, Tee};
pub use local::{LocalEngine, StartError, warden};
pub use message::{Ending, Message, NodeEvent, Usage};
pub use rank::{Endpoint, Rank};

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Starts the processes of a run somewhere.
pub trait Engine {
    /// The engine's word, as a study and a record have it.
    fn kind(&self) -> &'static str {
        "local"
    }

    /// Sets nodes aside for one run, waits for them if it must, and returns early
    /// with [`StartError::Cancelled`] once `is_cancelled` says so.
    ///
    /// # Errors
    /// If there are not as many, or they cannot be reached.
    fn allocate(
        &self,
        request: &NodeRequest,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Allocation, StartError> {
        let _ = is_cancelled;
        match request.nodes {
            0 | 1 => Ok(Allocation::here()),
            asked => Err(StartError::TooFewNodes { asked, found: 1 }),
        }
    }

    /// Gives the nodes of a run back that has ended, or was never started.
    fn release(&self, allocation: &Allocation) {
        let _ = allocation;
    }

    /// Starts `launch` and reports what happens to it into `messages` until a
    /// [`Message::Ended`], which is always the last one.
    ///
    /// A full channel holds the processes' output back; samples wait for a
    /// place but are never dropped.
    ///
    /// # Errors
    /// If the command cannot be started; then no message is sent.
    fn start(
        &self,
        launch: Launch,
        clock: RunClock,
        messages: SyncSender<Message>,
    ) -> Result<Arc<dyn Job>, StartError>;
}

/// A started run.
pub trait Job: Send + Sync {
    /// Sends a signal to the run's processes. A run that has ended is left alone.
    fn signal(&self, signal: i32);

    /// Ends every process of the run at once (`SIGKILL`), daemons included
    /// where a cgroup holds them.
    fn kill(&self);
}
