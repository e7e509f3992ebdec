//! How long what workers sent was in a server's queue, and how long it waited for
//! others.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cluster::protocol::Grant;

/// When what was taken.
#[derive(Debug, Default)]
pub(super) struct ServerQueue {
    /// Since when the server has been at work on what had arrived.
    woken: Option<Instant>,
    /// When it took what it is at work on.
    took: Option<Instant>,
    /// By worker: when it took the last that came from it, and how long that had
    /// been in the queue at least.
    last: BTreeMap<u32, (Instant, Duration)>,
}

impl ServerQueue {
    /// Something has arrived.
    pub(super) fn woken(&mut self, now: Instant) {
        self.woken = Some(now);
    }

    /// A whole message was taken.
    pub(super) fn took(&mut self, now: Instant) {
        self.took = Some(now);
    }

    /// It was one that a worker awaits an answer to.
    pub(super) fn asked(&mut self, worker: u32) {
        if let (Some(took), Some(woken)) = (self.took, self.woken) {
            let queued = took.saturating_duration_since(woken);
            self.last.insert(worker, (took, queued));
        }
    }

    /// A grant to `worker`, with its times: it waited from when its own message was
    /// taken until that was which let it go on; all else is the server's.
    pub(super) fn timed(&self, worker: u32, grant: Grant, now: Instant) -> Grant {
        let (Some((taken, queued)), Some(took)) = (self.last.get(&worker), self.took) else {
            return grant;
        };
        Grant {
            waited: took.saturating_duration_since(*taken),
            queued: *queued + now.saturating_duration_since(took),
            ..grant
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;

    #[test]
    fn the_first_waits_for_the_last_and_both_for_the_server() {
        let start = now();
        let at = |ms| start + Duration::from_millis(ms);
        let grant = Grant {
            clock: 1,
            version: 1,
            waited_for: None,
            is_late: false,
            waited: Duration::ZERO,
            queued: Duration::ZERO,
        };
        let mut queue = ServerQueue::default();
        queue.woken(at(10));
        queue.took(at(12));
        queue.asked(0);
        // A heartbeat of the same worker.
        queue.took(at(30));
        queue.woken(at(50));
        queue.took(at(51));
        queue.asked(1);
        let times = |worker, now| {
            let timed = queue.timed(worker, grant, at(now));
            (timed.waited.as_millis(), timed.queued.as_millis())
        };
        // Applied in five milliseconds, and then sent to one after the other.
        assert_eq!(times(0, 56), (39, 2 + 5));
        assert_eq!(times(1, 57), (0, 1 + 6));
        assert_eq!(times(7, 57), (0, 0));
    }
}
