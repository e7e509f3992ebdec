//! Recursive doubling: pairs exchange everything, at distances 1, 2, 4, …

use super::exchange::{Arrival, Step};
use super::{Group, ReduceError, add};

/// Numbers of the steps outside the doubling proper.
const FOLD: u64 = 1000;
const UNFOLD: u64 = 1001;

impl Group {
    /// Recursive doubling (Thakur, Rabenseifner and Gropp, 2005). Where the
    /// size is no power of two, the members beyond it first fold their numbers
    /// into a neighbour's and get the sums from there at the end. Two partners
    /// add the same two sums, and the sum of two numbers does not depend on
    /// their order: all members get the same bits.
    pub(super) fn reduce_by_doubling(&mut self, values: &mut [f32]) -> Result<(), ReduceError> {
        let mut incoming = std::mem::take(&mut self.incoming);
        if incoming.len() < values.len() {
            incoming.resize(values.len(), 0.0);
        }
        let reduced = self.double(values, &mut incoming[..values.len()]);
        self.incoming = incoming;
        reduced
    }

    fn double(&mut self, values: &mut [f32], incoming: &mut [f32]) -> Result<(), ReduceError> {
        let seats = Seats::new(self.size());
        let Some(seat) = seats.seat(self.rank) else {
            let host = self.rank + 1;
            self.take(Step {
                number: FOLD,
                to: Some((host, values)),
                from: None,
            })?;
            return self.take(Step {
                number: UNFOLD,
                to: None,
                from: Some((host, values, Arrival::Replace)),
            });
        };
        let guest = seats.guest(self.rank);
        if let Some(guest) = guest {
            self.take(Step {
                number: FOLD,
                to: None,
                from: Some((guest, values, Arrival::Add)),
            })?;
        }
        for level in 0..seats.levels() {
            let partner = seats.rank(seat ^ (1 << level));
            self.take(Step {
                number: u64::from(level),
                to: Some((partner, values)),
                from: Some((partner, incoming, Arrival::Replace)),
            })?;
            add(values, incoming);
        }
        if let Some(guest) = guest {
            self.take(Step {
                number: UNFOLD,
                to: Some((guest, values)),
                from: None,
            })?;
        }
        Ok(())
    }
}

/// Who takes part in the doubling: a power of two of members. With `extra`
/// members beyond it, the first `2 · extra` ranks form pairs of a guest (even)
/// and its host (odd).
#[derive(Clone, Copy, Debug)]
struct Seats {
    count: usize,
    extra: usize,
}

impl Seats {
    fn new(size: usize) -> Self {
        let count = 1 << size.ilog2();
        Self {
            count,
            extra: size - count,
        }
    }

    fn levels(self) -> u32 {
        self.count.ilog2()
    }

    /// The seat of a rank; guests have none.
    fn seat(self, rank: usize) -> Option<usize> {
        if rank >= 2 * self.extra {
            Some(rank - self.extra)
        } else if rank % 2 == 1 {
            Some(rank / 2)
        } else {
            None
        }
    }

    /// Who sits there.
    fn rank(self, seat: usize) -> usize {
        if seat < self.extra {
            2 * seat + 1
        } else {
            seat + self.extra
        }
    }

    /// Whose numbers this host folds in.
    fn guest(self, rank: usize) -> Option<usize> {
        (rank < 2 * self.extra && rank % 2 == 1).then(|| rank - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_sits_or_is_a_guest() {
        for size in 1..40 {
            let seats = Seats::new(size);
            let mut taken = vec![0; seats.count];
            let mut guests = 0;
            for rank in 0..size {
                match seats.seat(rank) {
                    Some(seat) => {
                        taken[seat] += 1;
                        assert_eq!(seats.rank(seat), rank);
                    }
                    None => {
                        guests += 1;
                        assert_eq!(seats.guest(rank + 1), Some(rank));
                    }
                }
            }
            assert_eq!(taken, vec![1; seats.count]);
            assert_eq!(guests, seats.extra);
        }
    }
}
