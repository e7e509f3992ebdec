//! Where bytes come from: a file or the binary itself, unpacked if need be.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::error::{OpenDataError, Position, Unexpected};

/// A stream of unpacked bytes that knows what to call itself in an error.
pub(crate) struct Source<'a> {
    path: PathBuf,
    reader: Box<dyn Read + 'a>,
}

/// How much of a file is read at once.
const BUFFER_BYTES: usize = 1 << 18;

impl<'a> Source<'a> {
    /// A file, unpacked if it begins as gzip does.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenDataError> {
        let failed = |source| OpenDataError::Read {
            path: path.to_path_buf(),
            source,
        };
        // A data set is read more than once and may be any size, so it must be
        // a file: a pipe or a device would have no end or no second time.
        let file = paceline_files::open_regular(path, u64::MAX)
            .map_err(|error| failed(error.into_io()))?;
        Self::unpacking(path.to_path_buf(), file).map_err(failed)
    }

    /// Bytes in memory, unpacked if they begin as gzip does.
    pub(crate) fn embedded(path: &str, bytes: &'a [u8]) -> Self {
        Self::unpacking(PathBuf::from(path), bytes).expect("memory can always be read")
    }

    fn unpacking(path: PathBuf, mut raw: impl Read + 'a) -> io::Result<Self> {
        let mut start = [0; 2];
        let mut length = 0;
        while length < start.len() {
            match raw.read(&mut start[length..]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let whole = io::Cursor::new(start).take(length as u64).chain(raw);
        let reader: Box<dyn Read + 'a> = if start[..length] == [0x1f, 0x8b] {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(
                BUFFER_BYTES,
                whole,
            )))
        } else {
            Box::new(whole)
        };
        Ok(Self { path, reader })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Fills the buffer with the bytes at a place, which are expected there.
    pub(crate) fn fill(
        &mut self,
        buffer: &mut [u8],
        position: u64,
        expected: &'static str,
    ) -> Result<(), OpenDataError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => {
                    let what = Unexpected::new(expected, "the end of the file");
                    let end = Position::Byte(position + filled as u64);
                    return Err(self.malformed(what, end));
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    /// An error at a place in this stream.
    pub(crate) fn malformed(&self, what: Unexpected, position: Position) -> OpenDataError {
        what.at(&self.path, position).into()
    }

    /// What a failed read means: a broken archive is the file's fault, all
    /// else the system's.
    pub(crate) fn failed(&self, error: io::Error) -> OpenDataError {
        OpenDataError::Read {
            path: self.path.clone(),
            source: error,
        }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}
