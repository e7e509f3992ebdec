//! Time since the start of a run.

use std::fmt;
use std::time::Duration;

/// Microseconds, either since the start of a run or as a length of time.
///
/// A run's own clock is monotonic: it neither jumps when the wall clock is set
/// nor counts differently on two workers of one host. Microseconds in 64 bits
/// last for half a million years, so arithmetic saturates instead of failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub u64);

impl Micros {
    /// The start of a run.
    pub const ZERO: Self = Self(0);

    /// This time in seconds, the unit of every serialized column.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The time from `earlier` to `self`, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Micros {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<Micros> for Duration {
    fn from(micros: Micros) -> Self {
        Self::from_micros(micros.0)
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.as_secs())
    }
}
