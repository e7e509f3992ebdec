//! What a connection carried, and how long that took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a connection carried since it was opened, frame headers included and
/// the handshake not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames handed to the system (or to the impairment's queue) in full.
    pub frames_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Time within `send`, waiting for room included.
    pub sending: Duration,
    /// Frames received in full.
    pub frames_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Time within `receive`, waiting for the peer included.
    pub receiving: Duration,
}

/// The counters behind [`Traffic`], shared by both halves.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    frames_sent: AtomicU64,
    bytes_sent: AtomicU64,
    sending_ns: AtomicU64,
    frames_received: AtomicU64,
    bytes_received: AtomicU64,
    receiving_ns: AtomicU64,
}

impl Counters {
    pub(crate) fn sent(&self, bytes: u64, took: Duration) {
        self.frames_sent.fetch_add(1, Ordering::Relaxed);
        self.bytes_sent.fetch_add(bytes, Ordering::Relaxed);
        self.sending_ns.fetch_add(nanos(took), Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: u64) {
        self.frames_received.fetch_add(1, Ordering::Relaxed);
        self.bytes_received.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn waited_to_receive(&self, took: Duration) {
        self.receiving_ns.fetch_add(nanos(took), Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Traffic {
        Traffic {
            frames_sent: self.frames_sent.load(Ordering::Relaxed),
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            sending: Duration::from_nanos(self.sending_ns.load(Ordering::Relaxed)),
            frames_received: self.frames_received.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            receiving: Duration::from_nanos(self.receiving_ns.load(Ordering::Relaxed)),
        }
    }
}

/// Saturates after 584 years.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
