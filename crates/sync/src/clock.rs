//! Clocks, times and the identity of a sender.

use std::fmt;
use std::time::Duration;

use paceline_model::WorkerId;

/// A number of completed iterations.
///
/// Of a worker: how many it has completed; it starts iteration `c` at clock
/// `c`, so iterations are counted from zero. Of parameters, where it is called
/// their *version*: every update of an iteration below it is in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Clock(pub u64);

impl Clock {
    /// Before the first iteration.
    pub const ZERO: Self = Self(0);

    /// This clock after `iterations` more.
    #[must_use]
    pub const fn plus(self, iterations: u64) -> Self {
        Self(self.0.saturating_add(iterations))
    }

    /// How far this clock is ahead of `other`, zero if it is not.
    #[must_use]
    pub const fn lead(self, other: Self) -> u64 {
        self.0.saturating_sub(other.0)
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A moment of the caller's monotonic time: nanoseconds since some moment that
/// the caller keeps to. The rules only compare moments and subtract them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(pub u64);

impl Tick {
    /// The moment so long after the caller's first.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self(nanos(time))
    }

    /// The nanoseconds from `earlier` to this moment, zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A time in the unit of [`Tick`]; centuries are as good as for ever.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Which life of a worker is speaking. A worker that is restarted joins with a
/// higher number, and nothing its former lives sent counts any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Incarnation(pub u32);

impl Incarnation {
    /// The life after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Who sent a message: a worker in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sender {
    /// The worker.
    pub worker: WorkerId,
    /// Its life.
    pub incarnation: Incarnation,
}

impl Sender {
    /// The first life of worker `id`.
    #[must_use]
    pub const fn first(id: u32) -> Self {
        Self {
            worker: WorkerId(id),
            incarnation: Incarnation(0),
        }
    }
}
