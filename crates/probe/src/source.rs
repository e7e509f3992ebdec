//! A file of the kernel that is read again and again.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, pread};
use std::path::{Path, PathBuf};

/// The largest text one file may have. `/proc/stat` of a machine with a
/// thousand cores and as many interrupts stays below this.
const LIMIT: usize = 4 << 20;

/// A growing buffer that all sources share, so that reading allocates only
/// until the largest file has been seen once.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; 16 << 10],
        }
    }

    /// Reads `fd` from its beginning to its end.
    fn fill(&mut self, fd: impl AsFd) -> Result<&[u8], Errno> {
        let mut length = 0;
        loop {
            if length == self.bytes.len() {
                if length >= LIMIT {
                    return Err(Errno::FBIG);
                }
                self.bytes.resize(length * 2, 0);
            }
            // The kernel may hand out a file in pages even where the buffer
            // has room, so that only an empty answer marks the end.
            match pread(&fd, &mut self.bytes[length..], length as u64) {
                Ok(0) => return Ok(&self.bytes[..length]),
                Ok(n) => length += n,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a file that is looked at too seldom to be kept open.
    pub(crate) fn read_once(&mut self, path: &Path) -> Result<&[u8], Errno> {
        let fd = open(path)?;
        self.fill(fd)
    }

    /// Reads an open file from its beginning.
    pub(crate) fn read_open(&mut self, fd: &OwnedFd) -> Result<&[u8], Errno> {
        self.fill(fd)
    }
}

/// One file, kept open. A file that cannot be opened at first is absent and
/// stays so; one that fails later is opened again at the next reading.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    state: State,
}

#[derive(Debug)]
enum State {
    Absent,
    Open(OwnedFd),
    Lost,
}

impl Source {
    pub(crate) fn open(path: PathBuf) -> Self {
        let state = open(&path).map_or(State::Absent, State::Open);
        Self { path, state }
    }

    /// A source that never has anything to say.
    pub(crate) fn absent() -> Self {
        Self {
            path: PathBuf::new(),
            state: State::Absent,
        }
    }

    /// The file's text, or `None` if it is absent or cannot be read.
    pub(crate) fn read<'b>(&mut self, buffer: &'b mut Buffer) -> Option<&'b [u8]> {
        if let State::Lost = self.state
            && let Ok(fd) = open(&self.path)
        {
            self.state = State::Open(fd);
        }
        let State::Open(fd) = &self.state else {
            return None;
        };
        match buffer.fill(fd) {
            Ok(text) => Some(text),
            Err(_) => {
                self.state = State::Lost;
                None
            }
        }
    }
}

/// Opens a file for reading only.
pub(crate) fn open(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}
