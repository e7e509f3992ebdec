//! Who sums together.

use paceline_wire::{Buckets, Group, ReduceError, ThreadGroup, ThreadLost};

use super::sums::Sums;

/// A worker's place among those that sum together.
pub(super) enum Circle {
    /// Threads that share memory.
    Threads(ThreadGroup),
    /// Processes; numbers leave when the gradient is complete.
    Processes(Box<Group>),
    /// Processes; buckets leave while the gradient is computed.
    Overlapped(Buckets),
}

/// A member of the circle is lost, or the circle was called off.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Thread(#[from] ThreadLost),
    #[error(transparent)]
    Process(#[from] ReduceError),
}

impl Circle {
    /// A circle of processes. Where the gradient has `parts`, its buckets
    /// leave early.
    pub(super) fn of_processes(group: Group, sums: &Sums, parts: bool) -> std::io::Result<Self> {
        if parts && sums.has_buckets() && group.size() > 1 {
            return Ok(Self::Overlapped(Buckets::new(group)?));
        }
        Ok(Self::Processes(Box::new(group)))
    }

    /// Replaces everybody's values by their sums; those that have left already
    /// are waited for.
    pub(super) fn sum(&mut self, sums: &mut Sums) -> Result<(), Broken> {
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
