//! Who may write: one process per directory.
//!
//! The lock is `flock(2)` on a file. The kernel drops it when its holder dies,
//! however it dies, so a lock that can be taken means that nobody writes.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// The right to write, given up when dropped.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

#[derive(Debug)]
pub(crate) enum LockError {
    /// Another process holds it.
    Held,
    Io(io::Error),
}

impl WriterLock {
    /// Takes the lock on `path`, creating the file if need be.
    pub(crate) fn acquire(path: &Path) -> Result<Self, LockError> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => return Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        // A reader that asks whether the writer lives holds a shared lock for an
        // instant. If a shared lock can be had, only such readers are in the way,
        // and waiting for them is short.
        match file.try_lock_shared() {
            Ok(()) => {
                file.lock().map_err(LockError::Io)?;
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => Err(LockError::Held),
            Err(TryLockError::Error(error)) => Err(LockError::Io(error)),
        }
    }
}

/// Whether a writer holds the lock on `path`. Never creates the file.
pub(crate) fn is_held(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_is_refused_until_the_first_has_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!is_held(&path).unwrap());
        let first = WriterLock::acquire(&path).unwrap();
        assert!(is_held(&path).unwrap());
        assert!(matches!(WriterLock::acquire(&path), Err(LockError::Held)));
        drop(first);
        assert!(!is_held(&path).unwrap());
        WriterLock::acquire(&path).unwrap();
    }

    #[test]
    fn a_reader_that_looks_does_not_keep_a_writer_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let reader = File::create(&path).unwrap();
        reader.lock_shared().unwrap();
        let writer = std::thread::spawn(move || WriterLock::acquire(&path).map(drop));
        reader.unlock().unwrap();
        writer.join().unwrap().unwrap();
    }
}
