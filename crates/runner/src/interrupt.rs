//! The user's wish to stop.

use paceline_engine::Job;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// Signals that mean "stop, and close the record".
const SIGHUP: i32 = 1;
pub(crate) const SIGINT: i32 = 2;
pub(crate) const SIGQUIT: i32 = 3;
pub(crate) const SIGTERM: i32 = 15;

/// Passes signals on to whatever runs, and remembers that the user wants to
/// stop. The first signal goes to the commands as it is, so that they can close
/// their files; from the second on they are ended at once, and so are those that
/// ignore a SIGTERM or SIGHUP for too long.
#[derive(Default)]
pub struct Interrupt {
    stops: AtomicU32,
    /// Whether a signal came that nobody repeats: SIGTERM or SIGHUP.
    last: AtomicBool,
    jobs: Mutex<Vec<Weak<dyn Job>>>,
}

impl Interrupt {
    /// Nobody wants to stop yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Takes a signal that Paceline has received.
    pub fn deliver(&self, signal: i32) {
        let is_stop = matches!(signal, SIGHUP | SIGINT | SIGQUIT | SIGTERM);
        let before = match is_stop {
            true => self.stops.fetch_add(1, Ordering::SeqCst),
            false => 0,
        };
        if matches!(signal, SIGHUP | SIGTERM) {
            self.last.store(true, Ordering::SeqCst);
        }
        let jobs = self.jobs.lock();
        for job in jobs.iter().filter_map(Weak::upgrade) {
            if before > 0 {
                job.kill()
            } else {
                job.signal(signal)
            }
        }
    }

    /// Whether the user wants to stop.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.stops.load(Ordering::SeqCst) > 0
    }

    /// Whether the commands must end even if they ignore the signal: it was one
    /// that is not sent twice.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.last.load(Ordering::SeqCst)
    }

    /// From now on `job` gets the signals, as long as it is there.
    pub(crate) fn watch(&self, job: &Arc<dyn Job>) {
        let mut jobs = self.jobs.lock();
        jobs.retain(|job| job.strong_count() > 0);
        jobs.push(Arc::downgrade(job));
    }
}
