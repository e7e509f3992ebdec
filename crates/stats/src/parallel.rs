//! Data parallelism inside a pure call.

use paceline_numeric::Threads;

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
    Threads::available().map(chunks, |chunk| work(range(chunk)))
}
