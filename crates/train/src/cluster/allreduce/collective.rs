//! Who sums together.

use paceline_wire::{Buckets, Group, ReduceError, ThreadGroup, ThreadLost};

use super::sum_buffer::SumBuffer;

/// A worker's place among those that sum together.
pub(super) enum Collective {
    /// Threads that share memory.
    Threads(ThreadGroup),
    /// Processes; numbers leave when the gradient is complete.
    Processes(Box<Group>),
    /// Processes; buckets leave while the gradient is computed.
    Overlapped(Buckets),
}

/// A member of the collective is lost, or the collective was called off.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Thread(#[from] ThreadLost),
    #[error(transparent)]
    Process(#[from] ReduceError),
    #[error("no thread can send buckets: {0}")]
    Alone(#[from] std::io::Error),
}

impl Collective {
    /// The same collective, whose buckets leave `early`, while the gradient is
    /// computed, or late.
    pub(super) fn turned(self, early: bool) -> Result<Self, Broken> {
        Ok(match (self, early) {
            (Self::Processes(group), true) => Self::Overlapped(Buckets::new(*group)?),
            (Self::Overlapped(buckets), false) => {
                let group = buckets.into_group().ok_or(ReduceError::Broken)?;
                Self::Processes(Box::new(group))
            }
            (same, _) => same,
        })
    }

    /// Replaces everybody's values by their sums; those that have left already
    /// are waited for.
    pub(super) fn sum(&mut self, sums: &mut SumBuffer) -> Result<(), Broken> {
        match self {
            Self::Threads(group) => group.all_reduce(sums.values())?,
            Self::Processes(group) if sums.has_buckets() => {
                for bucket in sums.buckets() {
                    group.all_reduce(bucket)?;
                }
            }
            Self::Processes(group) => group.all_reduce(sums.values())?,
            Self::Overlapped(buckets) => sums.finish(buckets)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use paceline_nets::{Layout, Tally};
    use paceline_wire::{Algorithm, Connection, Member, Role, Settings};

    use super::super::sum_buffer::Contribution;
    use crate::cluster::update::Update;

    const LAYERS: [usize; 3] = [400_000, 300_016, 48];

    fn layout() -> Layout {
        let mut builder = Layout::builder();
        for (number, len) in LAYERS.into_iter().enumerate() {
            builder.vector(&format!("layer{number}"), len, len);
        }
        builder.build()
    }

    /// Connected members, by rank.
    fn mesh(size: usize) -> Vec<Group> {
        let member = |rank: usize| Member {
            role: Role::Worker,
            rank: u32::try_from(rank).unwrap(),
            incarnation: 0,
        };
        let mut links: Vec<Vec<Option<Connection>>> = (0..size)
            .map(|_| (0..size).map(|_| None).collect())
            .collect();
        let pairs = (0..size).flat_map(|low| (low + 1..size).map(move |high| (low, high)));
        for (low, high) in pairs {
            let settings = Settings::default();
            let (a, b) = Connection::pair(member(low), member(high), &settings).unwrap();
            (links[low][high], links[high][low]) = (Some(a), Some(b));
        }
        let patience = Duration::from_secs(60);
        (0..)
            .zip(links)
            .map(|(rank, links)| Group::new(rank, links, patience).unwrap())
            .collect()
    }

    /// Numbers that round when they are added.
    fn gradient(rank: usize, len: usize) -> Vec<f32> {
        (0..len)
            .map(|i| ((rank * 7919 + i * 104_729) % 10_007) as f32 / 977.0 - 5.0)
            .collect()
    }

    fn summed(group: Group, overlapped: bool) -> Vec<u32> {
        let layout = layout();
        let (rank, size) = (group.rank(), group.size());
        let mut sums = SumBuffer::new(&layout, size);
        let mut update = Update::none(&layout);
        let len = update.dense.len();
        update.dense.copy_from_slice(&gradient(rank, len));
        let mut collective = Collective::Processes(Box::new(group));
        let mut bits = Vec::new();
        // Again: what one step leaves behind must not show in the next.
        for step in 0..3 {
            collective = collective.turned(overlapped && step != 1).unwrap();
            if let Collective::Overlapped(buckets) = &mut collective {
                let mut end = len;
                for layer in LAYERS.into_iter().rev() {
                    let start = end.saturating_sub(layer);
                    sums.put_part(start, &update.dense[start..end], buckets);
                    end = start;
                }
            } else {
                sums.put_dense(&update.dense);
            }
            let words = Contribution {
                worker: rank,
                tally: Tally {
                    loss: 0.5,
                    hits: 1,
                    rows: 2,
                },
                stops: rank == 1,
                vote: 0.25,
                busy: Duration::from_millis(rank as u64),
            };
            sums.put_rest(&update, words);
            collective.sum(&mut sums).unwrap();
            let found = sums.found();
            assert_eq!((found.tally.hits, found.tally.rows), (3, 6));
            assert!(found.stops && found.last == 2);
            assert_eq!(found.votes.to_bits(), 0.75_f32.to_bits());
            bits = sums.gradient().dense.iter().map(|x| x.to_bits()).collect();
        }
        bits
    }

    fn all_summed(algorithm: Algorithm, overlapped: bool) -> Vec<Vec<u32>> {
        std::thread::scope(|scope| {
            let members: Vec<_> = mesh(3)
                .into_iter()
                .map(|mut group| {
                    group.set_algorithm(algorithm);
                    scope.spawn(move || summed(group, overlapped))
                })
                .collect();
            members.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    #[test]
    fn sums_that_leave_early_have_the_bits_of_those_that_do_not() {
        for algorithm in [Algorithm::Ring, Algorithm::Doubling, Algorithm::UNMEASURED] {
            let late = all_summed(algorithm, false);
            let early = all_summed(algorithm, true);
            assert!(late.iter().all(|bits| *bits == late[0]));
            assert!(early.iter().all(|bits| *bits == late[0]), "{algorithm:?}");
        }
    }
}
