//! What the run's processes used, counted once each.
//!
//! A process's account includes the children it has waited for. As long as a
//! child lives, the probe sees its account; when its parent waits for it, the
//! same amount appears in the parent's. The ledger remembers what it has
//! already counted of a child that is gone and leaves that much out of its
//! parent's growth. A child that started and ended between two readings was
//! never seen, and its whole account counts through its parent.

use super::stat::Usage;

/// What is known of one living process between two readings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    /// The last reading, children waited for included.
    pub(crate) total: Usage,
    /// The part of it that came from children, for the fields that tell.
    pub(crate) reaped: [u64; 4],
    /// Counted already, and still to come with the accounts of children that
    /// are gone.
    owed: Usage,
    /// The part of `owed` that is there for the second reading.
    ///
    /// A child may end after its parent has been read and before it is itself
    /// read; its account then reaches the parent one reading later. If it has
    /// not come by then, nobody waited for the child.
    overdue: Usage,
}

impl Account {
    /// Records that a child is gone whose last reading was `total`.
    pub(crate) fn lose_child(&mut self, total: &Usage) {
        for field in 0..Usage::FIELDS {
            self.owed.0[field] += total.0[field];
        }
    }

    /// The debts a vanished process leaves to whoever waits for it: its own
    /// account and those of its children that had not reached it.
    pub(crate) fn estate(&self) -> Usage {
        let mut sum = self.total;
        for field in 0..Usage::FIELDS {
            sum.0[field] += self.owed.0[field] + self.overdue.0[field];
        }
        sum
    }

    /// Takes a new reading and returns what is new about it.
    pub(crate) fn settle(&mut self, total: Usage, reaped: [u64; 4]) -> Usage {
        let mut amount = Usage::default();
        for field in 0..Usage::FIELDS {
            let growth = total.0[field].saturating_sub(self.total.0[field]);
            let from_children = match (reaped.get(field), self.reaped.get(field)) {
                (Some(now), Some(before)) => now.saturating_sub(*before),
                _ => growth,
            };
            let overdue = self.overdue.0[field].min(from_children);
            let owed = self.owed.0[field].min(from_children - overdue);
            amount.0[field] = growth.saturating_sub(overdue + owed);
            self.overdue.0[field] = self.owed.0[field] - owed;
            self.owed.0[field] = 0;
        }
        self.total = total;
        self.reaped = reaped;
        amount
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(ticks: u64) -> Usage {
        let mut usage = Usage::default();
        usage.0[Usage::USER] = ticks;
        usage
    }

    fn settle(account: &mut Account, own: u64, children: u64) -> u64 {
        account.settle(user(own + children), [children, 0, 0, 0]).0[Usage::USER]
    }

    #[test]
    fn a_child_that_was_seen_is_not_counted_again_when_it_is_waited_for() {
        let mut parent = Account::default();
        settle(&mut parent, 10, 0);
        parent.lose_child(&user(50));
        // The child used 7 more before it ended.
        assert_eq!(settle(&mut parent, 12, 57), 2 + 7);
    }

    #[test]
    fn a_child_that_was_never_seen_counts_in_full() {
        let mut parent = Account::default();
        settle(&mut parent, 10, 0);
        assert_eq!(settle(&mut parent, 10, 30), 30);
    }

    #[test]
    fn a_child_that_ended_while_the_tree_was_read_is_still_counted_once() {
        let mut parent = Account::default();
        settle(&mut parent, 10, 0);
        parent.lose_child(&user(50));
        assert_eq!(settle(&mut parent, 11, 0), 1);
        assert_eq!(settle(&mut parent, 11, 52), 2);
        assert_eq!(settle(&mut parent, 11, 60), 8);
    }

    #[test]
    fn a_child_that_nobody_waits_for_takes_nothing_from_later_ones() {
        let mut parent = Account::default();
        settle(&mut parent, 10, 0);
        parent.lose_child(&user(50));
        settle(&mut parent, 10, 0);
        settle(&mut parent, 10, 0);
        assert_eq!(settle(&mut parent, 10, 40), 40);
    }

    #[test]
    fn a_grandchild_is_owed_by_the_grandparent_when_its_parent_is_gone() {
        let mut grandparent = Account::default();
        let mut parent = Account::default();
        settle(&mut grandparent, 0, 0);
        settle(&mut parent, 5, 0);
        parent.lose_child(&user(50));
        grandparent.lose_child(&parent.estate());
        assert_eq!(settle(&mut grandparent, 0, 5 + 50 + 3), 3);
    }
}
