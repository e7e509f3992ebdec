//! When to stop waiting.

use std::time::{Duration, Instant};

/// The instant after which an operation gives up, or never.
///
/// One deadline covers a whole operation: a peer that sends one byte at a time
/// does not extend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(When);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Passed,
    At(Instant),
    Never,
}

impl Deadline {
    /// Waits for ever; for loops that something else ends.
    pub const NEVER: Self = Self(When::Never);

    /// Does not wait at all.
    pub const PASSED: Self = Self(When::Passed);

    /// Gives up after `patience` from now. A patience too long to represent
    /// never ends.
    pub fn after(patience: Duration) -> Self {
        Self(now().checked_add(patience).map_or(When::Never, When::At))
    }

    /// Whether the instant has come.
    pub fn has_passed(self) -> bool {
        match self.0 {
            When::Passed => true,
            When::At(at) => at <= now(),
            When::Never => false,
        }
    }

    /// What is left: `None` without an end, zero when it has passed.
    pub fn remaining(self) -> Option<Duration> {
        match self.0 {
            When::Passed => Some(Duration::ZERO),
            When::At(at) => Some(at.saturating_duration_since(now())),
            When::Never => None,
        }
    }

    /// The earlier of two deadlines.
    #[must_use]
    pub fn or_sooner(self, other: Self) -> Self {
        match (self.0, other.0) {
            (When::At(a), When::At(b)) => Self(When::At(a.min(b))),
            (When::Never, _) | (_, When::Passed) => other,
            (_, When::Never) | (When::Passed, _) => self,
        }
    }
}

/// The monotonic clock, read here only.
#[expect(
    clippy::disallowed_methods,
    reason = "sockets are waited for with deadlines, and traffic is timed"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_patience_has_passed_and_endless_patience_never_does() {
        assert!(Deadline::after(Duration::ZERO).has_passed());
        assert!(!Deadline::NEVER.has_passed());
        assert!(!Deadline::after(Duration::MAX).has_passed());
        assert_eq!(Deadline::NEVER.remaining(), None);
    }

    #[test]
    fn the_sooner_of_two_deadlines_counts() {
        let soon = Deadline::after(Duration::ZERO);
        let late = Deadline::after(Duration::from_secs(3600));
        assert_eq!(soon.or_sooner(late), soon);
        assert_eq!(late.or_sooner(soon), soon);
        assert_eq!(Deadline::NEVER.or_sooner(late), late);
        assert_eq!(late.or_sooner(Deadline::NEVER), late);
    }
}
