//! SharedStatus between a worker and those around it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cluster::protocol::Activity;

/// What others tell a worker, and what it lets them see, while it works.
#[derive(Debug, Default)]
pub(in crate::cluster) struct SharedStatus {
    stops: AtomicBool,
    /// A step and, in the lowest two bits, what is done with it.
    activity: AtomicU64,
}

impl SharedStatus {
    /// Asks all to stop as soon as they can agree to.
    pub(in crate::cluster) fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    pub(in crate::cluster) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    pub(in crate::cluster) fn does(&self, activity: Activity) {
        let [code, step] = activity.numbers();
        self.activity.store(step << 2 | code, Ordering::Relaxed);
    }

    pub(in crate::cluster) fn activity(&self) -> Activity {
        let packed = self.activity.load(Ordering::Relaxed);
        Activity::from_numbers([packed & 3, packed >> 2]).unwrap_or(Activity::Joining)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_does_is_seen_by_others() {
        let status = SharedStatus::default();
        assert_eq!(status.activity(), Activity::Joining);
        for activity in [
            Activity::Computing(7),
            Activity::Summing(1 << 40),
            Activity::Joining,
        ] {
            status.does(activity);
            assert_eq!(status.activity(), activity);
        }
    }
}
