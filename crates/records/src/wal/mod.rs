//! Append-only logs that survive a crash at any instant.
//!
//! A file begins with eight bytes, a magic and the format version, and goes on
//! with frames: a marker (u32), the payload's length (u32), a CRC-32 of length
//! and payload (u32), the payload; all little-endian. The first frame is a
//! dictionary of the names that the others refer to by number, so that a record
//! outlives a reordering of the vocabulary.
//!
//! A writer that is killed leaves at most one incomplete frame, at the end. A
//! reader cuts it and says so. A bad frame with a good one behind it is not a
//! crash but damage, and an error.

mod codec;
mod frame;
mod iterations;

pub use codec::UnknownName;
pub(crate) use codec::{EventCodec, SampleCodec};
pub(crate) use frame::Cut;
pub use frame::WalError;
pub(crate) use iterations::IterationCodec;

use crate::WriteRecordError;
use frame::{FrameReader, FrameWriter};
use paceline_files::Syncer;
use std::fs::File;
use std::io::{self, BufReader};
use std::marker::PhantomData;
use std::path::Path;

/// How one kind of record becomes bytes and back.
pub(crate) trait Codec: Sized {
    type Item;

    /// The names that encoded items refer to.
    fn dictionary() -> Vec<u8>;

    /// The codec for items encoded under this dictionary.
    fn from_dictionary(dictionary: &[u8]) -> Result<Self, UnknownName>;

    /// Appends the item to `out`.
    fn encode(item: &Self::Item, out: &mut Vec<u8>);

    /// The inverse of [`Codec::encode`]; nothing if the bytes are not an item.
    fn decode(&self, payload: &[u8]) -> Option<Self::Item>;
}

/// Appends items, each with one `write(2)` and without allocation once the
/// largest item has been seen.
pub(crate) struct WalWriter<C> {
    frames: FrameWriter,
    codec: PhantomData<C>,
}

impl<C: Codec> WalWriter<C> {
    pub(crate) fn create(path: &Path) -> Result<Self, WriteRecordError> {
        let mut frames = FrameWriter::create(path)?;
        frames.append(|out| out.extend_from_slice(&C::dictionary()))?;
        Ok(Self {
            frames,
            codec: PhantomData,
        })
    }

    pub(crate) fn append(&mut self, item: &C::Item) -> Result<(), WriteRecordError> {
        self.frames.append(|out| C::encode(item, out))
    }

    /// Waits until what was appended has reached the disk.
    pub(crate) fn sync(&self) -> Result<(), WriteRecordError> {
        self.frames.sync()
    }

    /// A handle for a thread that syncs the file.
    pub(crate) fn syncer(&self) -> io::Result<Syncer> {
        self.frames.syncer()
    }
}

/// Reads what a [`WalWriter`] wrote, or is still writing.
pub(crate) struct WalReader<C> {
    frames: FrameReader<BufReader<File>>,
    /// Absent if not even the dictionary was written.
    codec: Option<C>,
}

impl<C: Codec> WalReader<C> {
    pub(crate) fn open(path: &Path) -> Result<Self, WalError> {
        let file = paceline_files::open_regular(path, u64::MAX)
            .map_err(|error| WalError::Io(error.into_io()))?;
        let mut frames = FrameReader::new(BufReader::new(file))?;
        let codec = match frames.next()? {
            Some(dictionary) => Some(C::from_dictionary(dictionary).map_err(WalError::Vocabulary)?),
            None => None,
        };
        Ok(Self { frames, codec })
    }

    /// The next item; nothing at the end, which may be a cut one.
    pub(crate) fn next(&mut self) -> Result<Option<C::Item>, WalError> {
        let Some(codec) = &self.codec else {
            return Ok(None);
        };
        let offset = self.frames.offset();
        match self.frames.next()? {
            Some(payload) => match codec.decode(payload) {
                Some(item) => Ok(Some(item)),
                None => Err(WalError::Damaged { offset }),
            },
            None => Ok(None),
        }
    }

    /// Where the next entry begins.
    pub(crate) fn offset(&self) -> u64 {
        self.frames.offset()
    }

    /// What was cut from the end, once [`Self::next`] has returned nothing.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.frames.cut()
    }
}

#[cfg(test)]
mod tests;
