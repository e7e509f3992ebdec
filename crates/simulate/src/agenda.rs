//! What happens next: events in the order of their times, and of their making.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A moment with what happens then.
#[derive(Debug)]
struct Entry<E> {
    at: f64,
    /// Events of one moment happen in the order in which they were entered, so that
    /// a seed means one course of events.
    number: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at
            .total_cmp(&other.at)
            .then(self.number.cmp(&other.number))
    }
}

/// Events to come.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    entries: BinaryHeap<Reverse<Entry<E>>>,
    made: u64,
}

impl<E> Agenda<E> {
    pub(crate) fn new() -> Self {
        Self {
            entries: BinaryHeap::new(),
            made: 0,
        }
    }

    /// Enters an event for the moment `at`, in seconds.
    pub(crate) fn enter(&mut self, at: f64, event: E) {
        self.made += 1;
        self.entries.push(Reverse(Entry {
            at,
            number: self.made,
            event,
        }));
    }

    /// The moment of the next event.
    pub(crate) fn next_at(&self) -> Option<f64> {
        self.entries.peek().map(|Reverse(entry)| entry.at)
    }

    /// The next event.
    pub(crate) fn peek(&self) -> Option<&E> {
        self.entries.peek().map(|Reverse(entry)| &entry.event)
    }

    /// The next event with its moment.
    pub(crate) fn pop(&mut self) -> Option<(f64, E)> {
        self.entries
            .pop()
            .map(|Reverse(entry)| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_by_their_making() {
        let mut agenda = Agenda::new();
        for (at, name) in [(2.0, "c"), (1.0, "a"), (1.0, "b")] {
            agenda.enter(at, name);
        }
        assert_eq!(agenda.next_at(), Some(1.0));
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [(1.0, "a"), (1.0, "b"), (2.0, "c")]);
    }
}
