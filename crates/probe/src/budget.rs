//! Readings that may be expensive, taken no more often than they are worth.

use paceline_model::Micros;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A thousandth of a core: the probe's own limit is five times that.
const SHARE: u32 = 1000;

/// Spends CPU time on something whose price is known only afterwards: after it
/// has taken `t`, it is left alone until `SHARE` times `t` have passed.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    wait: Micros,
}

impl Budget {
    /// Runs `task` if enough time has passed; `interval` is the time since the
    /// last call.
    pub(crate) fn spend<T>(&mut self, interval: Micros, task: impl FnOnce() -> T) -> Option<T> {
        self.wait = self.wait.since(interval);
        if self.wait > Micros::ZERO {
            return None;
        }
        let begin = thread_cpu_time();
        let result = task();
        let spent = thread_cpu_time().saturating_sub(begin);
        self.wait = Micros::from(spent.saturating_mul(SHARE));
        Some(result)
    }
}

/// The CPU time of the calling thread.
pub(crate) fn thread_cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    // Both parts are never negative for this clock.
    Duration::new(
        now.tv_sec.try_into().unwrap_or(0),
        now.tv_nsec.try_into().unwrap_or(0),
    )
}
