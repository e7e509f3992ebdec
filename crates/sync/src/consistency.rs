//! The consistency models of a parameter server, as values.

use std::fmt;
use std::num::NonZeroU32;

use crate::Clock;

/// When a worker may go on, and which updates count.
///
/// The text form is what a user types and what a record holds: `bsp`, `ssp:3`,
/// `async`, `backup:1`, `dynamic-ssp:1..8`, `local:16`. Reading and printing
/// are inverse to each other.
///
/// ```
/// use paceline_sync::Consistency;
/// let model: Consistency = "ssp:3".parse()?;
/// assert_eq!(model, Consistency::Ssp { staleness: 3 });
/// assert_eq!(model.to_string(), "ssp:3");
/// # Ok::<(), paceline_sync::ParseConsistencyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// Bulk synchronous parallel: an iteration closes once every worker's
    /// update is in, and only then does the next one start (Valiant, "A
    /// bridging model for parallel computation", CACM 33(8), 1990).
    Bsp,
    /// Stale synchronous parallel: a worker starts iteration `c` only once
    /// every worker has completed `c − staleness` iterations, and then reads
    /// all their updates (Ho et al., "More effective distributed ML via a stale
    /// synchronous parallel parameter server", NIPS 2013). Zero reads as BSP
    /// does; updates are still applied as they arrive.
    Ssp {
        /// How many clocks the fastest worker may lead the slowest when it
        /// starts an iteration.
        staleness: u32,
    },
    /// Nobody waits for anybody.
    Async,
    /// Synchronous with backup workers: of n workers, the first n − `spare`
    /// updates of an iteration count, later ones are dropped (Chen et al.,
    /// "Revisiting distributed synchronous SGD", ICLR workshop 2016).
    Backup {
        /// How many updates an iteration does without.
        spare: u32,
    },
    /// SSP whose staleness is chosen between two bounds, each time the fastest
    /// worker reaches the lower one, so that it waits as little as possible
    /// (Zhao et al., "Dynamic stale synchronous parallel distributed training
    /// for deep learning", ICDCS 2019).
    DynamicSsp(StalenessRange),
    /// Local SGD: every worker takes `steps` steps on its own parameters, then
    /// all parameters are averaged (Stich, "Local SGD converges fast and
    /// communicates little", ICLR 2019).
    Local {
        /// Steps between two averages.
        steps: NonZeroU32,
    },
}

/// The bounds of `dynamic-ssp`: low is below high, high at most
/// [`StalenessRange::MOST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StalenessRange {
    low: u32,
    high: u32,
}

/// Why two numbers are no range of staleness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StalenessRangeError {
    /// There is nothing to choose from.
    #[error("the staleness range {low}..{high} is empty")]
    Empty {
        /// The lower bound.
        low: u32,
        /// The upper bound.
        high: u32,
    },
    /// The upper bound is above [`StalenessRange::MOST`].
    #[error("a staleness of {high} is above the limit of {most}", most = StalenessRange::MOST)]
    TooHigh {
        /// The upper bound.
        high: u32,
    },
}

impl StalenessRange {
    /// The highest upper bound. Each decision looks at every staleness of the
    /// range once, so the limit also bounds the time of a decision.
    pub const MOST: u32 = 1024;

    /// Checks the bounds.
    ///
    /// # Errors
    /// If `low` is not below `high`, or `high` is above [`Self::MOST`].
    pub const fn new(low: u32, high: u32) -> Result<Self, StalenessRangeError> {
        if high > Self::MOST {
            Err(StalenessRangeError::TooHigh { high })
        } else if low >= high {
            Err(StalenessRangeError::Empty { low, high })
        } else {
            Ok(Self { low, high })
        }
    }

    /// The staleness that every worker is always allowed.
    #[must_use]
    pub const fn low(self) -> u32 {
        self.low
    }

    /// The staleness that no worker ever exceeds.
    #[must_use]
    pub const fn high(self) -> u32 {
        self.high
    }
}

/// A consistency model that does not suit the number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkerCountError {
    /// Nobody would train.
    #[error("training needs at least one worker")]
    NoWorkers,
    /// No update would count.
    #[error("`backup:{spare}` needs more than {spare} workers, there are {workers}")]
    TooFewForBackup {
        /// How many updates an iteration does without.
        spare: u32,
        /// How many workers there are.
        workers: u32,
    },
}

impl Consistency {
    /// Whether the model makes sense with this many workers.
    ///
    /// # Errors
    /// Without workers, and for `backup:K` with K workers or fewer.
    pub const fn check_workers(self, workers: u32) -> Result<(), WorkerCountError> {
        match self {
            _ if workers == 0 => Err(WorkerCountError::NoWorkers),
            Self::Backup { spare } if spare >= workers => {
                Err(WorkerCountError::TooFewForBackup { spare, workers })
            }
            _ => Ok(()),
        }
    }

    /// The lowest version of the parameters with which iteration `clock` may be
    /// computed without asking.
    ///
    /// This is the rule of a client's cache: parameters of version `v` may be
    /// used while `v ≥ clock − staleness`. `bsp`, `backup` and `local` have a
    /// staleness of zero, `async` has no bound, `dynamic-ssp` its lower one,
    /// since any more is for the server to grant.
    #[must_use]
    pub const fn oldest_usable(self, clock: Clock) -> Clock {
        match self {
            Self::Bsp | Self::Backup { .. } | Self::Local { .. } => clock,
            Self::Ssp { staleness } => Clock(clock.0.saturating_sub(staleness as u64)),
            Self::DynamicSsp(range) => Clock(clock.0.saturating_sub(range.low as u64)),
            Self::Async => Clock::ZERO,
        }
    }

    /// The most clocks by which a worker that starts an iteration can be ahead
    /// of the slowest, if there is a bound. Within a round of `local` workers do
    /// not wait for each other. With `backup` a straggler may fall behind
    /// without limit, since its updates no longer count.
    #[must_use]
    pub const fn most_lead(self) -> Option<u32> {
        match self {
            Self::Bsp => Some(0),
            Self::Local { steps } => Some(steps.get() - 1),
            Self::Ssp { staleness } => Some(staleness),
            Self::DynamicSsp(range) => Some(range.high),
            Self::Async | Self::Backup { .. } => None,
        }
    }

    /// How many iterations lie between two updates that a worker sends.
    #[must_use]
    pub const fn iterations_per_update(self) -> u64 {
        match self {
            Self::Local { steps } => steps.get() as u64,
            _ => 1,
        }
    }

    /// Whether updates are gathered and applied together when an iteration
    /// closes. Otherwise each is applied when it arrives.
    #[must_use]
    pub const fn gathers(self) -> bool {
        matches!(self, Self::Bsp | Self::Backup { .. } | Self::Local { .. })
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bsp => f.write_str("bsp"),
            Self::Ssp { staleness } => write!(f, "ssp:{staleness}"),
            Self::Async => f.write_str("async"),
            Self::Backup { spare } => write!(f, "backup:{spare}"),
            Self::DynamicSsp(range) => write!(f, "dynamic-ssp:{}..{}", range.low, range.high),
            Self::Local { steps } => write!(f, "local:{steps}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_may_be_as_old_as_the_staleness_allows() {
        let check = |model: Consistency, oldest: u64| {
            assert_eq!(model.oldest_usable(Clock(10)), Clock(oldest), "{model}");
        };
        check(Consistency::Bsp, 10);
        check(Consistency::Ssp { staleness: 3 }, 7);
        check(Consistency::Ssp { staleness: 30 }, 0);
        check(Consistency::Async, 0);
        check(
            Consistency::DynamicSsp(StalenessRange::new(1, 8).expect("1 is below 8")),
            9,
        );
    }

    #[test]
    fn backup_needs_a_worker_whose_update_counts() {
        let backup = Consistency::Backup { spare: 2 };
        assert_eq!(backup.check_workers(3), Ok(()));
        assert_eq!(
            backup.check_workers(2),
            Err(WorkerCountError::TooFewForBackup {
                spare: 2,
                workers: 2
            })
        );
        assert_eq!(
            Consistency::Bsp.check_workers(0),
            Err(WorkerCountError::NoWorkers)
        );
    }
}
