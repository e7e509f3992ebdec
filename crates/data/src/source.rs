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

/// What a packed file may unpack to, whatever its size.
const UNPACKED_BYTES: u64 = 1 << 30;
/// Beyond that, so many times its own size: rows of numbers and texts pack ten
/// to one, and what packs a thousand to one was made to fill somebody's memory.
const UNPACKED_TIMES: u64 = 100;

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
        let packed = file.metadata().map_err(failed)?.len();
        let most = UNPACKED_BYTES.max(packed.saturating_mul(UNPACKED_TIMES));
        Self::unpacking(path.to_path_buf(), file, most).map_err(failed)
    }

    /// Bytes in memory, unpacked if they begin as gzip does.
    pub(crate) fn embedded(path: &str, bytes: &'a [u8]) -> Self {
        Self::unpacking(PathBuf::from(path), bytes, u64::MAX).expect("memory can always be read")
    }

    /// Nothing beyond `most` bytes is unpacked.
    fn unpacking(path: PathBuf, mut raw: impl Read + 'a, most: u64) -> io::Result<Self> {
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
            let unpacked = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, whole));
            Box::new(Bounded {
                reader: unpacked,
                left: most,
                most,
            })
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

/// A stream that fails where it should have ended.
struct Bounded<R> {
    reader: R,
    left: u64,
    most: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => {
                self.left = left;
                Ok(read)
            }
            None => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!(
                    "it unpacks to more than {} bytes, far more than data of its size do; if it \
                     is meant to, unpack it first",
                    self.most
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(bytes: usize) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![0; bytes]).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_packed_to_fill_the_memory_is_refused_in_the_middle() {
        let bytes = packed(1 << 20);
        assert!(bytes.len() < 2048);
        let open = |most| Source::unpacking("x.gz".into(), &*bytes, most).unwrap();
        let mut unpacked = Vec::new();
        open(1 << 20).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked.len(), 1 << 20);
        let mut unpacked = Vec::new();
        let error = open((1 << 20) - 1).read_to_end(&mut unpacked).unwrap_err();
        assert!(error.to_string().contains("unpack it first"), "{error}");
        assert!(unpacked.len() < 1 << 20);
    }

    #[test]
    fn an_idx_file_that_packs_a_thousand_to_one_is_refused_by_its_name() {
        // A header that claims 8 MiB, and as many zeros.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder
            .write_all(&[0, 0, 8, 2, 0, 0, 32, 0, 0, 0, 4, 0])
            .unwrap();
        encoder.write_all(&vec![0; 8 << 20]).unwrap();
        let bytes = encoder.finish().unwrap();
        let mut whole = Source::unpacking("x.idx.gz".into(), &*bytes, u64::MAX).unwrap();
        assert_eq!(crate::idx::read(&mut whole).unwrap().values.len(), 8 << 20);
        let mut source = Source::unpacking("x.idx.gz".into(), &*bytes, 1 << 20).unwrap();
        let error = crate::idx::read(&mut source).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let said = format!("{error} {cause:?}");
        assert!(
            said.contains("x.idx.gz") && said.contains("unpack it first"),
            "{said}"
        );
    }
}
