//! How many more iterations the fastest worker may run under `dynamic-ssp`.
//!
//! The rule is that of the synchronisation controller of Zhao et al. (2019,
//! algorithm 2). The intervals between the last two updates of the fastest
//! worker p and of the slowest worker q predict their next ones: p's at
//! `t_p + r·I_p` after r more iterations, q's at `t_q + (k + 1)·I_q`. The
//! controller chooses the r for which an update of q comes closest to p's, since
//! p then waits least; of equals the smallest, since fresher parameters cost
//! nothing there. The prediction assumes that both keep their pace. If it
//! errs, p waits longer than necessary; the upper bound holds regardless.

use crate::Tick;

/// When a worker's last update came and how long after the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    last: Option<Tick>,
    interval: Option<u64>,
}

impl Pace {
    /// An update came.
    pub(crate) fn observe(&mut self, now: Tick) {
        self.interval = self.last.map(|last| now.since(last));
        self.last = Some(now);
    }

    fn known(self) -> Option<(u64, u64)> {
        Some((self.last?.0, self.interval?))
    }
}

/// How many more iterations, at most `most`, the fastest worker may run before
/// it waits. None while either pace is unknown.
pub(crate) fn extra_iterations(fastest: Pace, slowest: Pace, most: u64) -> u64 {
    let (Some((p_last, p_interval)), Some((q_last, q_interval))) =
        (fastest.known(), slowest.known())
    else {
        return 0;
    };
    let gap = |extra: u64| {
        let p = p_last.saturating_add(p_interval.saturating_mul(extra));
        let q = |k: u64| q_last.saturating_add(q_interval.saturating_mul(k + 1));
        // The predicted updates of q are equally spaced, so only the two around
        // p's can be closest.
        let before = p
            .saturating_sub(q(0))
            .checked_div(q_interval)
            .unwrap_or(0)
            .min(most);
        let after = (before + 1).min(most);
        p.abs_diff(q(before)).min(p.abs_diff(q(after)))
    };
    (0..=most).min_by_key(|&extra| gap(extra)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An update every `interval`, the last one at `last`.
    fn pace(interval: u64, last: u64) -> Pace {
        let mut pace = Pace::default();
        pace.observe(Tick(last - interval));
        pace.observe(Tick(last));
        pace
    }

    #[test]
    fn the_fastest_runs_on_until_the_slowest_is_due() {
        // The slowest updates at 125 and 145; the fastest, every 5 from 110 on,
        // is at 125 after three more iterations.
        assert_eq!(extra_iterations(pace(5, 110), pace(20, 105), 7), 3);
    }

    #[test]
    fn nobody_runs_on_if_the_slowest_is_due_now() {
        assert_eq!(extra_iterations(pace(5, 110), pace(10, 100), 7), 0);
    }

    #[test]
    fn an_unknown_pace_grants_nothing() {
        let mut once = Pace::default();
        once.observe(Tick(3));
        assert_eq!(extra_iterations(pace(5, 10), once, 7), 0);
        assert_eq!(extra_iterations(once, pace(5, 10), 7), 0);
    }

    #[test]
    fn the_choice_never_exceeds_what_is_left_of_the_range() {
        // The slowest is due in 180, which would be 180 more iterations.
        assert_eq!(extra_iterations(pace(1, 10), pace(95, 95), 7), 7);
        assert_eq!(extra_iterations(pace(1, 10), pace(95, 95), 0), 0);
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let late = pace(u64::MAX, u64::MAX);
        assert_eq!(extra_iterations(late, late, 1024), 0);
        let still = pace(0, 7);
        assert_eq!(extra_iterations(still, still, 1024), 0);
    }

    #[test]
    fn the_two_neighbours_are_as_close_as_the_closest_of_all() {
        for p_interval in 1..12 {
            for q_interval in 1..12 {
                for q_last in 20..40 {
                    let all = (0..=5u64)
                        .min_by_key(|r| {
                            (0..=5u64)
                                .map(|k| {
                                    (40 + p_interval * r).abs_diff(q_last + q_interval * (k + 1))
                                })
                                .min()
                        })
                        .unwrap();
                    let (fastest, slowest) = (pace(p_interval, 40), pace(q_interval, q_last));
                    assert_eq!(extra_iterations(fastest, slowest, 5), all);
                }
            }
        }
    }
}
