//! What a name stands for, before anything is written there.

use crate::replace::WriteError;
use rustix::fd::AsFd;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where output goes.
pub(crate) enum Place {
    /// A regular file, or nothing yet: this name gets a new file.
    Replaced(PathBuf),
    /// A device, a pipe or an open descriptor: written as it is.
    Through(File),
}

/// The most links that are followed one after the other, as the kernel has it.
const MOST_LINKS: usize = 40;
/// How long somebody may take to open a pipe for reading.
const READER_WITHIN: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// Follows links to what `path` stands for.
pub(crate) fn locate(path: &Path) -> Result<Place, WriteError> {
    let failed = |source| WriteError::new(path, source);
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Some(number) = descriptor(&at) {
            return descriptor_file(number, &at)
                .map(Place::Through)
                .map_err(failed);
        }
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return named(at).map(Place::Replaced).map_err(failed);
            }
            Err(error) => return Err(failed(error)),
        };
        let kind = metadata.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(&at).map_err(failed)?;
            // Relative to the link; `join` keeps an absolute target as it is.
            at = at.parent().unwrap_or(Path::new("")).join(target);
        } else if kind.is_dir() {
            return Err(WriteError::Directory {
                path: path.to_owned(),
            });
        } else if kind.is_file() {
            return named(at).map(Place::Replaced).map_err(failed);
        } else if kind.is_fifo() {
            return open_pipe(&at).map(Place::Through).map_err(failed);
        } else {
            let device = File::options().write(true).open(&at);
            return device.map(Place::Through).map_err(failed);
        }
    }
    Err(failed(rustix::io::Errno::LOOP.into()))
}

/// A path with a last name in a directory that can be opened: the parent of a
/// bare name is the empty path, which no system call takes.
fn named(path: PathBuf) -> io::Result<PathBuf> {
    if path.file_name().is_none() {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Ok(Path::new(".").join(path)),
        _ => Ok(path),
    }
}

/// The number of an open descriptor of this process that `path` names, as
/// `/dev/fd/3` and what `/dev/stdout` links to.
fn descriptor(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let folder = fs::canonicalize(path.parent()?).ok()?;
    let own = format!("/proc/{}/fd", std::process::id());
    (folder == Path::new(&own)).then_some(number)
}

/// The descriptor's own file, at its own offset: what the shell opened with
/// `>>` is appended to.
fn descriptor_file(number: u32, path: &Path) -> io::Result<File> {
    match number {
        1 => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        2 => io::stderr().as_fd().try_clone_to_owned().map(File::from),
        _ => File::options().append(true).open(path),
    }
}

/// Opens a pipe once somebody reads it: an ordinary `open` would wait for ever.
fn open_pipe(path: &Path) -> io::Result<File> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut waited = Duration::ZERO;
    loop {
        let opened = File::options()
            .write(true)
            .custom_flags(nonblocking)
            .open(path);
        match opened {
            Ok(file) => {
                rustix::io::ioctl_fionbio(&file, false)?;
                return Ok(file);
            }
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
                if waited >= READER_WITHIN {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "nobody reads from this pipe",
                    ));
                }
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            Err(error) => return Err(error),
        }
    }
}
