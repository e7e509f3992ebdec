//! Which sockets the run's processes have open, by `/proc/<pid>/fd`.

use crate::scan::number;
use crate::source::open;
use rustix::fd::AsFd;
use rustix::fs::{CWD, RawDir, readlinkat_raw};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::path::Path;

/// A socket as a process holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    /// The inode of the network namespace of whoever holds it.
    pub(super) namespace: u64,
    pub(super) inode: u32,
    /// Somebody who holds it.
    pub(super) pid: i32,
}

/// Appends the sockets of one process.
///
/// # Errors
/// If they cannot be known: the process is somebody else's, or gone.
pub(super) fn of_process(proc: &Path, pid: i32, found: &mut Vec<Held>) -> Result<(), Errno> {
    let directory = proc.join(pid.to_string());
    let namespace = namespace(&directory.join("ns/net"))?;
    let files = open(&directory.join("fd"))?;
    let mut space = [MaybeUninit::uninit(); 4 << 10];
    let mut entries = RawDir::new(files.as_fd(), &mut space);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        let mut space = [MaybeUninit::uninit(); 32];
        // A file that was closed meanwhile, or whose name is longer, is no socket.
        let Ok((target, _)) = readlinkat_raw(files.as_fd(), name, &mut space) else {
            continue;
        };
        if let Some(inode) = bracketed(target, b"socket:[") {
            found.extend(u32::try_from(inode).ok().map(|inode| Held {
                namespace,
                inode,
                pid,
            }));
        }
    }
    Ok(())
}

/// The inode of a namespace, from a link such as `net:[4026531840]`.
pub(super) fn namespace(path: &Path) -> Result<u64, Errno> {
    let mut space = [MaybeUninit::uninit(); 64];
    let (target, _) = readlinkat_raw(CWD, path, &mut space)?;
    bracketed(target, b"net:[").ok_or(Errno::INVAL)
}

fn bracketed(text: &[u8], before: &[u8]) -> Option<u64> {
    number(text.strip_prefix(before)?.strip_suffix(b"]")?)
}
