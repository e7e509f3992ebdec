//! One agent per node and key.
//!
//! A controller that was killed and started again begins where the first one
//! stopped. The first one's agents end by themselves, but not at once; a new agent
//! on the node ends its predecessor before it does anything, so that nothing runs
//! twice.

use super::AgentError;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The right to be the agent of this key, until it is dropped.
pub(super) struct SessionLock {
    path: PathBuf,
    _file: File,
}

/// How long a predecessor may take after it was asked to end, and after it was
/// killed. An agent gives its commands three seconds.
const PATIENCE: [(Signal, Duration); 2] = [
    (Signal::TERM, Duration::from_secs(8)),
    (Signal::KILL, Duration::from_secs(4)),
];
const PAUSE: Duration = Duration::from_millis(50);

impl SessionLock {
    pub(super) fn take(path: &Path) -> Result<Self, AgentError> {
        let failed = |source| AgentError::Scratch {
            path: path.to_owned(),
            source,
        };
        let mut file = loop {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(failed)?;
            if !Self::try_lock(&file) {
                Self::end_holder(&mut file, path)?;
            }
            // The holder before may have removed the file: the lock of a file that
            // has no name keeps nobody out.
            let own = file.metadata().map_err(failed)?.ino();
            if std::fs::metadata(path).is_ok_and(|there| there.ino() == own) {
                break file;
            }
        };
        file.rewind().map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        write!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            _file: file,
        })
    }

    fn try_lock(file: &File) -> bool {
        flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    fn end_holder(file: &mut File, path: &Path) -> Result<(), AgentError> {
        for (signal, patience) in PATIENCE {
            // The holder may have changed, or not have written its number yet.
            if let Some(holder) = holder(file) {
                let _ = kill_process(holder, signal);
            }
            let mut waited = Duration::ZERO;
            while waited < patience {
                if Self::try_lock(file) {
                    return Ok(());
                }
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
        }
        Err(AgentError::Held(path.to_owned()))
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Whoever waits for it sees that it has no name any more.
        let _ = paceline_files::remove_file(&self.path);
    }
}

/// The agent that holds the lock: a process whose number is in the file and that
/// is an agent, not somebody who got the number later.
fn holder(file: &mut File) -> Option<Pid> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    let number: i32 = text.trim().parse().ok()?;
    let command = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
    let is_agent = command
        .split(|byte| *byte == 0)
        .any(|word| word == b"agent");
    is_agent.then(|| Pid::from_raw(number))?
}
