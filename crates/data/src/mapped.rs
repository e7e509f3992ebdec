//! The one place that maps files into memory.
#![expect(
    unsafe_code,
    reason = "a mapped file may change under the reader, which Rust cannot rule out; see `Map::open`"
)]

use std::fs::File;
use std::io;

/// A whole file as read-only memory.
pub(crate) struct Map(memmap2::Mmap);

impl Map {
    /// Maps a file of the cache.
    ///
    /// The cache writes a file under a temporary name, renames it into place
    /// and never writes to it again; replacing an entry is another rename and
    /// cleaning is an unlink, both of which leave existing maps intact. Only a
    /// foreign program that writes into the cache directory could change the
    /// bytes, and only a truncation by one could end this process (SIGBUS).
    /// Files that a user names are read, not mapped, for this reason.
    pub(crate) fn open(file: &File) -> io::Result<Self> {
        // SAFETY: the file is one of the cache's own, which no one writes to
        // once it has its final name (see above), so the bytes behind the
        // slice do not change while it lives. Every bit pattern is valid for
        // the number types that are read from it.
        let map = unsafe { memmap2::Mmap::map(file) }?;
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
