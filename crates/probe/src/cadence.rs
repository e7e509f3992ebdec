//! When ticks fall.

use paceline_model::{GapReason, Micros};
use std::time::Duration;

/// The time between two samples: at least 100 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval(Duration);

/// Why a time cannot be an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// No time at all.
    #[error("the sampling interval cannot be zero")]
    Zero,
    /// So short that reading would disturb what is measured.
    #[error("a sampling interval of {} ms is too short; the shortest is {} ms",
        .0.as_secs_f64() * 1e3, Interval::SHORTEST.as_millis())]
    TooShort(Duration),
}

impl Interval {
    /// Below this, the clock ticks in which the kernel counts processes' CPU
    /// time show as noise, and a probe costs more than it tells.
    pub const SHORTEST: Duration = Duration::from_millis(100);

    /// Checks `length`.
    ///
    /// # Errors
    /// If it is zero or below [`Interval::SHORTEST`].
    pub fn new(length: Duration) -> Result<Self, IntervalError> {
        if length.is_zero() {
            Err(IntervalError::Zero)
        } else if length < Self::SHORTEST {
            Err(IntervalError::TooShort(length))
        } else {
            Ok(Self(length))
        }
    }

    /// The time between two samples.
    #[must_use]
    pub fn length(self) -> Duration {
        self.0
    }
}

impl Default for Interval {
    /// One second.
    fn default() -> Self {
        Self(Duration::from_secs(1))
    }
}

/// Decides when the next tick falls, without drift: ticks lie on a grid from
/// the start, however long a reading takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    interval: Micros,
    start: Micros,
}

impl Cadence {
    /// A grid of `interval` that begins at `start`.
    #[must_use]
    pub fn new(interval: Interval, start: Micros) -> Self {
        Self {
            interval: Micros::from(interval.length()),
            start,
        }
    }

    /// The first tick after `now`. Ticks that were missed are skipped, never
    /// made up for by a burst.
    #[must_use]
    pub fn next_after(&self, now: Micros) -> Micros {
        let passed = now.since(self.start).0 / self.interval.0;
        let next = (passed + 1).saturating_mul(self.interval.0);
        Micros(self.start.0.saturating_add(next))
    }

    /// Why a sample with the real interval `real` is not an ordinary one.
    #[must_use]
    pub fn judge(&self, real: Micros) -> Option<GapReason> {
        let late = real.0 > self.interval.0.saturating_add(self.interval.0 / 2);
        late.then_some(GapReason::Late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cadence() -> Cadence {
        let interval = Interval::new(Duration::from_millis(250)).unwrap();
        Cadence::new(interval, Micros(1_000))
    }

    #[test]
    fn an_interval_of_zero_or_below_a_tenth_of_a_second_is_refused() {
        let of = |millis| Interval::new(Duration::from_millis(millis));
        assert_eq!(of(0), Err(IntervalError::Zero));
        assert_eq!(
            of(99).unwrap_err().to_string(),
            "a sampling interval of 99 ms is too short; the shortest is 100 ms"
        );
        assert_eq!(of(100).map(Interval::length), Ok(Interval::SHORTEST));
    }

    #[test]
    fn ticks_stay_on_the_grid_however_long_a_reading_takes() {
        let cadence = cadence();
        assert_eq!(cadence.next_after(Micros(0)), Micros(251_000));
        assert_eq!(cadence.next_after(Micros(1_000)), Micros(251_000));
        assert_eq!(cadence.next_after(Micros(251_000)), Micros(501_000));
        assert_eq!(cadence.next_after(Micros(251_900)), Micros(501_000));
    }

    #[test]
    fn ticks_that_were_missed_are_not_made_up_for() {
        assert_eq!(cadence().next_after(Micros(2_001_500)), Micros(2_251_000));
    }

    #[test]
    fn a_tick_is_late_from_one_and_a_half_intervals_on() {
        let cadence = cadence();
        assert_eq!(cadence.judge(Micros(375_000)), None);
        assert_eq!(cadence.judge(Micros(375_001)), Some(GapReason::Late));
        assert_eq!(cadence.judge(Micros(10)), None);
    }
}
