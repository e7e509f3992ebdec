//! Why training could not go on.

use std::path::PathBuf;
use std::time::Duration;

use paceline_records::WriteRecordError;
use paceline_wire::{BindError, ConnectError, Member};

use crate::cluster::StartMemberError;
use crate::tensors::WriteTensorsError;

/// Why training could not go on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A checkpoint could not be written; training does not go on without.
    #[error("cannot write the checkpoint {path}: {source}")]
    Checkpoint {
        /// Where.
        path: PathBuf,
        /// Why.
        source: WriteTensorsError,
    },
    /// A member of a training by several could not be started.
    #[error(transparent)]
    Start(#[from] StartMemberError),
    /// A server was not reached.
    #[error("cannot reach server {server}")]
    Unreached {
        /// Which server.
        server: usize,
        /// Why.
        #[source]
        source: ConnectError,
    },
    /// Members that are started elsewhere did not come.
    #[error("still missing after {} s: {who}", patience.as_secs_f64())]
    Missing {
        /// Who is missing.
        who: String,
        /// How long they were waited for.
        patience: Duration,
    },
    /// A member ended again and again.
    #[error("{member} has ended {times} times: {how}")]
    KeepsEnding {
        /// Who.
        member: Member,
        /// How often.
        times: u32,
        /// How it ended the last time.
        how: String,
    },
    /// A worker was lost, and the training must not go on without.
    #[error("worker {worker} is lost: {how}")]
    Lost {
        /// Which.
        worker: u32,
        /// How it was seen.
        how: String,
    },
    /// All workers were lost.
    #[error("no worker is left: {how}")]
    NoWorkerLeft {
        /// How the last was lost.
        how: String,
    },
    /// Workers without a server meet at the trainer, and it is not said where.
    #[error("there is no address at which the workers meet")]
    NoAddress,
    /// The trainer cannot listen for its workers.
    #[error("cannot listen for the workers")]
    CannotListen(#[source] BindError),
    /// Workers that sum among themselves could not do so.
    #[error("the workers' group broke {times} times at step {step}, though all of them are there")]
    GroupKeepsBreaking {
        /// How often.
        times: u32,
        /// At which step.
        step: u64,
    },
    /// The iterations of a worker cannot be written down.
    #[error("cannot record the iterations of worker {worker}")]
    Record {
        /// Which worker.
        worker: u32,
        /// Why.
        #[source]
        source: WriteRecordError,
    },
    /// The connections could not be waited for.
    #[error("cannot wait for the other members")]
    Wait(#[source] std::io::Error),
}
