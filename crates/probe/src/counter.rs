//! Counters that only grow, and what is said when they do not.

use paceline_model::{GapReason, Micros};

/// The reading that is being taken.
#[derive(Debug)]
pub(crate) struct Tick {
    /// Its number: the baseline is 1.
    pub(crate) number: u64,
    /// The time since the reading before.
    pub(crate) interval: Micros,
    gap: Option<GapReason>,
}

impl Tick {
    pub(crate) fn new(number: u64, interval: Micros) -> Self {
        Self {
            number,
            interval,
            gap: None,
        }
    }

    /// True for the reading that only sets the counters' beginnings.
    pub(crate) fn is_baseline(&self) -> bool {
        self.number == 1
    }

    /// Remembers why values are missing. A reset says more about the record
    /// than a device that came or went, so it wins.
    pub(crate) fn note(&mut self, reason: GapReason) {
        if self.gap.is_none() || reason == GapReason::CounterReset {
            self.gap = Some(reason);
        }
    }

    pub(crate) fn gap(&self) -> Option<GapReason> {
        self.gap
    }
}

/// The last reading of one cumulative counter.
///
/// An amount exists only between two readings that follow each other: after a
/// tick without a reading the next one is a new beginning, because its amount
/// would not be that of the sample's interval.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counter {
    value: u64,
    /// The tick of the last reading, zero if there was none.
    tick: u64,
}

impl Counter {
    /// The amount since the tick before.
    pub(crate) fn amount(&mut self, now: u64, tick: &mut Tick) -> Option<u64> {
        let before = self.replace(now, tick)?;
        let amount = now.checked_sub(before);
        if amount.is_none() {
            tick.note(GapReason::CounterReset);
        }
        amount
    }

    /// The amount of a counter that the kernel keeps in 32 bits and that grows
    /// by at most `most` within the interval: a decrease that is explained by
    /// one wrap is an amount, any other is a reset.
    pub(crate) fn amount_u32(&mut self, now: u64, most: u64, tick: &mut Tick) -> Option<u64> {
        let before = self.replace(now, tick)?;
        if let Some(amount) = now.checked_sub(before) {
            return Some(amount);
        }
        let wrapped = (now + (1 << 32)).saturating_sub(before);
        if now < 1 << 32 && before < 1 << 32 && wrapped <= most {
            return Some(wrapped);
        }
        tick.note(GapReason::CounterReset);
        None
    }

    /// The amount of a counter that begins again after `range`, which it reaches at
    /// most once within an interval.
    pub(crate) fn amount_within(&mut self, now: u64, range: u64, tick: &mut Tick) -> Option<u64> {
        let before = self.replace(now, tick)?;
        if let Some(amount) = now.checked_sub(before) {
            return Some(amount);
        }
        match range.checked_sub(before) {
            Some(rest) if range < u64::MAX => Some(rest + now),
            _ => {
                tick.note(GapReason::CounterReset);
                None
            }
        }
    }

    /// The amount of a counter that the kernel lets step back a little, as it
    /// documents for idle and iowait time (proc(5)). A step back of at most
    /// `slack` is no growth, and later growth counts from the highest value.
    pub(crate) fn amount_unsteady(&mut self, now: u64, slack: u64, tick: &mut Tick) -> Option<u64> {
        let before = self.replace(now, tick)?;
        match now.checked_sub(before) {
            Some(amount) => Some(amount),
            None if before - now <= slack => {
                self.value = before;
                Some(0)
            }
            None => {
                tick.note(GapReason::CounterReset);
                None
            }
        }
    }

    fn replace(&mut self, now: u64, tick: &Tick) -> Option<u64> {
        let follows = self.tick != 0 && self.tick + 1 == tick.number;
        let before = std::mem::replace(&mut self.value, now);
        self.tick = tick.number;
        follows.then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(number: u64) -> Tick {
        Tick::new(number, Micros(1_000_000))
    }

    #[test]
    fn the_first_reading_is_only_a_beginning() {
        let mut counter = Counter::default();
        assert_eq!(counter.amount(7, &mut tick(1)), None);
        assert_eq!(counter.amount(9, &mut tick(2)), Some(2));
    }

    #[test]
    fn a_counter_that_was_not_read_for_a_tick_begins_again() {
        let mut counter = Counter::default();
        counter.amount(7, &mut tick(1));
        let mut third = tick(3);
        assert_eq!(counter.amount(9, &mut third), None);
        assert_eq!(third.gap(), None);
        assert_eq!(counter.amount(10, &mut tick(4)), Some(1));
    }

    #[test]
    fn a_counter_that_goes_back_has_no_amount_and_says_so() {
        let mut counter = Counter::default();
        counter.amount(7, &mut tick(1));
        let mut second = tick(2);
        second.note(GapReason::DeviceChanged);
        assert_eq!(counter.amount(3, &mut second), None);
        assert_eq!(second.gap(), Some(GapReason::CounterReset));
        assert_eq!(counter.amount(4, &mut tick(3)), Some(1));
    }

    #[test]
    fn a_wrap_of_32_bits_is_an_amount_only_if_it_is_plausible() {
        let mut counter = Counter::default();
        counter.amount(u64::from(u32::MAX) - 10, &mut tick(1));
        assert_eq!(counter.amount_u32(9, 1000, &mut tick(2)), Some(20));
        let mut third = tick(3);
        assert_eq!(counter.amount_u32(3, 1000, &mut third), None);
        assert_eq!(third.gap(), Some(GapReason::CounterReset));
    }

    #[test]
    fn a_counter_with_a_known_range_begins_again_without_a_loss() {
        let mut counter = Counter::default();
        counter.amount_within(990, 1000, &mut tick(1));
        assert_eq!(counter.amount_within(5, 1000, &mut tick(2)), Some(15));
        // A value beyond the range, or a range that nobody knows, is a reset.
        for range in [3, u64::MAX] {
            let mut third = tick(3);
            let mut copy = counter;
            assert_eq!(copy.amount_within(1, range, &mut third), None);
            assert_eq!(third.gap(), Some(GapReason::CounterReset));
        }
    }

    #[test]
    fn a_small_step_back_of_iowait_is_no_growth_and_costs_nothing_later() {
        let mut counter = Counter::default();
        counter.amount_unsteady(100, 5, &mut tick(1));
        assert_eq!(counter.amount_unsteady(98, 5, &mut tick(2)), Some(0));
        assert_eq!(counter.amount_unsteady(103, 5, &mut tick(3)), Some(3));
        let mut fourth = tick(4);
        assert_eq!(counter.amount_unsteady(50, 5, &mut fourth), None);
        assert_eq!(fourth.gap(), Some(GapReason::CounterReset));
    }
}
