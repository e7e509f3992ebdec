//! A sum around the ring, message by message: reduce-scatter, then all-gather. The
//! sockets' ring sends pieces as they arrive, which is tested where it is; here it
//! matters who has completed a sum when somebody is lost in the middle of it.

use std::ops::Range;

/// One member's part in a sum.
pub(super) struct Ring {
    rank: usize,
    size: usize,
    values: Vec<f32>,
    sent: usize,
    received: usize,
}

/// What a member does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It sends [`Ring::sent`], by this number.
    Send(usize),
    /// It awaits what has this number.
    Receive(usize),
    Done,
}

impl Ring {
    pub(super) fn new(rank: usize, size: usize, values: Vec<f32>) -> Self {
        Self {
            rank,
            size,
            values,
            sent: 0,
            received: 0,
        }
    }

    /// What to do next; a sending counts as done.
    pub(super) fn turn(&mut self) -> Turn {
        let steps = 2 * (self.size - 1);
        if self.sent < steps && self.sent <= self.received {
            self.sent += 1;
            return Turn::Send(self.sent - 1);
        }
        match self.received < steps {
            true => Turn::Receive(self.received),
            false => Turn::Done,
        }
    }

    /// What the last [`Turn::Send`] sends.
    pub(super) fn sent(&self) -> &[f32] {
        &self.values[self.chunk(self.sent - 1)]
    }

    /// Takes what was awaited; false if it does not fit.
    pub(super) fn received(&mut self, values: &[f32]) -> bool {
        let chunk = self.chunk(self.received + 1);
        if values.len() != chunk.len() {
            return false;
        }
        let is_added = self.received < self.size - 1;
        for (own, other) in self.values[chunk].iter_mut().zip(values) {
            *own = if is_added { *own + other } else { *other };
        }
        self.received += 1;
        true
    }

    pub(super) fn into_values(self) -> Vec<f32> {
        self.values
    }

    /// The numbers that are sent in a step.
    fn chunk(&self, step: usize) -> Range<usize> {
        let index = (self.rank + 2 * self.size - step) % self.size;
        let length = self.values.len();
        length * index / self.size..length * (index + 1) / self.size
    }
}
