//! The clock of one run.

use paceline_model::Micros;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

/// Monotonic time since the start of a run, with the wall-clock time of that
/// start. Everything in one record is stamped by one such clock.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    start: Instant,
    wall: SystemTime,
    /// The microseconds that a test has turned the clock to, instead of the
    /// time since the start.
    hand: Option<&'static AtomicU64>,
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
            hand: None,
        }
    }

    /// A clock that stands still until [`RunClock::advance`], for tests. The
    /// eight bytes of its hand are never given back.
    #[cfg(feature = "fake")]
    #[must_use]
    pub fn by_hand() -> Self {
        Self {
            hand: Some(Box::leak(Box::default())),
            ..Self::start()
        }
    }

    /// Turns a clock by hand on.
    ///
    /// # Panics
    /// If the clock goes by itself.
    #[cfg(feature = "fake")]
    pub fn advance(&self, time: std::time::Duration) {
        let hand = self.hand.expect("only a clock by hand can be turned");
        hand.fetch_add(Micros::from(time).0, Ordering::SeqCst);
    }

    /// The time since the start.
    #[must_use]
    pub fn now(&self) -> Micros {
        match self.hand {
            Some(hand) => Micros(hand.load(Ordering::SeqCst)),
            None => self.start.elapsed().into(),
        }
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
