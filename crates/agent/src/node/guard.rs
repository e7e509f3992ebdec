//! Whether whoever started the agent is still there.

use rustix::process::Pid;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Watches the agent's parent and, if it is attached, its stdin.
pub(super) struct Guard {
    parent: Option<Pid>,
    stdin_ended: Arc<AtomicBool>,
}

impl Guard {
    pub(super) fn begin(is_attached: bool) -> io::Result<Self> {
        let guard = Self {
            parent: rustix::process::getppid(),
            stdin_ended: Arc::default(),
        };
        if is_attached {
            let ended = Arc::clone(&guard.stdin_ended);
            std::thread::Builder::new()
                .name("stdin".to_owned())
                .stack_size(128 * 1024)
                .spawn(move || {
                    let mut ignored = [0; 64];
                    // Whatever comes means nothing; an error is an end as well.
                    while matches!(io::stdin().read(&mut ignored), Ok(1..)) {}
                    ended.store(true, Ordering::Release);
                })?;
        }
        Ok(guard)
    }

    /// Whether the agent is on its own. That alone is no reason to end as long as
    /// the controller is heard.
    pub(super) fn is_orphaned(&self) -> bool {
        self.stdin_ended.load(Ordering::Acquire) || rustix::process::getppid() != self.parent
    }
}
