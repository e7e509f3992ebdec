//! Which algorithm is cheaper from which length on, by measurement.

use std::time::Duration;

use super::{Algorithm, Group, ReduceError};
use crate::deadline::now;

/// The lengths that are tried, shortest first. Beyond the last the ring, which
/// sends the fewest bytes, is certain to win unless it has lost there.
const LENGTHS: [usize; 5] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18];
/// The least of this many attempts counts: noise only ever adds.
const ATTEMPTS: usize = 5;
/// No longer length is tried after one that took all members this long on
/// average: the network is slow, and its bandwidth decides.
const SLOW: Duration = Duration::from_millis(20);

impl Group {
    /// Measures both algorithms and sets the better for each length. All
    /// members decide by the same numbers, the sums of everybody's times, and
    /// therefore alike.
    ///
    /// # Errors
    ///
    /// See [`ReduceError`].
    pub fn measure(&mut self) -> Result<(), ReduceError> {
        if self.size() == 1 {
            return Ok(());
        }
        let mut values = vec![0.0f32; LENGTHS[LENGTHS.len() - 1]];
        let mut measured = Vec::new();
        for length in LENGTHS {
            let values = &mut values[..length];
            let mut seconds = [f32::INFINITY; 2];
            for _ in 0..ATTEMPTS {
                for (algorithm, least) in [Algorithm::Doubling, Algorithm::Ring]
                    .into_iter()
                    .zip(&mut seconds)
                {
                    self.meet()?;
                    let begun = now();
                    self.reduce_by(algorithm, values)?;
                    *least = least.min((now() - begun).as_secs_f32());
                }
            }
            self.reduce_by(Algorithm::Doubling, &mut seconds)?;
            measured.push((length, seconds));
            let average = seconds[0].min(seconds[1]) / self.size() as f32;
            if average > SLOW.as_secs_f32() {
                break;
            }
        }
        self.algorithm = decide(&measured);
        Ok(())
    }
}

/// The shortest length from which on the ring never lost.
fn decide(measured: &[(usize, [f32; 2])]) -> Algorithm {
    let mut ring_from = usize::MAX;
    for &(length, [doubling, ring]) in measured.iter().rev() {
        if ring > doubling {
            break;
        }
        ring_from = length;
    }
    match ring_from {
        // It lost at the longest length tried, by an overhead that a longer
        // one outweighs.
        usize::MAX => Algorithm::RingFrom(measured.last().map_or(0, |(length, _)| 2 * length)),
        least => Algorithm::RingFrom(least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_is_used_from_where_it_never_lost() {
        let check = |times: &[[f32; 2]], expected| {
            let measured: Vec<_> = LENGTHS.into_iter().zip(times.iter().copied()).collect();
            assert_eq!(decide(&measured), Algorithm::RingFrom(expected));
        };
        check(&[[1.0, 2.0], [2.0, 3.0], [4.0, 4.0]], 1 << 14);
        check(&[[3.0, 2.0], [2.0, 3.0], [4.0, 3.0]], 1 << 14);
        check(&[[3.0, 2.0], [4.0, 3.0]], 1 << 10);
        check(&[[1.0, 2.0]], 1 << 11);
    }
}
