//! What determines an entry of the cache.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use twox_hash::xxhash3_128::Hasher;

use crate::error::OpenDataError;

/// A 128-bit hash (XXH3) of everything that determines an entry. It guards
/// against accidents, not against someone who may write to the user's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u128);

/// What of a file tells that it was not replaced while it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
}

pub(crate) struct KeyBuilder(Hasher);

const BUFFER_BYTES: usize = 1 << 20;

impl Key {
    pub(crate) fn builder() -> KeyBuilder {
        KeyBuilder(Hasher::new())
    }

    pub(super) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl KeyBuilder {
    /// A choice that was made in reading.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Bytes, with their length so that neighbours cannot run together.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(&(bytes.len() as u64).to_le_bytes());
        self.0.write(bytes);
    }

    /// The content of a file.
    pub(crate) fn file(&mut self, path: &Path) -> Result<(), OpenDataError> {
        self.content(path).map_err(|source| OpenDataError::Read {
            path: path.into(),
            source,
        })
    }

    fn content(&mut self, path: &Path) -> io::Result<()> {
        let mut file = paceline_files::open_regular(path, u64::MAX)
            .map_err(paceline_files::ReadError::into_io)?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut total = 0_u64;
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    self.0.write(&buffer[..read]);
                    total += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.0.write(&total.to_le_bytes());
        Ok(())
    }

    pub(crate) fn finish(self) -> Key {
        Key(self.0.finish_128())
    }
}

impl Stamp {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}
