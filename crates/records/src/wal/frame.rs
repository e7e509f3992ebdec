//! Frames with a checksum, and what to do about those that are not whole.

use super::UnknownName;
use crate::WriteRecordError;
use crate::sums::{SummedFile, sums_of};
use paceline_files::Syncer;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 6] = *b"PCLWAL";
const FILE_HEADER_BYTES: u64 = 8;
/// Begins every frame, so that frames behind a damaged one can be found.
const MARKER: [u8; 4] = *b"\xF0PL\x0A";
const FRAME_HEADER_BYTES: usize = 12;
/// A larger frame is not written, and a length beyond it is not believed.
const MAX_PAYLOAD_BYTES: usize = 16 << 20;

/// Why a log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum WalError {
    /// The file system failed.
    #[error("the file cannot be read")]
    Io(#[source] io::Error),
    /// The file does not begin as a log of Paceline does.
    #[error("the file is not a log of Paceline")]
    Foreign,
    /// A newer Paceline wrote it.
    #[error("the log has format version {found}, this Paceline reads up to {supported}")]
    TooNew {
        /// The file's version.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// A frame in the middle is not what was written.
    #[error("the log is damaged at byte {offset}")]
    Damaged {
        /// Where the bad frame begins.
        offset: u64,
    },
    /// The log uses a word that this Paceline does not know.
    #[error(transparent)]
    Vocabulary(UnknownName),
}

/// An incomplete end of a log, left by a crash and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Where the good part ends.
    pub(crate) offset: u64,
    /// How many bytes follow.
    pub(crate) bytes: u64,
}

/// Appends frames to a new file.
pub(crate) struct FrameWriter {
    file: SummedFile,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl FrameWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, WriteRecordError> {
        let mut file = SummedFile::create(path, &sums_of(path))?;
        let mut header = [0; FILE_HEADER_BYTES as usize];
        header[..6].copy_from_slice(&MAGIC);
        let version = u16::try_from(crate::FORMAT_VERSION).expect("versions are counted by hand");
        header[6..].copy_from_slice(&version.to_le_bytes());
        file.append(&header)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            buffer: Vec::with_capacity(4096),
        })
    }

    /// Appends one frame whose payload `fill` writes, with one `write(2)` after
    /// that of its checksum. If it fails, the file is as before.
    pub(crate) fn append(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), WriteRecordError> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
        fill(&mut self.buffer);
        let bytes = self.buffer.len() - FRAME_HEADER_BYTES;
        if bytes == 0 || bytes > MAX_PAYLOAD_BYTES {
            return Err(WriteRecordError::FrameSize {
                path: self.path.clone(),
                bytes,
                limit: MAX_PAYLOAD_BYTES,
            });
        }
        let length = u32::try_from(bytes).expect("a payload has at most 16 MiB");
        let (header, payload) = self.buffer.split_at_mut(FRAME_HEADER_BYTES);
        header[..4].copy_from_slice(&MARKER);
        header[4..8].copy_from_slice(&length.to_le_bytes());
        let checksum = checksum(length, payload);
        header[8..].copy_from_slice(&checksum.to_le_bytes());

        self.file.append(&self.buffer)
    }

    pub(crate) fn sync(&self) -> Result<(), WriteRecordError> {
        self.file.sync()
    }

    pub(crate) fn syncer(&self) -> io::Result<Syncer> {
        self.file.syncer()
    }
}

/// Reads frames from the beginning of a file, which may still grow.
pub(crate) struct FrameReader<R> {
    source: R,
    /// Where the next frame begins.
    offset: u64,
    payload: Vec<u8>,
    cut: Option<Cut>,
}

impl<R: BufRead + Seek> FrameReader<R> {
    pub(crate) fn new(mut source: R) -> Result<Self, WalError> {
        let mut header = [0; FILE_HEADER_BYTES as usize];
        let got = read_up_to(&mut source, &mut header)?;
        let mut reader = Self {
            source,
            offset: FILE_HEADER_BYTES,
            payload: Vec::new(),
            cut: None,
        };
        // Lost with the power, as a hole between frames is.
        if got > 0 && header[..got].iter().all(|byte| *byte == 0) {
            let end = reader.source.seek(SeekFrom::End(0)).map_err(WalError::Io)?;
            reader.offset = 0;
            reader.cut = Some(Cut {
                offset: 0,
                bytes: end,
            });
            return Ok(reader);
        }
        if !MAGIC.starts_with(&header[..got.min(MAGIC.len())]) {
            return Err(WalError::Foreign);
        }
        if got < header.len() {
            reader.offset = 0;
            reader.cut = Some(Cut {
                offset: 0,
                bytes: got as u64,
            });
            return Ok(reader);
        }
        let found = u32::from(u16::from_le_bytes([header[6], header[7]]));
        if found > crate::FORMAT_VERSION {
            return Err(WalError::TooNew {
                found,
                supported: crate::FORMAT_VERSION,
            });
        }
        if found == 0 {
            return Err(WalError::Foreign);
        }
        Ok(reader)
    }

    /// Where the next frame begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// What was cut from the end, once [`Self::next`] has returned nothing.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// The payload of the next frame; nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, WalError> {
        if self.cut.is_some() {
            return Ok(None);
        }
        match self.read_frame()? {
            Read1::End => Ok(None),
            Read1::Frame => {
                self.offset += (FRAME_HEADER_BYTES + self.payload.len()) as u64;
                Ok(Some(&self.payload))
            }
            Read1::Bad => self.judge_bad_frame(),
        }
    }

    fn read_frame(&mut self) -> Result<Read1, WalError> {
        let mut header = [0; FRAME_HEADER_BYTES];
        let got = read_up_to(&mut self.source, &mut header)?;
        if got == 0 {
            return Ok(Read1::End);
        }
        let Some((length, expected)) = parse_header(&header[..got]) else {
            return Ok(Read1::Bad);
        };
        self.payload.resize(length, 0);
        let got = read_up_to(&mut self.source, &mut self.payload)?;
        if got < length || checksum(length as u32, &self.payload) != expected {
            return Ok(Read1::Bad);
        }
        Ok(Read1::Frame)
    }

    /// Tells an incomplete end from damage: after damage there is a good frame,
    /// or more bytes than one frame can have.
    fn judge_bad_frame(&mut self) -> Result<Option<&[u8]>, WalError> {
        let offset = self.offset;
        self.source
            .seek(SeekFrom::Start(offset))
            .map_err(WalError::Io)?;
        let mut rest = Vec::new();
        let window = (MAX_PAYLOAD_BYTES + FRAME_HEADER_BYTES) as u64;
        (&mut self.source)
            .take(window + 1)
            .read_to_end(&mut rest)
            .map_err(WalError::Io)?;
        // The writer may have completed the frame since it was first looked at.
        if let Some(length) = whole_frame(&rest) {
            let end = FRAME_HEADER_BYTES + length;
            self.payload.clear();
            self.payload
                .extend_from_slice(&rest[FRAME_HEADER_BYTES..end]);
            self.offset += end as u64;
            self.source
                .seek(SeekFrom::Start(self.offset))
                .map_err(WalError::Io)?;
            return Ok(Some(&self.payload));
        }
        // A disk that lost its power may hold a later frame and not this one: the
        // hole reads as zeros, where damage leaves a marker or most of one.
        let hole = rest.len() >= MARKER.len() && rest[..MARKER.len()].iter().all(|b| *b == 0);
        if hole {
            let end = self.source.seek(SeekFrom::End(0)).map_err(WalError::Io)?;
            self.cut = Some(Cut {
                offset,
                bytes: end.saturating_sub(offset),
            });
            return Ok(None);
        }
        let good_behind = (1..rest.len()).any(|i| whole_frame(&rest[i..]).is_some());
        if good_behind || rest.len() as u64 > window {
            return Err(WalError::Damaged { offset });
        }
        self.cut = Some(Cut {
            offset,
            bytes: rest.len() as u64,
        });
        Ok(None)
    }
}

enum Read1 {
    Frame,
    Bad,
    End,
}

/// Payload length and checksum of a header that can be one.
fn parse_header(bytes: &[u8]) -> Option<(usize, u32)> {
    let header: &[u8; FRAME_HEADER_BYTES] = bytes.first_chunk()?;
    let [m0, m1, m2, m3, l0, l1, l2, l3, c0, c1, c2, c3] = *header;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    ([m0, m1, m2, m3] == MARKER && (1..=MAX_PAYLOAD_BYTES).contains(&length))
        .then_some((length, u32::from_le_bytes([c0, c1, c2, c3])))
}

/// The payload length of the good frame that `bytes` begin with, if they do.
fn whole_frame(bytes: &[u8]) -> Option<usize> {
    let (length, expected) = parse_header(bytes)?;
    let payload = bytes.get(FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + length)?;
    (checksum(length as u32, payload) == expected).then_some(length)
}

/// The length is part of the sum: a wrong length must not find a right sum.
fn checksum(length: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// Like `read_exact`, but says how far it came.
fn read_up_to(source: &mut impl Read, buffer: &mut [u8]) -> Result<usize, WalError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(WalError::Io(error)),
        }
    }
    Ok(filled)
}
