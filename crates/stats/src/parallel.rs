//! Data parallelism inside a pure call.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows handed to one worker at a time. Fixed, so that the order of additions,
/// and with it every bit of the result, does not depend on the number of cores.
const CHUNK: usize = 32_768;

/// Applies `work` to consecutive ranges of at most [`CHUNK`] rows, on as many
/// threads as there are cores, and returns the results in order.
pub(crate) fn in_chunks<T: Send>(
    rows: usize,
    work: impl Fn(std::ops::Range<usize>) -> T + Sync,
) -> Vec<T> {
    let chunks = rows.div_ceil(CHUNK).max(1);
    let range = |chunk: usize| chunk * CHUNK..((chunk + 1) * CHUNK).min(rows);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if chunks == 1 || threads == 1 {
        return (0..chunks).map(|chunk| work(range(chunk))).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = (0..chunks).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(chunks) {
            scope.spawn(|| {
                loop {
                    let chunk = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = results.get(chunk) else {
                        break;
                    };
                    let result = work(range(chunk));
                    *slot.lock().expect("a worker holds the lock only to store") = Some(result);
                }
            });
        }
    });
    results
        .into_iter()
        .map(|slot| {
            slot.into_inner()
                .expect("a worker holds the lock only to store")
                .expect("every chunk was taken by a worker")
        })
        .collect()
}
