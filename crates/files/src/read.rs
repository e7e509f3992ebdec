//! The one bounded read.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a file that somebody named was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused it.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory, a device or a socket: nothing that has an end.
    #[error("{} is {kind}, not a file", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// More bytes than any file of this kind has.
    #[error("{} has more than {}", path.display(), Size(*limit))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes that are read.
        limit: u64,
    },
    /// A pipe that nobody writes to.
    #[error("nothing came from the pipe {} within {} s", path.display(), waited.as_secs())]
    Silent {
        /// The pipe.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The bytes are not UTF-8 text.
    #[error("{}:{line}: this is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line of the first byte that is none, counted from one.
        line: usize,
    },
}

impl ReadError {
    /// Whether there is no such file.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io { source, .. } if matches!(
            source.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ))
    }

    /// What the system said; for what this crate found, words of the same kind.
    #[must_use]
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Io { source, .. } => source,
            Self::Kind { .. } => io::Error::new(io::ErrorKind::InvalidInput, self),
            Self::TooLarge { .. } => io::Error::new(io::ErrorKind::FileTooLarge, self),
            Self::Silent { .. } => io::Error::new(io::ErrorKind::TimedOut, self),
            Self::NotText { .. } => io::Error::new(io::ErrorKind::InvalidData, self),
        }
    }
}

/// How long a pipe may have no writer before and while it is read.
const WRITER_WITHIN: Duration = Duration::from_secs(5);
/// How long a writer may be silent: a slow query, not a forgotten one.
const SILENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// What somebody named, open for reading.
#[derive(Debug)]
pub enum Input {
    /// A regular file of a size within the limit.
    Regular(File),
    /// All that came through a pipe.
    Stream(Vec<u8>),
}

/// Opens what `path` names, if it is a regular file or a pipe of at most `limit`
/// bytes. A pipe is read to its end, since it can be read only once.
///
/// # Errors
/// If it is anything else, too large, or a pipe that stays silent.
pub fn open(path: &Path, limit: u64) -> Result<Input, ReadError> {
    let (mut file, pipe) = open_checked(path, limit)?;
    if !pipe {
        return Ok(Input::Regular(file));
    }
    read_pipe(path, &mut file, limit).map(Input::Stream)
}

/// As [`open`], but pipes are refused: for what is read more than once.
///
/// # Errors
/// If it is anything else, or too large.
pub fn open_regular(path: &Path, limit: u64) -> Result<File, ReadError> {
    match open_checked(path, limit)? {
        (file, false) => Ok(file),
        (_, true) => Err(ReadError::Kind {
            path: path.to_owned(),
            kind: "a pipe",
        }),
    }
}

/// The content of a file or a pipe of at most `limit` bytes.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    match open(path, limit)? {
        Input::Regular(file) => read_bounded(path, file, limit),
        Input::Stream(bytes) => Ok(bytes),
    }
}

/// The content of a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open_regular`].
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    read_bounded(path, open_regular(path, limit)?, limit)
}

/// As [`read`], as text.
///
/// # Errors
/// As [`open`], and if it is no UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    String::from_utf8(read(path, limit)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        ReadError::NotText {
            path: path.to_owned(),
            line: 1 + good.iter().filter(|byte| **byte == b'\n').count(),
        }
    })
}

/// The open file, and whether it is a pipe. Never waits: a pipe without a writer
/// would hold an ordinary `open`.
fn open_checked(path: &Path, limit: u64) -> Result<(File, bool), ReadError> {
    let failed = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::options()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
        .open(path)
        .map_err(failed)?;
    // Of the open file, not of the name: nobody can exchange it in between.
    let metadata = file.metadata().map_err(failed)?;
    let kind = metadata.file_type();
    let refused = |kind| {
        Err(ReadError::Kind {
            path: path.to_owned(),
            kind,
        })
    };
    if kind.is_file() {
        if metadata.len() > limit {
            return Err(ReadError::TooLarge {
                path: path.to_owned(),
                limit,
            });
        }
        Ok((file, false))
    } else if kind.is_fifo() {
        Ok((file, true))
    } else if kind.is_dir() {
        refused("a directory")
    } else if kind.is_socket() {
        refused("a socket")
    } else {
        refused("a device")
    }
}

/// A file may grow while it is read, and files of `/proc` have no size.
fn read_bounded(path: &Path, file: File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let failed = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let size = file.metadata().map_err(failed)?.len().min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(bytes)
}

fn read_pipe(path: &Path, pipe: &mut File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let failed = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let silent = |waited| ReadError::Silent {
        path: path.to_owned(),
        waited,
    };
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    let mut without_writer = Duration::ZERO;
    loop {
        match pipe.read(&mut piece) {
            // Nobody has it open for writing: no more comes, or nobody has yet.
            Ok(0) if !bytes.is_empty() || has_ended(pipe) => return Ok(bytes),
            Ok(0) => {
                if without_writer >= WRITER_WITHIN {
                    return Err(silent(without_writer));
                }
                std::thread::sleep(PAUSE);
                without_writer += PAUSE;
            }
            Ok(length) => {
                bytes.extend_from_slice(&piece[..length]);
                if bytes.len() as u64 > limit {
                    return Err(ReadError::TooLarge {
                        path: path.to_owned(),
                        limit,
                    });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if !wait(pipe, SILENCE).map_err(failed)? {
                    return Err(silent(SILENCE));
                }
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Whether there was a writer, and there is none any more.
fn has_ended(pipe: &File) -> bool {
    let mut watched = [PollFd::new(pipe, PollFlags::IN)];
    let now = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut watched, Some(&now)).is_ok() && watched[0].revents().contains(PollFlags::HUP)
}

/// Waits for bytes or for the end; false if neither came.
fn wait(pipe: &File, at_most: Duration) -> io::Result<bool> {
    let mut watched = [PollFd::new(pipe, PollFlags::IN)];
    let limit = rustix::event::Timespec {
        tv_sec: at_most.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    match poll(&mut watched, Some(&limit)) {
        Ok(0) => Ok(false),
        // An interrupted wait is repeated by the caller's next read.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// A limit, as people write it.
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 30 => write!(f, "{} GiB", bytes >> 30),
            bytes if bytes >= 1 << 20 => write!(f, "{} MiB", bytes >> 20),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}
