//! The one atomic write.

use crate::directory::{create_directory, sync_directory};
use crate::place::{Place, locate};
use crate::trace;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a file could not be written. Whatever had its name before is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The disk, the quota or the limit of a file's size is exhausted.
    #[error("no space left to write {}", path.display())]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is a directory of this name.
    #[error("{} is a directory", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// Any other refusal of the system.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl WriteError {
    /// Sorts what the system said about a file.
    #[must_use]
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::NoSpace { path, source },
            io::ErrorKind::IsADirectory => Self::Directory { path },
            _ => Self::Io { path, source },
        }
    }
}

/// A file under construction. [`AtomicFile::commit`] makes it the file of that
/// name; dropped before, it leaves nothing.
///
/// A regular file keeps its permissions when it is replaced. A device or a pipe
/// is written as it is: there `commit` only waits until all is written.
#[derive(Debug)]
pub struct AtomicFile {
    /// What the caller called it, for errors.
    path: PathBuf,
    file: File,
    staged: Option<Staged>,
}

#[derive(Debug)]
struct Staged {
    target: PathBuf,
    staging: PathBuf,
    written: u64,
    synced: bool,
}

/// So many writers of one file at the same time have a hidden name each.
const MOST_STAGES: u32 = 100;
/// The permissions of a file that others may read as the user's mask allows.
const SHARED: u32 = 0o666;
/// The permissions of a file for its owner alone.
const PRIVATE: u32 = 0o600;

impl AtomicFile {
    /// Begins the file that will have the name `path`. Its directory must exist.
    ///
    /// # Errors
    /// If nothing can be written there; nothing was.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        Self::create_with(path, SHARED)
    }

    /// As [`AtomicFile::create`], for its owner alone unless the file was there
    /// before with other permissions.
    ///
    /// # Errors
    /// If nothing can be written there; nothing was.
    pub fn create_private(path: &Path) -> Result<Self, WriteError> {
        Self::create_with(path, PRIVATE)
    }

    fn create_with(path: &Path, mode: u32) -> Result<Self, WriteError> {
        let target = match locate(path)? {
            Place::Through(file) => {
                return Ok(Self {
                    path: path.to_owned(),
                    file,
                    staged: None,
                });
            }
            Place::Replaced(target) => target,
        };
        let failed = |source| WriteError::new(path, source);
        let (staging, file) = stage(&target, mode).map_err(failed)?;
        trace::created(&staging);
        let staged = Staged {
            staging,
            written: 0,
            synced: false,
            target,
        };
        let this = Self {
            path: path.to_owned(),
            file,
            staged: Some(staged),
        };
        this.take_permissions().map_err(failed)?;
        Ok(this)
    }

    /// A file that is replaced keeps its permissions.
    fn take_permissions(&self) -> io::Result<()> {
        let Some(staged) = &self.staged else {
            return Ok(());
        };
        match fs::metadata(&staged.target) {
            Ok(before) => {
                let mode = before.permissions().mode() & 0o777;
                self.file.set_permissions(fs::Permissions::from_mode(mode))
            }
            Err(_) => Ok(()),
        }
    }

    /// Whether the file goes to a device, a pipe or a descriptor.
    #[must_use]
    pub fn is_written_through(&self) -> bool {
        self.staged.is_none()
    }

    /// Waits until the content has reached the disk, so that several files can
    /// be synced side by side before they are committed.
    ///
    /// # Errors
    /// If the disk refuses it.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        let Some(staged) = &mut self.staged else {
            return Ok(());
        };
        trace::synced(&staged.staging);
        self.file
            .sync_all()
            .map_err(|source| WriteError::new(&self.path, source))?;
        staged.synced = true;
        Ok(())
    }

    /// Makes it the file of its name, also after a loss of power: its content
    /// and its directory have reached the disk when this returns.
    ///
    /// # Errors
    /// If the disk refuses it; the file of that name is then the old one, or,
    /// if only its directory could not be synced, the new one.
    pub fn commit(self) -> Result<(), WriteError> {
        let path = self.path.clone();
        let Some(target) = self.rename()? else {
            return Ok(());
        };
        let directory = target.parent().expect("a file is in a directory");
        sync_directory(directory).map_err(|source| WriteError::new(&path, source))
    }

    /// As [`AtomicFile::commit`], but the caller syncs the directory: of several
    /// files once.
    ///
    /// # Errors
    /// If the disk refuses it; the file of that name is then the old one.
    pub fn commit_with_directory_unsynced(self) -> Result<(), WriteError> {
        self.rename().map(|_| ())
    }

    /// Gives the file its name without waiting for the disk: for what is checked
    /// when it is read and can be made again.
    ///
    /// # Errors
    /// If the system refuses it; the file of that name is then the old one.
    pub fn commit_unsynced(mut self) -> Result<(), WriteError> {
        if let Some(staged) = &mut self.staged {
            staged.synced = true;
        }
        self.rename().map(|_| ())
    }

    /// The target, if there was anything to rename.
    fn rename(mut self) -> Result<Option<PathBuf>, WriteError> {
        let failed = |source| WriteError::new(&self.path, source);
        let Some(staged) = &self.staged else {
            self.file.flush().map_err(failed)?;
            return Ok(None);
        };
        if !staged.synced {
            trace::synced(&staged.staging);
            self.file.sync_all().map_err(failed)?;
        }
        // Somebody may have put a directory or a link there meanwhile: a rename
        // replaces the link itself and refuses the directory.
        fs::rename(&staged.staging, &staged.target).map_err(failed)?;
        trace::renamed(&staged.staging, &staged.target);
        let target = staged.target.clone();
        self.staged = None;
        Ok(Some(target))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.file.write(bytes)?;
        if let Some(staged) = &mut self.staged {
            trace::written(&staged.staging, staged.written, &bytes[..length]);
            staged.written += length as u64;
            staged.synced = false;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(staged) = &self.staged {
            // Its hidden name keeps readers away, so a failure costs only space,
            // and the next writer of this name removes it.
            let _ = fs::remove_file(&staged.staging);
            trace::removed(&staged.staging);
        }
    }
}

/// Makes a hidden file beside `target` that nobody else writes to.
///
/// The name is not a secret, so the file is made only if there is none (links
/// included), and is locked: one without a lock was left by a process that died.
fn stage(target: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    for number in 0..MOST_STAGES {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        match number {
            0 => hidden.push(".tmp"),
            n => hidden.push(format!(".{n}.tmp")),
        }
        let staging = target.with_file_name(hidden);
        // Twice: the first time may find and remove what a process left.
        for _ in 0..2 {
            let made = File::options()
                .write(true)
                .create_new(true)
                .mode(mode)
                .custom_flags(no_follow())
                .open(&staging);
            match made {
                Ok(file) if is_own(&staging, &file)? => return Ok((staging, file)),
                // Another process took it for abandoned before it was locked.
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !remove_if_abandoned(&staging) {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        "too many writers of this file at the same time",
    ))
}

fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

/// Locks a file that was just made, and tells whether it still has its name.
fn is_own(staging: &Path, file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        // A file system without locks has no way to find what was left behind.
        Err(TryLockError::Error(_)) => return Ok(true),
    }
    Ok(names(staging, file))
}

/// Whether the name still leads to the open file.
fn names(path: &Path, file: &File) -> bool {
    match (fs::symlink_metadata(path), file.metadata()) {
        (Ok(there), Ok(here)) => (there.dev(), there.ino()) == (here.dev(), here.ino()),
        _ => false,
    }
}

/// Removes what a process that died has left; true if it did.
fn remove_if_abandoned(staging: &Path) -> bool {
    let flags = no_follow() | rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let Ok(file) = File::options().read(true).custom_flags(flags).open(staging) else {
        return false;
    };
    let regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
    regular && file.try_lock().is_ok() && names(staging, &file) && {
        let removed = fs::remove_file(staging).is_ok();
        trace::removed(staging);
        removed
    }
}

/// Writes a file so that after a crash or a loss of power it is either as it was
/// or whole. Its directory is made if need be.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let failed = |source| WriteError::new(path, source);
    if let Some(directory) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        create_directory(directory).map_err(|source| WriteError::new(directory, source))?;
    }
    let mut file = AtomicFile::create(path)?;
    file.write_all(content).map_err(failed)?;
    file.commit()
}
