use std::time::{Duration, Instant};

/// Time since a session began, what earlier sessions took included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    began: Instant,
    earlier: Duration,
}

impl Stopwatch {
    /// Starts at `earlier`.
    #[expect(clippy::disallowed_methods, reason = "the trainer owns its clock")]
    pub(crate) fn starting_at(earlier: Duration) -> Self {
        Self {
            began: Instant::now(),
            earlier,
        }
    }

    /// How long training has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.earlier + self.began.elapsed()
    }
}

/// This moment, for measuring what a worker spends its time on.
#[expect(clippy::disallowed_methods, reason = "the trainer owns its clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
