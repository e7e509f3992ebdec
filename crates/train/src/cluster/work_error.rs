//! Why a worker gave up.

use paceline_records::WriteRecordError;
use paceline_wire::{BindError, ConnectError};

/// Why a worker gave up.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// A server was not reached.
    #[error("worker {worker} cannot reach server {server}")]
    Unreached {
        /// Which worker.
        worker: u32,
        /// Which server.
        server: usize,
        /// Why.
        #[source]
        source: ConnectError,
    },
    /// Its iterations cannot be written down.
    #[error("cannot record the iterations of worker {worker}")]
    Record {
        /// Which worker.
        worker: u32,
        /// Why.
        #[source]
        source: WriteRecordError,
    },
    /// A server's options are not this worker's.
    #[error("worker {worker} was told to train something else than server {server}: {difference}")]
    OtherTraining {
        /// Which worker.
        worker: u32,
        /// Which server.
        server: usize,
        /// The first option that differs, as the server sees it.
        difference: String,
    },
    /// Workers without a server meet at the trainer, and it is not known where.
    #[error("there is no address at which the workers meet")]
    NoAddress,
    /// The trainer was not reached.
    #[error("worker {worker} cannot reach the trainer")]
    NoTrainer {
        /// Which worker.
        worker: u32,
        /// Why.
        #[source]
        source: ConnectError,
    },
    /// The worker cannot listen for the others.
    #[error("worker {worker} cannot listen for the others")]
    CannotListen {
        /// Which worker.
        worker: u32,
        /// Why.
        #[source]
        source: BindError,
    },
    /// The trainer's options are not this worker's.
    #[error("worker {worker} was told to train something else than the trainer: {difference}")]
    OtherTrainer {
        /// Which worker.
        worker: u32,
        /// The first option that differs, as the trainer sees it.
        difference: String,
    },
    /// The trainer went away before the training was over.
    #[error("worker {worker} has lost the trainer")]
    TrainerLost {
        /// Which worker.
        worker: u32,
    },
}
