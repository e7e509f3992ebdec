//! Sharing the independent parts of one call among threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads a call may use. The result never depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(NonZeroUsize);

impl Threads {
    /// The calling thread alone.
    pub const ONE: Self = Self(NonZeroUsize::MIN);

    /// At most this many threads, the calling one included; zero counts as one.
    pub fn new(count: usize) -> Self {
        Self(NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN))
    }

    /// How many threads there are.
    pub fn count(self) -> usize {
        self.0.get()
    }

    /// Computes `part(0), part(1), …, part(parts - 1)` and returns the values in
    /// that order.
    ///
    /// A counter hands out the parts one by one, so that long parts do not leave
    /// a thread idle; each thread keeps what it computed with its index.
    pub(crate) fn map<T: Send>(self, parts: usize, part: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let helpers = self.count().min(parts).saturating_sub(1);
        if helpers == 0 {
            return (0..parts).map(part).collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= parts {
                    return done;
                }
                done.push((index, part(index)));
            }
        };
        let mut done = std::thread::scope(|scope| {
            let others: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                match other.join() {
                    Ok(part) => done.extend(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done
        });
        done.sort_unstable_by_key(|&(index, _)| index);
        done.into_iter().map(|(_, value)| value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_in_order_for_any_number_of_threads() {
        for threads in [0, 1, 2, 7, 100] {
            let squares = Threads::new(threads).map(50, |i| i * i);
            assert_eq!(squares, (0..50).map(|i| i * i).collect::<Vec<_>>());
        }
        assert!(Threads::new(4).map(0, |i| i).is_empty());
    }
}
