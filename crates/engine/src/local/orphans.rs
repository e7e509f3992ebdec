//! Reaping processes that a run has left to us.
//!
//! Paceline adopts the orphans of its runs, so it must also wait for them, or
//! they stay as zombies. It must not take the exit status of a command away
//! from the thread that waits for that command, so commands are registered.

use super::kernel;
use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::collections::BTreeSet;

static COMMANDS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// The registry, held while a command is started: between its start and its
/// registration nobody may take it for an orphan.
pub(super) struct Registry(MutexGuard<'static, BTreeSet<i32>>);

impl Registry {
    pub(super) fn lock() -> Self {
        // The set is valid after every operation, so a panic elsewhere does no harm.
        Self(COMMANDS.lock())
    }

    pub(super) fn add(&mut self, command: Pid) {
        self.0.insert(command.as_raw_nonzero().get());
    }

    fn holds(&self, pid: Pid) -> bool {
        self.0.contains(&pid.as_raw_nonzero().get())
    }

    pub(super) fn remove(&mut self, command: Pid) {
        self.0.remove(&command.as_raw_nonzero().get());
    }
}

/// Waits for the orphans that have exited.
pub(super) fn reap() {
    let registry = Registry::lock();
    // The kernel shows the same exited child until somebody waits for it, so
    // behind a command nothing can be seen until its own thread has done so.
    while let Some(pid) = kernel::peek_exited().filter(|pid| !registry.holds(*pid)) {
        if waitpid(Some(pid), WaitOptions::NOHANG).is_err() {
            return;
        }
    }
}
