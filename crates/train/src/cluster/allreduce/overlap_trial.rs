//! Whether it pays to send buckets while the gradient is still computed.
//!
//! Between hosts the network works while the processor does. On one host it is
//! the processor that carries the bytes: the thread that sends takes the time
//! of those that compute. Which of the two it is only a trial tells, and it may
//! tell, because the bits are the same either way.

use std::time::Duration;

/// Steps in each way; the first ones, in which buffers are made, do not count.
const STEPS: u32 = 10;
const UNCOUNTED: u32 = 2;

/// A few steps in either way, then a vote.
#[derive(Debug)]
pub(super) struct OverlapTrial {
    taken: u32,
    /// The least time of a step whose buckets leave late, and early: noise only
    /// ever adds.
    least: [Duration; 2],
}

/// What follows from a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// On as before.
    On,
    /// From now on buckets leave early, or late.
    Turn {
        /// Which of the two.
        early: bool,
    },
    /// This worker gains so many seconds a step by sending early; the next
    /// step's sums tell what all gain.
    Vote(f32),
}

impl OverlapTrial {
    /// Buckets leave late at first.
    pub(super) fn new() -> Self {
        Self {
            taken: 0,
            least: [Duration::MAX; 2],
        }
    }

    /// A step took so long. `gain` is the sum of all votes, once they are in.
    pub(super) fn step(&mut self, took: Duration, gain: f32) -> Verdict {
        let way = usize::from(self.taken >= STEPS);
        if self.taken % STEPS >= UNCOUNTED && self.taken < 2 * STEPS {
            self.least[way] = self.least[way].min(took);
        }
        self.taken = self.taken.saturating_add(1);
        match self.taken {
            STEPS => Verdict::Turn { early: true },
            n if n == 2 * STEPS => {
                let [late, early] = self.least.map(|time| time.as_secs_f32());
                Verdict::Vote(late - early)
            }
            n if n == 2 * STEPS + 1 && gain <= 0.0 => Verdict::Turn { early: false },
            _ => Verdict::On,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdicts other than to go on, by step, of steps that take these
    /// times late and early, when all have gained `gain` together.
    fn verdicts(late: u64, early: u64, gain: f32) -> Vec<(u32, Verdict)> {
        let mut trial = OverlapTrial::new();
        let mut found = Vec::new();
        let mut is_early = false;
        for step in 0..100 {
            let millis = if is_early { early } else { late };
            // The first steps in a way are slow, and one that is disturbed is.
            let slow = if step % 10 < 2 || step == 7 { 500 } else { 0 };
            let verdict = trial.step(Duration::from_millis(millis + slow), gain);
            if let Verdict::Turn { early } = verdict {
                is_early = early;
            }
            if verdict != Verdict::On {
                found.push((step, verdict));
            }
        }
        found
    }

    #[test]
    fn both_ways_are_tried_and_the_one_by_which_all_gain_stays() {
        let early = Verdict::Turn { early: true };
        let late = Verdict::Turn { early: false };
        let gain = |late: f32, early: f32| Verdict::Vote(late / 1000.0 - early / 1000.0);
        assert_eq!(
            verdicts(30, 20, 0.005),
            [(9, early), (19, gain(30.0, 20.0))]
        );
        assert_eq!(
            verdicts(20, 30, -0.005),
            [(9, early), (19, gain(20.0, 30.0)), (20, late)]
        );
        // This worker would gain, all together do not.
        assert_eq!(
            verdicts(30, 20, -0.001),
            [(9, early), (19, gain(30.0, 20.0)), (20, late)]
        );
    }
}
