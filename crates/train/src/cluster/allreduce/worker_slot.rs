//! A worker of a group as the trainer sees it.

use std::time::Instant;

use crate::cluster::protocol::{Activity, JoinRequest};
use crate::cluster::snapshot::Assembler;

/// A worker's place. Its process may change, its number does not.
pub(super) struct WorkerSlot {
    /// Set while it asks to take part in the next group.
    pub(super) request: Option<JoinRequest>,
    /// Its snapshot that is on its way.
    pub(super) arriving: Assembler,
    /// When it last said something, or was started.
    pub(super) heard: Instant,
    pub(super) activity: Activity,
    /// Whether its silence was told.
    pub(super) is_silent: bool,
}

impl WorkerSlot {
    pub(super) fn new(arriving: Assembler, now: Instant) -> Self {
        Self {
            request: None,
            arriving,
            heard: now,
            activity: Activity::Joining,
            is_silent: false,
        }
    }

    /// A process of this number was started.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        self.part();
        self.hears(now);
        self.activity = Activity::Joining;
    }

    /// It said something.
    pub(super) fn hears(&mut self, now: Instant) {
        self.heard = now;
        self.is_silent = false;
    }

    /// What it asked for and what it had begun to show went with its connection.
    pub(super) fn part(&mut self) {
        self.request = None;
        self.arriving.clear();
    }
}
