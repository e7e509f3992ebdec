//! The independent parts of one call, shared among threads.

use parking_lot::Mutex;
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

    /// As many as this process may use processors, or one if that is unknown.
    pub fn available() -> Self {
        Self(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
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
    ///
    /// # Panics
    ///
    /// If a part does, with its panic.
    pub fn map<T: Send>(self, parts: usize, part: impl Fn(usize) -> T + Sync) -> Vec<T> {
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

    /// Gives each item to `task`, once. Items that borrow different parts of one
    /// buffer let threads fill it together.
    ///
    /// # Panics
    ///
    /// If a task does, with its panic.
    pub fn for_each<T: Send>(self, items: Vec<T>, task: impl Fn(T) + Sync) {
        let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|i| Mutex::new(Some(i))).collect();
        self.map(items.len(), |index| {
            // Each index is handed out once, so nobody waits and nothing is gone.
            let item = items[index].lock().take();
            task(item.expect("an item is taken once"));
        });
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
        assert!(Threads::available().count() >= 1);
    }

    #[test]
    fn every_item_is_given_out_once() {
        for threads in [1, 3] {
            let mut numbers = [0; 40];
            let items = numbers.chunks_mut(7).zip(1..).collect();
            Threads::new(threads).for_each(items, |(chunk, number)| {
                for cell in chunk {
                    *cell += number;
                }
            });
            let wanted: Vec<i32> = (0..40).map(|i| i / 7 + 1).collect();
            assert_eq!(numbers.as_slice(), wanted);
        }
    }

    #[test]
    #[should_panic(expected = "part 5")]
    fn the_panic_of_a_part_reaches_the_caller() {
        Threads::new(3).map(9, |i| assert_ne!(i, 5, "part 5"));
    }
}
