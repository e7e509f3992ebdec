//! What the coordinator knows of one worker.

use std::fmt;

use paceline_model::WorkerId;

use crate::dynamic::Pace;
use crate::{Action, Clock, Doing, Incarnation, LossCause, Refusal, Sender, Tick};

/// How many updates can be counted ahead of one that is still missing. Ordered
/// transports never need it; others reorder by less.
const WINDOW: u64 = 64;

/// One worker's place in a run.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) presence: Presence,
    /// The present or last life; none before the first.
    pub(crate) incarnation: Option<Incarnation>,
    /// Its clock: no update below it is waited for any more.
    pub(crate) next: Clock,
    /// Bit `i` is set if the update of `next + i` was counted ahead of its
    /// predecessors. Bit 0 is never set.
    ahead: u64,
    /// Bit `i` is set if the update `i + 1` updates before `next` was heard.
    behind: u64,
    /// The iteration it asked to start and may not yet.
    pub(crate) waiting: Option<Clock>,
    /// Whether it has started an iteration in its present life.
    pub(crate) started: bool,
    pub(crate) heard: Tick,
    /// When a replacement was last asked for.
    pub(crate) replacing_since: Tick,
    pub(crate) pace: Pace,
    /// Under `dynamic-ssp`, iterations below this clock were granted beyond the
    /// lower bound.
    pub(crate) granted: Clock,
    pub(crate) tally: Tally,
}

/// Whether others reckon with a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It takes part.
    Live,
    /// It belongs to the start of the run and has not joined yet.
    Expected,
    /// It is lost, and its place is kept until it comes back.
    Awaited,
    /// Nobody reckons with it.
    Absent,
}

/// What became of the updates of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Updates that count.
    pub counted: u64,
    /// Updates dropped because their iteration had closed.
    pub late: u64,
    /// Repeated updates, ignored.
    pub duplicate: u64,
    /// Messages refused: of a former life, after a loss, out of order.
    pub refused: u64,
}

impl Tally {
    /// The tally of two sets of updates together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            counted: self.counted + other.counted,
            late: self.late + other.late,
            duplicate: self.duplicate + other.duplicate,
            refused: self.refused + other.refused,
        }
    }
}

/// A worker as the coordinator sees it. As text: `worker2, last seen at clock
/// 17, computing iteration 17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberView {
    /// The worker.
    pub worker: WorkerId,
    /// The present or last life; none before the first.
    pub incarnation: Option<Incarnation>,
    /// Whether others reckon with it.
    pub presence: Presence,
    /// Its clock: how many iterations it has completed.
    pub clock: Clock,
    /// What it does, as far as its messages tell.
    pub doing: Doing,
    /// When it was last heard of; before its first life, when the run started.
    pub heard: Tick,
}

impl fmt::Display for MemberView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.incarnation {
            None => write!(f, "{}, which has not joined yet", self.worker),
            Some(_) => write!(
                f,
                "{}, last seen at clock {}, {}",
                self.worker, self.clock, self.doing
            ),
        }
    }
}

impl Member {
    pub(crate) fn new(presence: Presence, clock: Clock, now: Tick) -> Self {
        Self {
            presence,
            incarnation: None,
            next: clock,
            ahead: 0,
            behind: 0,
            waiting: None,
            started: false,
            heard: now,
            replacing_since: now,
            pace: Pace::default(),
            granted: Clock::ZERO,
            tally: Tally::default(),
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.presence == Presence::Live
    }

    /// Whether the others reckon with it.
    pub(crate) fn is_present(&self) -> bool {
        self.presence != Presence::Absent
    }

    pub(crate) fn join_with(&self) -> Incarnation {
        self.incarnation
            .map_or(Incarnation::default(), Incarnation::next)
    }

    /// Whether the sender is this member in its present life.
    pub(crate) fn admit(&self, from: Sender) -> Result<(), Refusal> {
        match self.incarnation {
            Some(current) if from.incarnation < current => Err(Refusal::FormerLife {
                worker: from.worker,
                current,
            }),
            Some(current) if from.incarnation == current && self.is_live() => Ok(()),
            _ => Err(Refusal::NotAMember {
                worker: from.worker,
                join_with: self.join_with(),
            }),
        }
    }

    /// Takes part from now on in life `incarnation`, not before iteration
    /// `floor`.
    pub(crate) fn enter(&mut self, incarnation: Incarnation, floor: Clock, steps: u64) {
        self.presence = Presence::Live;
        self.incarnation = Some(incarnation);
        self.waiting = None;
        self.started = false;
        self.pace = Pace::default();
        self.granted = Clock::ZERO;
        if floor > self.next {
            // The iterations that were missed will never be computed; updates
            // counted ahead of them stay counted.
            let skipped = floor.lead(self.next) / steps;
            self.next = floor;
            self.ahead = shifted(skipped, |bits| self.ahead.checked_shr(bits));
            self.behind = shifted(skipped, |bits| self.behind.checked_shl(bits));
            self.settle();
        }
    }

    /// Moves the clock past the update of `clock`, whatever lies between: the
    /// rule where iterations close and none can be made up for. False if the
    /// update was heard before.
    pub(crate) fn hear_once(&mut self, clock: Clock, steps: u64) -> bool {
        if clock >= self.next {
            let passed = clock.lead(self.next) / steps + 1;
            self.behind = shifted(passed, |bits| self.behind.checked_shl(bits)) | 1;
            self.next = clock.plus(steps);
            return true;
        }
        let offset = self.next.lead(clock) / steps - 1;
        let bit = shifted(offset, |bits| 1u64.checked_shl(bits));
        // An update too old for the window has long been heard.
        let first = bit != 0 && self.behind & bit == 0;
        self.behind |= bit;
        first
    }

    /// Marks the update of `clock` as counted. False if it was before; an error
    /// if it is further ahead than any transport reorders.
    pub(crate) fn count_once(&mut self, worker: WorkerId, clock: Clock) -> Result<bool, Refusal> {
        if clock < self.next {
            return Ok(false);
        }
        let offset = clock.lead(self.next);
        if offset >= WINDOW {
            return Err(Refusal::AheadOfServer {
                worker,
                clock,
                at: self.next,
            });
        }
        let bit = 1 << offset;
        if self.ahead & bit != 0 {
            return Ok(false);
        }
        self.ahead |= bit;
        self.settle();
        Ok(true)
    }

    /// Moves the clock over the updates that are complete.
    fn settle(&mut self) {
        let complete = self.ahead.trailing_ones();
        self.next = self.next.plus(u64::from(complete));
        self.ahead = self.ahead.checked_shr(complete).unwrap_or(0);
    }

    fn doing(&self) -> Doing {
        match self.waiting {
            Some(clock) => Doing::Waiting(clock),
            None if self.started => Doing::Computing(self.next),
            None => Doing::Starting,
        }
    }

    pub(crate) fn lost(&self, worker: WorkerId, cause: LossCause) -> Action {
        Action::Lost {
            worker,
            cause,
            clock: self.next,
            doing: self.doing(),
            heard: self.heard,
        }
    }

    pub(crate) fn replace(&mut self, worker: WorkerId, now: Tick) -> Action {
        self.replacing_since = now;
        Action::Replace {
            worker,
            incarnation: self.join_with(),
        }
    }

    pub(crate) fn view(&self, worker: WorkerId) -> MemberView {
        MemberView {
            worker,
            incarnation: self.incarnation,
            presence: self.presence,
            clock: self.next,
            doing: self.doing(),
            heard: self.heard,
        }
    }
}

/// The shift by `count` bits, which may be more than there are.
fn shifted(count: u64, shift: impl FnOnce(u32) -> Option<u64>) -> u64 {
    u32::try_from(count).ok().and_then(shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_count_once_in_any_order() {
        let mut member = Member::new(Presence::Live, Clock(5), Tick(0));
        let mut count = |clock| member.count_once(WorkerId(0), Clock(clock));
        assert_eq!(count(7), Ok(true));
        assert_eq!(count(7), Ok(false));
        assert_eq!(count(5), Ok(true));
        assert_eq!(count(5), Ok(false));
        assert_eq!(count(6), Ok(true));
        assert_eq!(count(4), Ok(false));
        assert!(count(8 + WINDOW).is_err());
        assert_eq!(member.next, Clock(8));
        assert_eq!(member.ahead, 0);
    }

    #[test]
    fn a_full_window_is_settled_at_once() {
        let mut member = Member::new(Presence::Live, Clock(0), Tick(0));
        for clock in (0..WINDOW).rev() {
            assert_eq!(member.count_once(WorkerId(0), Clock(clock)), Ok(true));
        }
        assert_eq!(member.next, Clock(WINDOW));
        assert_eq!(member.ahead, 0);
    }

    #[test]
    fn a_returning_worker_keeps_what_was_counted_ahead() {
        let mut member = Member::new(Presence::Absent, Clock(5), Tick(0));
        assert_eq!(member.count_once(WorkerId(0), Clock(8)), Ok(true));
        member.enter(Incarnation(1), Clock(7), 1);
        assert_eq!(member.next, Clock(7));
        assert_eq!(member.count_once(WorkerId(0), Clock(8)), Ok(false));
        assert_eq!(member.count_once(WorkerId(0), Clock(7)), Ok(true));
        assert_eq!(member.next, Clock(9));
    }

    #[test]
    fn an_overtaken_update_is_heard_once() {
        let mut member = Member::new(Presence::Live, Clock(4), Tick(0));
        let mut hear = |clock| member.hear_once(Clock(clock), 2);
        assert!(
            hear(10),
            "the worker skipped 4, 6 and 8, or they are under way"
        );
        assert!(!hear(10));
        assert!(hear(6));
        assert!(!hear(6));
        assert!(hear(12));
        assert!(!hear(6));
        assert!(hear(4));
        assert!(!hear(4));
        assert!(hear(12 + 2 * 80));
        assert!(!hear(8), "too old to know");
        assert_eq!(member.next, Clock(12 + 2 * 81));
    }
}
