//! How an agent's clock stands to the controller's.
//!
//! As in NTP (RFC 5905, section 8): of a message there and back, the four times
//! give an offset that is wrong by at most half of the time under way. The
//! exchange that was under way for the shortest time is believed.

use paceline_engine::ClockOffset;
use paceline_model::Micros;
use std::collections::VecDeque;

/// One message there and back, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// When it left, by the controller's clock.
    pub(crate) sent: u64,
    /// When it came, by the agent's.
    pub(crate) received: u64,
    /// When the answer left, by the agent's.
    pub(crate) replied: u64,
    /// When the answer came, by the controller's.
    pub(crate) returned: u64,
}

impl Exchange {
    /// By how much the agent's clock is ahead.
    fn offset(&self) -> i64 {
        let there = signed(self.received) - signed(self.sent);
        let back = signed(self.replied) - signed(self.returned);
        i64::midpoint(there, back)
    }

    /// The time that both ways together took.
    fn under_way(&self) -> u64 {
        let whole = self.returned.saturating_sub(self.sent);
        whole.saturating_sub(self.replied.saturating_sub(self.received))
    }
}

fn signed(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX / 4)
}

/// The latest exchanges: older ones tell of a clock that has drifted since.
const KEPT: usize = 16;

/// What the exchanges with one agent tell.
#[derive(Debug, Default)]
pub(crate) struct ClockFilter {
    exchanges: VecDeque<Exchange>,
    /// By how much the agent's wall clock is ahead, as of the best exchange.
    wall: ClockOffset,
}

impl ClockFilter {
    /// Takes an exchange. `wall_ahead_us` is how far the agent's wall clock was
    /// ahead of the controller's, had the answer taken no time.
    pub(crate) fn add(&mut self, exchange: Exchange, wall_ahead_us: i64) {
        if self.exchanges.len() == KEPT {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
        let best = self.exchanges.iter().map(Exchange::under_way).min();
        if best == Some(exchange.under_way()) {
            let way = exchange.under_way() / 2;
            self.wall = ClockOffset {
                // The answer was under way for about half of the time.
                offset_us: wall_ahead_us.saturating_add(signed(way)),
                uncertainty_us: way,
            };
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.exchanges.len()
    }

    /// By how much the agent's monotonic clock is ahead of the controller's.
    pub(crate) fn offset(&self) -> i64 {
        let best = self.exchanges.iter().min_by_key(|it| it.under_way());
        best.map_or(0, Exchange::offset)
    }

    /// The same of the wall clocks, which people compare.
    pub(crate) fn wall(&self) -> ClockOffset {
        self.wall
    }
}

/// Turns times of a run's clock on a node into times of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeMap {
    /// What is added, in microseconds.
    shift: i64,
    last: Micros,
}

/// A correction takes at least a thousand times as long as it is large, so that
/// times keep their order and intervals their length.
const SLEW: u64 = 1000;

impl TimeMap {
    /// `zero` is when the node's clock of the run read zero, by the agent's clock;
    /// `began` when the run began, by the controller's; `offset` how far the
    /// agent's is ahead.
    pub(crate) fn new(zero: u64, began: i64, offset: i64) -> Self {
        Self {
            shift: signed(zero) - offset - began,
            last: Micros::ZERO,
        }
    }

    pub(crate) fn map(&self, at: u64) -> Micros {
        let at = signed(at).saturating_add(self.shift);
        Micros(u64::try_from(at).unwrap_or(0))
    }

    /// Follows a clock that drifts: `target` is what a map made now would add.
    pub(crate) fn follow(&mut self, at: u64, target: &Self) {
        let passed = at.saturating_sub(self.last.0);
        self.last = Micros(at);
        let most = signed(passed / SLEW);
        self.shift += (target.shift - self.shift).clamp(-most, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exchange with an agent that is `ahead`, over a line with these delays.
    fn exchange(sent: u64, ahead: i64, there: u64, back: u64) -> Exchange {
        let at_agent = |time: u64| u64::try_from(signed(time) + ahead).unwrap();
        Exchange {
            sent,
            received: at_agent(sent + there),
            replied: at_agent(sent + there + 10),
            returned: sent + there + 10 + back,
        }
    }

    #[test]
    fn the_offset_is_within_its_uncertainty_however_lopsided_the_line() {
        for (there, back) in [(100, 100), (1, 5000), (9000, 3), (0, 0)] {
            for ahead in [-1_000_000, 0, 123_456_789] {
                let one = exchange(5_000_000, ahead, there, back);
                let error = (one.offset() - ahead).unsigned_abs();
                assert_eq!(one.under_way(), there + back);
                assert!(error <= one.under_way() / 2 + 1, "{there} {back} {ahead}");
            }
        }
    }

    #[test]
    fn the_shortest_exchange_is_believed() {
        let mut filter = ClockFilter::default();
        filter.add(exchange(10_000_000, 500, 9_000, 10), 0);
        filter.add(exchange(11_000_000, 500, 40, 40), 460);
        filter.add(exchange(12_000_000, 500, 10, 7_000), 0);
        assert_eq!(filter.offset(), 500);
        assert_eq!(
            filter.wall(),
            ClockOffset {
                offset_us: 500,
                uncertainty_us: 40
            }
        );
    }

    #[test]
    fn old_exchanges_are_forgotten_because_clocks_drift() {
        let mut filter = ClockFilter::default();
        filter.add(exchange(1_000, 500, 1, 1), 0);
        for round in 1..=KEPT as u64 {
            filter.add(exchange(round * 1_000_000, 900, 30, 30), 0);
        }
        assert_eq!(filter.offset(), 900);
        assert_eq!(filter.count(), KEPT);
    }

    #[test]
    fn a_drifting_clock_is_followed_without_a_step_back() {
        let mut map = TimeMap::new(1_000_000, 0, 0);
        assert_eq!(map.map(5), Micros(1_000_005));
        let target = TimeMap::new(1_000_000, 0, 900_000);
        let mut last = Micros::ZERO;
        for second in 1..=2_000 {
            let at = second * 1_000_000;
            map.follow(at, &target);
            let mapped = map.map(at);
            assert!(mapped > last);
            last = mapped;
        }
        // After 900 s the correction of 0.9 s is complete.
        assert_eq!(map.map(0), target.map(0));
    }

    #[test]
    fn a_time_before_the_run_is_its_beginning() {
        let map = TimeMap::new(0, 1_000, 0);
        assert_eq!(map.map(10), Micros::ZERO);
    }
}
