//! The ring: each member sends to the next and receives from the one before.

use std::ops::Range;

use super::exchange::{Arrival, Flow};
use super::{Group, ReduceError};

/// Long vectors go around the ring in blocks of this many numbers for each
/// member: what a member adds and passes on is still in its core's cache.
const BLOCK: usize = 128 * 1024;

impl Group {
    pub(super) fn reduce_by_ring(&mut self, values: &mut [f32]) -> Result<(), ReduceError> {
        let size = self.size();
        for (index, block) in values.chunks_mut(BLOCK * size).enumerate() {
            self.reduce_block(block, (2 * size * index) as u64)?;
        }
        Ok(())
    }

    /// Reduce-scatter, then all-gather, both around the ring (Patarasuk and
    /// Yuan, 2009). In step s a member sends chunk rank − s and receives chunk
    /// rank − s − 1, which it sends in the next step: piece by piece, as they
    /// arrive. A chunk is summed in the order in which it passes the members,
    /// ends at one of them, and is copied from there: all get the same bits.
    ///
    /// A piece that replaces another has passed every member, this one
    /// included: what it replaces has been sent.
    fn reduce_block(&mut self, values: &mut [f32], first: u64) -> Result<(), ReduceError> {
        let (rank, size) = (self.rank, self.size());
        let next = (rank + 1) % size;
        let before = (rank + size - 1) % size;
        let steps = 2 * (size - 1);
        let length = values.len();
        let chunk = |step: usize| chunk(length, size, (rank + 2 * size - step) % size);

        let mut sent = 0;
        let mut sending = self.begin_sending(next, first, chunk(0).len())?;
        let mut received = 0;
        let mut receiving = self.begin_receiving(before, first, chunk(1).len());
        let mut waiting = None;
        loop {
            let out_chunk = &values[chunk(sent)];
            let available = match (sent, received) {
                (0, _) => out_chunk.len(),
                (sent, received) if sent <= received => out_chunk.len(),
                (sent, received) if sent == received + 1 => receiving.done(),
                _ => 0,
            };
            let mut out = sending.advance(self.writer(next), out_chunk, available)?;
            if out == Flow::Done && sent + 1 < steps {
                sent += 1;
                sending = self.begin_sending(next, first + sent as u64, chunk(sent).len())?;
                out = Flow::Moved;
            }
            let arrival = if received < size - 1 {
                Arrival::Add
            } else {
                Arrival::Replace
            };
            let in_chunk = &mut values[chunk(received + 1)];
            let mut into = self.advance_receiving(&mut receiving, in_chunk, arrival)?;
            if into == Flow::Done && received + 1 < steps {
                received += 1;
                receiving = self.begin_receiving(
                    before,
                    first + received as u64,
                    chunk(received + 1).len(),
                );
                into = Flow::Moved;
            }
            if (out, into) == (Flow::Done, Flow::Done) {
                return Ok(());
            }
            self.pause(&mut waiting, (Some(next), out), (Some(before), into))?;
        }
    }
}

/// The `index`-th of `count` chunks of nearly equal length.
fn chunk(length: usize, count: usize, index: usize) -> Range<usize> {
    let (least, longer) = (length / count, length % count);
    let start = index * least + index.min(longer);
    start..start + least + usize::from(index < longer)
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
}
