//! What a coordinator is told before the first message.

use std::time::Duration;

use crate::clock::nanos;
use crate::{Clock, Consistency, OnWorkerLoss, Tick, WorkerCountError};

/// The most workers a run has room for, simulated ones included.
pub(crate) const MOST_WORKERS: u32 = 16_384;

/// How a run is coordinated. Every server of a run has the same settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub(crate) consistency: Consistency,
    pub(crate) workers: u32,
    pub(crate) capacity: u32,
    pub(crate) on_worker_loss: OnWorkerLoss,
    /// In nanoseconds, as the next.
    pub(crate) failure_timeout: Option<u64>,
    pub(crate) join_timeout: Option<u64>,
    pub(crate) first: Clock,
    pub(crate) start: Tick,
}

/// Why there can be no such run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The model does not suit the number of workers.
    #[error(transparent)]
    Workers(#[from] WorkerCountError),
    /// More workers than a coordinator has room for.
    #[error("{workers} workers are more than the {MOST_WORKERS} a run has room for")]
    TooManyWorkers {
        /// How many were asked for.
        workers: u32,
    },
}

impl Settings {
    /// A run of `workers` workers, numbered from zero, under `consistency`.
    ///
    /// No iteration starts until all of them have joined. Without further
    /// settings a lost worker is dealt with [as is usual for the
    /// model](OnWorkerLoss::usual_for), and nobody is lost by silence.
    ///
    /// # Errors
    /// If the model [does not suit](Consistency::check_workers) the number of
    /// workers, or there are more than 16,384.
    pub const fn new(consistency: Consistency, workers: u32) -> Result<Self, SettingsError> {
        if workers > MOST_WORKERS {
            return Err(SettingsError::TooManyWorkers { workers });
        }
        match consistency.check_workers(workers) {
            Err(error) => Err(SettingsError::Workers(error)),
            Ok(()) => Ok(Self {
                consistency,
                workers,
                capacity: workers,
                on_worker_loss: OnWorkerLoss::usual_for(consistency),
                failure_timeout: None,
                join_timeout: None,
                first: Clock::ZERO,
                start: Tick(0),
            }),
        }
    }

    /// The consistency model.
    #[must_use]
    pub const fn consistency(&self) -> Consistency {
        self.consistency
    }

    /// How many workers the run starts with.
    #[must_use]
    pub const fn workers(&self) -> u32 {
        self.workers
    }

    /// Leaves room for workers that join later, beyond those of the start, up
    /// to `capacity` in all (16,384 at most).
    #[must_use]
    pub const fn with_room_for(mut self, capacity: u32) -> Self {
        self.capacity = if capacity < self.workers {
            self.workers
        } else if capacity > MOST_WORKERS {
            MOST_WORKERS
        } else {
            capacity
        };
        self
    }

    /// What happens when a worker is lost.
    #[must_use]
    pub const fn on_worker_loss(mut self, policy: OnWorkerLoss) -> Self {
        self.on_worker_loss = policy;
        self
    }

    /// A worker is lost once nothing was heard of it for this long. A worker
    /// that computes or waits for longer must send
    /// [heartbeats](crate::Message::Heartbeat).
    #[must_use]
    pub fn failure_timeout(mut self, length: Duration) -> Self {
        self.failure_timeout = Some(nanos(length));
        self
    }

    /// A worker of the start is lost if it has not joined after this long, and
    /// a replacement that has not is asked for again.
    #[must_use]
    pub fn join_timeout(mut self, length: Duration) -> Self {
        self.join_timeout = Some(nanos(length));
        self
    }

    /// The run goes on from a checkpoint of this version.
    ///
    /// With `local:H` it is rounded down to a round's first iteration.
    #[must_use]
    pub const fn resumed_at(mut self, version: Clock) -> Self {
        let stride = self.consistency.iterations_per_update();
        self.first = Clock(version.0 - version.0 % stride);
        self
    }

    /// The moment at which the join time-out starts to run.
    #[must_use]
    pub const fn started_at(mut self, now: Tick) -> Self {
        self.start = now;
        self
    }
}
