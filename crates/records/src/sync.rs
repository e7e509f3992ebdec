//! A thread that makes appended data last through a power loss.
//!
//! What was written survives the end of the process without it; this is for the
//! machine's. The measuring thread never waits for a disk.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(2);

/// Syncs the files it was given every two seconds, until dropped.
pub(crate) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    stop: Condvar,
}

#[derive(Default)]
struct State {
    files: Vec<Arc<paceline_files::Syncer>>,
    failure: Option<(PathBuf, io::Error)>,
    stopped: bool,
}

impl Syncer {
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new()
            .name("paceline-sync".to_owned())
            .stack_size(64 << 10)
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.run()
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    pub(crate) fn add(&self, file: paceline_files::Syncer) {
        self.shared.lock().files.push(Arc::new(file));
    }

    /// The first failure since it was last asked for.
    pub(crate) fn take_failure(&self) -> Option<(PathBuf, io::Error)> {
        self.shared.lock().failure.take()
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, the record would still be closed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn run(&self) {
        let mut state = self.lock();
        loop {
            self.stop
                .wait_while_for(&mut state, |state| !state.stopped, EVERY);
            if state.stopped {
                return;
            }
            let files = state.files.clone();
            // The writer asks for failures at every sample: it must not wait for the disk.
            drop(state);
            let failure = files.into_iter().find_map(|file| {
                let error = file.sync().err()?;
                Some((file.path().to_owned(), error))
            });
            state = self.lock();
            if state.failure.is_none() {
                state.failure = failure;
            }
        }
    }
}
