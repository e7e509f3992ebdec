//! Which rows a worker holds, and in which order an epoch visits them.

use std::ops::Range;

use crate::chance::Purpose;

/// The contiguous part of `rows` rows that belongs to one of `workers`. The
/// parts cover all rows once and differ by at most one row in size; the first
/// ones are the larger.
///
/// # Panics
///
/// If `worker` is not below `workers`.
///
/// ```
/// use paceline_data::shard;
///
/// assert_eq!(shard(10, 3, 0), 0..4);
/// assert_eq!(shard(10, 3, 1), 4..7);
/// assert_eq!(shard(10, 3, 2), 7..10);
/// ```
pub fn shard(rows: usize, workers: usize, worker: usize) -> Range<usize> {
    assert!(worker < workers, "worker {worker} of {workers}");
    let (even, larger) = (rows / workers, rows % workers);
    let start = worker * even + worker.min(larger);
    start..start + even + usize::from(worker < larger)
}

/// Writes the order in which an epoch visits `rows` rows, into memory that is
/// used again in every epoch: a permutation that seed and epoch determine for
/// ever, on every machine.
///
/// The algorithm is Fisher and Yates's shuffle from the last place down, with
/// draws by Lemire's method from ChaCha8 under the key "seed (little-endian),
/// then zeros", stream number `epoch`.
///
/// # Panics
///
/// If there are more rows than 32 bits can number, which no [`DataSet`] has.
///
/// [`DataSet`]: crate::DataSet
pub fn epoch_order_into(seed: u64, epoch: u64, rows: usize, order: &mut Vec<u32>) {
    let rows = u32::try_from(rows).expect("a data set numbers its rows with 32 bits");
    order.clear();
    order.extend(0..rows);
    Purpose::EpochOrder(epoch).chance(seed).shuffle(order);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn epoch_order(seed: u64, epoch: u64, rows: usize) -> Vec<u32> {
        let mut order = vec![u32::MAX; 3];
        epoch_order_into(seed, epoch, rows, &mut order);
        order
    }

    proptest! {
        #[test]
        fn shards_cover_all_rows_once_and_evenly(rows in 0_usize..1000, workers in 1_usize..20) {
            let mut next = 0;
            for worker in 0..workers {
                let part = shard(rows, workers, worker);
                prop_assert_eq!(part.start, next);
                prop_assert!(part.len() == rows / workers || part.len() == rows.div_ceil(workers));
                next = part.end;
            }
            prop_assert_eq!(next, rows);
        }

        #[test]
        fn an_order_visits_every_row_once(seed: u64, epoch in 0_u64..1 << 40, rows in 0_usize..500) {
            let mut order = epoch_order(seed, epoch, rows);
            order.sort_unstable();
            prop_assert!(order.into_iter().eq(0..rows as u32));
        }
    }

    #[test]
    fn an_order_is_the_same_for_ever() {
        // A change of this order changes every recorded training. The values
        // are those of `oracle/epoch_order.py`, an independent rewriting.
        assert_eq!(epoch_order(1, 0, 10), [0, 1, 5, 4, 8, 9, 2, 7, 3, 6]);
        let longer = epoch_order(7, 3, 50);
        assert_eq!(longer[..10], [47, 2, 21, 12, 38, 10, 19, 34, 37, 43]);
        assert_ne!(epoch_order(1, 0, 10), epoch_order(1, 1, 10));
        assert_ne!(epoch_order(1, 0, 10), epoch_order(2, 0, 10));
    }
}
