//! A file that only grows.

use crate::trace;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file to which one process appends. Clones of the handle are one file.
#[derive(Debug)]
pub struct AppendFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl AppendFile {
    /// Makes the file, which must not exist, for its owner alone.
    ///
    /// # Errors
    /// If the system refuses it, or there is something of that name.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_with(path, 0o600)
    }

    fn create_with(path: &Path, mode: u32) -> io::Result<Self> {
        let file = File::options()
            .append(true)
            .create_new(true)
            .mode(mode)
            .open(path)?;
        trace::created(path);
        Ok(Self {
            file,
            path: path.to_owned(),
            length: 0,
        })
    }

    /// As [`AppendFile::create`], for others to read as the user's mask allows.
    ///
    /// # Errors
    /// If the system refuses it, or there is something of that name.
    pub fn create_shared(path: &Path) -> io::Result<Self> {
        Self::create_with(path, 0o666)
    }

    /// Goes on with a file that is there.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn resume(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            file,
            path: path.to_owned(),
            length,
        })
    }

    /// Appends the bytes with one `write(2)` where the system takes them at
    /// once. After a failure the file may hold a part of them; [`Self::length`]
    /// says up to where it is good.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&self.file).write_all(bytes)?;
        trace::written(&self.path, self.length, bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// How many bytes were appended or were there before.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Cuts the file off, after a failed append or a damaged end.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        trace::truncated(&self.path, length);
        self.length = length;
        Ok(())
    }

    /// Waits until what was appended has reached the disk.
    ///
    /// # Errors
    /// If the disk refuses it.
    pub fn sync(&self) -> io::Result<()> {
        trace::synced(&self.path);
        self.file.sync_data()
    }

    /// The file itself, to read what is in it.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A second handle that can only sync, for a thread that does.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn syncer(&self) -> io::Result<Syncer> {
        Ok(Syncer {
            file: self.file.try_clone()?,
            path: self.path.clone(),
        })
    }
}

/// Syncs a file that another handle appends to.
#[derive(Debug)]
pub struct Syncer {
    file: File,
    path: PathBuf,
}

impl Syncer {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until what was appended has reached the disk.
    ///
    /// # Errors
    /// If the disk refuses it.
    pub fn sync(&self) -> io::Result<()> {
        trace::synced(&self.path);
        self.file.sync_data()
    }
}
