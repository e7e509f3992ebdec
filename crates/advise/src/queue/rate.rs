//! Rates, and why a queue cannot be analysed.

use thiserror::Error;

/// How often something happens per unit of time: finite and above zero.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// So many per unit of time.
    pub fn new(per_time: f64) -> Result<Self, QueueError> {
        if per_time.is_finite() && per_time > 0.0 {
            Ok(Self(per_time))
        } else {
            Err(QueueError::NotARate { value: per_time })
        }
    }

    /// One every so often.
    pub fn every(time: f64) -> Result<Self, QueueError> {
        Self::new(1.0 / time)
    }

    /// How many per unit of time.
    pub fn per_time(self) -> f64 {
        self.0
    }

    /// The mean time between two.
    pub fn interval(self) -> f64 {
        1.0 / self.0
    }
}

/// Why a queue cannot be analysed.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum QueueError {
    /// A rate is zero, negative, infinite or not a number.
    #[error("{value} is not a rate; it must be finite and above zero")]
    NotARate {
        /// The value found.
        value: f64,
    },
    /// There is nobody to serve.
    #[error("a queue needs at least one server")]
    NoServers,
    /// Work arrives at least as fast as it can be done.
    #[error(
        "the queue is unstable: {servers} servers would have to be busy {percent:.1}% of the \
         time, so waiting grows without bound",
        percent = 100.0 * load
    )]
    Unstable {
        /// Arriving work per unit of time and server.
        load: f64,
        /// How many servers there are.
        servers: usize,
    },
    /// A finite queue cannot hold what its servers hold.
    #[error("a capacity of {capacity} jobs is below the {servers} in service")]
    CapacityBelowServers {
        /// The most jobs in the system.
        capacity: usize,
        /// How many servers there are.
        servers: usize,
    },
    /// More states than are worth computing.
    #[error("{count} is too many servers or jobs; at most {most} are supported")]
    TooMany {
        /// How many were asked for.
        count: usize,
        /// The most that are supported.
        most: usize,
    },
}

/// Beyond this many servers or places the recursions take longer than anybody
/// waits, and no cluster has so many.
pub(super) const MOST: usize = 10_000_000;

/// Accepts a number of servers and returns the load of each if it is below one.
pub(super) fn stable_load(work: f64, servers: usize) -> Result<f64, QueueError> {
    check_servers(servers)?;
    let load = work / servers as f64;
    if load < 1.0 {
        Ok(load)
    } else {
        Err(QueueError::Unstable { load, servers })
    }
}

pub(super) fn check_servers(servers: usize) -> Result<(), QueueError> {
    match servers {
        0 => Err(QueueError::NoServers),
        count if count > MOST => Err(QueueError::TooMany { count, most: MOST }),
        _ => Ok(()),
    }
}
