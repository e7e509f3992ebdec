//! All-reduce among the threads of one process, by shared memory.

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use thiserror::Error;

/// Threads of one process that reduce together.
///
/// Every member lays its numbers down, sums its own share of everybody's in
/// the order of the ranks, and takes the shares of the others: all hold the
/// same bits, and every number is written twice and read `size + 1` times,
/// whatever the size.
#[derive(Debug)]
pub struct ThreadGroup {
    rank: usize,
    shared: Arc<Shared>,
}

/// A member of the group has ended or panicked.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a thread of the group has ended")]
pub struct ThreadLost;

#[derive(Debug)]
struct Shared {
    /// What each member lays down. Written by its owner before the first
    /// meeting, read by all until the second.
    laid: Vec<RwLock<Vec<f32>>>,
    /// Each member's share of the sums. Written by its owner between the first
    /// meeting and the second, read by all until the next first.
    sums: Vec<RwLock<Vec<f32>>>,
    barrier: Barrier,
}

impl ThreadGroup {
    /// A group of `size` members, to be handed to as many threads.
    ///
    /// # Panics
    ///
    /// `size` is zero.
    pub fn new(size: usize) -> Vec<Self> {
        assert!(size > 0, "a group has members");
        let empty = || (0..size).map(|_| RwLock::default()).collect();
        let shared = Arc::new(Shared {
            laid: empty(),
            sums: empty(),
            barrier: Barrier::new(size),
        });
        (0..size)
            .map(|rank| Self {
                rank,
                shared: Arc::clone(&shared),
            })
            .collect()
    }

    /// This member's rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many members there are.
    pub fn size(&self) -> usize {
        self.shared.laid.len()
    }

    /// Replaces `values` by their sums over all members, which must all give
    /// the same number of values.
    ///
    /// # Errors
    ///
    /// A member has ended.
    ///
    /// # Panics
    ///
    /// A member gives fewer values than another.
    pub fn all_reduce(&mut self, values: &mut [f32]) -> Result<(), ThreadLost> {
        let size = self.size();
        if size == 1 {
            return Ok(());
        }
        let Shared {
            laid,
            sums,
            barrier,
        } = &*self.shared;
        {
            let mut mine = laid[self.rank].write();
            mine.clear();
            mine.extend_from_slice(values);
        }
        barrier.meet()?;
        let share = share(values.len(), size, self.rank);
        {
            let mut sum = sums[self.rank].write();
            sum.clear();
            sum.extend_from_slice(&laid[0].read()[share.clone()]);
            for other in &laid[1..] {
                for (sum, value) in sum.iter_mut().zip(&other.read()[share.clone()]) {
                    *sum += value;
                }
            }
        }
        barrier.meet()?;
        for (rank, sum) in sums.iter().enumerate() {
            let share = crate::thread_group::share(values.len(), size, rank);
            values[share].copy_from_slice(&sum.read());
        }
        Ok(())
    }

    /// Waits until every member has come this far.
    ///
    /// # Errors
    ///
    /// A member has ended.
    pub fn meet(&mut self) -> Result<(), ThreadLost> {
        self.shared.barrier.meet()
    }
}

impl Drop for ThreadGroup {
    /// Nobody waits for a member that is gone.
    fn drop(&mut self) {
        self.shared.barrier.leave();
    }
}

fn share(length: usize, count: usize, index: usize) -> Range<usize> {
    length * index / count..length * (index + 1) / count
}

/// A barrier that spins before it sleeps: members of a training step arrive
/// within microseconds of each other, or something holds one of them up.
#[derive(Debug)]
struct Barrier {
    size: usize,
    arrived: AtomicUsize,
    /// How many meetings there were.
    meetings: AtomicUsize,
    left: AtomicBool,
    sleepers: Mutex<()>,
    met: Condvar,
}

/// How often a member looks before it sleeps. It yields each time: where
/// threads outnumber cores, the one waited for may need this core.
const LOOKS: usize = 2000;

impl Barrier {
    fn new(size: usize) -> Self {
        Self {
            size,
            arrived: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            left: AtomicBool::new(false),
            sleepers: Mutex::new(()),
            met: Condvar::new(),
        }
    }

    fn meet(&self) -> Result<(), ThreadLost> {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.left.load(Ordering::Acquire) {
            return Err(ThreadLost);
        }
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            // Nobody arrives at the next meeting before this one is over, so
            // the count is nobody else's.
            self.arrived.store(0, Ordering::Relaxed);
            let guard = self.lock();
            self.meetings.fetch_add(1, Ordering::Release);
            drop(guard);
            self.met.notify_all();
            return Ok(());
        }
        for _ in 0..LOOKS {
            if self.meetings.load(Ordering::Acquire) != meeting {
                return Ok(());
            }
            std::thread::yield_now();
        }
        let mut guard = self.lock();
        while self.meetings.load(Ordering::Acquire) == meeting {
            if self.left.load(Ordering::Acquire) {
                return Err(ThreadLost);
            }
            self.met.wait(&mut guard);
        }
        Ok(())
    }

    fn leave(&self) {
        let guard = self.lock();
        self.left.store(true, Ordering::Release);
        drop(guard);
        self.met.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.sleepers.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each member's numbers: distinct, and exact in any order of addition.
    fn numbers(rank: usize, length: usize) -> Vec<f32> {
        (0..length).map(|i| (rank * 1000 + i) as f32).collect()
    }

    #[test]
    fn threads_hold_the_sums_of_all() {
        for size in 1..6 {
            for length in [0, 1, size, 1000] {
                let expected: Vec<f32> = (0..length)
                    .map(|i| (0..size).map(|rank| (rank * 1000 + i) as f32).sum())
                    .collect();
                std::thread::scope(|scope| {
                    for mut member in ThreadGroup::new(size) {
                        let expected = &expected;
                        scope.spawn(move || {
                            for _ in 0..50 {
                                let mut values = numbers(member.rank(), length);
                                member.all_reduce(&mut values).unwrap();
                                assert_eq!(&values, expected);
                            }
                        });
                    }
                });
            }
        }
    }

    #[test]
    fn sums_are_formed_in_the_order_of_the_ranks() {
        // Different orders round differently: 1e8 swallows 1 unless it meets
        // -1e8 first.
        let parts = [1e8, 1.0, -1e8];
        let expected = (parts[0] + parts[1]) + parts[2];
        std::thread::scope(|scope| {
            for (mut member, part) in ThreadGroup::new(3).into_iter().zip(parts) {
                scope.spawn(move || {
                    let mut values = [part; 5];
                    member.all_reduce(&mut values).unwrap();
                    assert_eq!(values, [expected; 5]);
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_a_member_that_is_gone() {
        let mut members = ThreadGroup::new(3);
        let gone = members.pop();
        std::thread::scope(|scope| {
            for mut member in members {
                scope.spawn(move || assert_eq!(member.all_reduce(&mut [0.0; 9]), Err(ThreadLost)));
            }
            drop(gone);
        });
    }
}
