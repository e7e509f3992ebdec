//! The clock of one run.

use paceline_model::Micros;
use std::time::{Instant, SystemTime};

/// Monotonic time since the start of a run, with the wall-clock time of that
/// start. Everything in one record is stamped by one such clock.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    start: Instant,
    wall: SystemTime,
}

impl RunClock {
    /// A clock that reads zero now.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where a run's time begins"
    )]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// The time since the start.
    #[must_use]
    pub fn now(&self) -> Micros {
        self.start.elapsed().into()
    }

    /// When the run started, by the wall clock.
    #[must_use]
    pub fn started_at(&self) -> SystemTime {
        self.wall
    }

    /// The instant at which this clock read zero.
    #[must_use]
    pub fn zero(&self) -> Instant {
        self.start
    }
}
