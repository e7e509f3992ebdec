//! The ring: each member sends to the next and receives from the one before.

use std::ops::Range;

use super::exchange::{Arrival, Step};
use super::{Group, ReduceError};

impl Group {
    /// Reduce-scatter, then all-gather, both around the ring (Patarasuk and
    /// Yuan, 2009). Each chunk is summed in the order in which it passes the
    /// members, ends at one of them, and is copied from there: all members get
    /// the same bits.
    pub(super) fn reduce_by_ring(&mut self, values: &mut [f32]) -> Result<(), ReduceError> {
        let (rank, size) = (self.rank, self.size());
        let next = (rank + 1) % size;
        let before = (rank + size - 1) % size;
        let length = values.len();
        let chunk = |index: usize| chunk(length, size, index % size);
        for step in 0..size - 1 {
            let (out, into) = disjoint(
                values,
                chunk(rank + size - step),
                chunk(rank + 2 * size - step - 1),
            );
            self.take(Step {
                number: step as u64,
                to: Some((next, out)),
                from: Some((before, Arrival::Add(into))),
            })?;
        }
        for step in 0..size - 1 {
            let (out, into) = disjoint(
                values,
                chunk(rank + size + 1 - step),
                chunk(rank + size - step),
            );
            self.take(Step {
                number: (size + step) as u64,
                to: Some((next, out)),
                from: Some((before, Arrival::Replace(into))),
            })?;
        }
        Ok(())
    }
}

/// The `index`-th of `count` chunks of nearly equal length.
fn chunk(length: usize, count: usize, index: usize) -> Range<usize> {
    let (least, longer) = (length / count, length % count);
    let start = index * least + index.min(longer);
    start..start + least + usize::from(index < longer)
}

/// Two ranges that do not overlap, one to read and one to write.
fn disjoint(values: &mut [f32], read: Range<usize>, write: Range<usize>) -> (&[f32], &mut [f32]) {
    if read.start < write.start {
        let (low, high) = values.split_at_mut(write.start);
        (&low[read], &mut high[..write.len()])
    } else {
        let (low, high) = values.split_at_mut(read.start);
        (&high[..read.len()], &mut low[write])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_everything_once() {
        for length in 0..40 {
            for count in 1..9 {
                let all: Vec<usize> = (0..count).flat_map(|i| chunk(length, count, i)).collect();
                assert_eq!(all, (0..length).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn two_ranges_are_what_they_were() {
        let mut values = [0.0, 1.0, 2.0, 3.0, 4.0];
        let (read, write) = disjoint(&mut values, 0..2, 3..5);
        assert_eq!((read, &*write), (&[0.0, 1.0][..], &[3.0, 4.0][..]));
        let (read, write) = disjoint(&mut values, 4..5, 1..2);
        assert_eq!((read, &*write), (&[4.0][..], &[1.0][..]));
        // With fewer numbers than members, chunks are empty and may begin at
        // one place.
        let (read, write) = disjoint(&mut values, 2..2, 2..2);
        assert_eq!((read.len(), write.len()), (0, 0));
    }
}
