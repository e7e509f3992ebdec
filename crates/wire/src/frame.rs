//! Frames: a fixed header of 32 bytes and a payload whose layout it names.
//!
//! ```text
//!  0  length    u32       bytes of the payload
//!  4  kind      u16       what the frame says
//!  6  encoding  u8        how the payload is laid out; with 128 added, it lies
//!                         in shared memory, and its place (u64) follows the
//!                         header; 127 announces that memory, see
//!                         `shared_memory`
//!  7  flags     u8        marks
//!  8  fields    3 × u64   numbers
//! ```
//!
//! What kinds, flags and fields mean is the business of whoever sends frames
//! (of `train`, whose protocol has a page of its own): here they are carried.
//! All numbers are little-endian. The version is agreed once, in the handshake.

use bytemuck::{cast_slice, try_cast_slice};
use thiserror::Error;

#[cfg(not(target_endian = "little"))]
compile_error!("numbers travel as they lie in memory, which must be little-endian");

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 32;

/// What a frame says, as a number that sender and receiver agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u16);

impl Kind {
    /// A part of an all-reduce, which a [`Group`](crate::Group) sends. Every
    /// other kind is the caller's.
    pub const REDUCE: Self = Self(u16::MAX);
}

/// How a payload is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// Bytes to which the kind gives a meaning, or none.
    Bytes = 0,
    /// `f32` numbers.
    Dense = 1,
    /// IEEE 754 half-precision numbers.
    Half = 2,
    /// Whole rows: their number and width, their indices, their values.
    Rows = 3,
    /// Single numbers: indices, then as many values.
    Sparse = 4,
}

impl Encoding {
    fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Bytes),
            1 => Some(Self::Dense),
            2 => Some(Self::Half),
            3 => Some(Self::Rows),
            4 => Some(Self::Sparse),
            _ => None,
        }
    }
}

/// What a frame says of itself, except what its payload implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the frame says.
    pub kind: Kind,
    /// Marks, to which the kind gives a meaning.
    pub flags: u8,
    /// Numbers, to which the kind gives a meaning.
    pub fields: [u64; 3],
}

impl Header {
    /// A header of `kind` with everything else zero.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            flags: 0,
            fields: [0; 3],
        }
    }

    /// The same with these marks.
    #[must_use]
    pub const fn with_flags(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    /// The same with these numbers.
    #[must_use]
    pub const fn with_fields(self, fields: [u64; 3]) -> Self {
        Self { fields, ..self }
    }

    /// As [`Header::encode`], for a payload whose place follows.
    pub(crate) fn encode_shared(&self, encoding: Encoding, length: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = self.encode(encoding, length);
        bytes[ENCODING_AT] |= SHARED;
        bytes
    }

    pub(crate) fn encode(&self, encoding: Encoding, length: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&length.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.kind.0.to_le_bytes());
        bytes[ENCODING_AT] = encoding as u8;
        bytes[7] = self.flags;
        bytes[8..].copy_from_slice(cast_slice(&self.fields));
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Decoded, HeaderError> {
        let code = bytes[ENCODING_AT];
        Ok(Decoded {
            length: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            encoding: Encoding::from_code(code & !SHARED)
                .ok_or(HeaderError::UnknownEncoding(code))?,
            is_shared: code & SHARED != 0,
            header: Self {
                kind: Kind(u16::from_le_bytes([bytes[4], bytes[5]])),
                flags: bytes[7],
                fields: [8, 16, 24].map(|at| long(bytes, at)),
            },
        })
    }
}

/// A header as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) header: Header,
    pub(crate) encoding: Encoding,
    pub(crate) length: u32,
    /// Whether the payload lies in shared memory, and its place follows.
    pub(crate) is_shared: bool,
}

/// Where a header names the encoding.
pub(crate) const ENCODING_AT: usize = 6;

/// Added to an encoding.
const SHARED: u8 = 128;

/// Bytes of a place in shared memory.
pub(crate) const PLACE_BYTES: usize = 8;

/// Why bytes are no header.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HeaderError {
    /// A payload layout of another version, or no frame at all.
    #[error("unknown encoding {0} of a frame")]
    UnknownEncoding(u8),
}

fn long(bytes: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// A frame's payload: slices of the caller's when sending, of the connection's
/// buffer when receiving.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload<'a> {
    /// Bytes to which the kind gives a meaning, or none.
    Bytes(&'a [u8]),
    /// Consecutive numbers.
    Dense(&'a [f32]),
    /// Consecutive numbers from two places, which arrive as
    /// [`Payload::Dense`].
    Joined(&'a [f32], &'a [f32]),
    /// Consecutive half-precision numbers, as their bits.
    Half(&'a [u16]),
    /// Whole rows of a matrix.
    Rows {
        /// Numbers in a row.
        width: u32,
        /// Which rows.
        rows: &'a [u32],
        /// `rows.len() * width` numbers.
        values: &'a [f32],
    },
    /// Single numbers.
    Sparse {
        /// Where.
        indices: &'a [u32],
        /// As many numbers.
        values: &'a [f32],
    },
}

/// Why a payload contradicts its own layout.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PayloadError {
    /// The length is no multiple of what the encoding holds.
    #[error("{length} bytes are no payload of encoding {encoding:?}")]
    Length {
        /// The encoding.
        encoding: Encoding,
        /// The payload's length in bytes.
        length: usize,
    },
    /// The numbers of rows, columns and values do not fit each other.
    #[error("{values} values are not {rows} rows of {width}")]
    Shape {
        /// How many rows are named.
        rows: usize,
        /// Numbers in each.
        width: u32,
        /// How many numbers there are.
        values: usize,
    },
    /// The payload exceeds the 4 GiB that a length can name.
    #[error("{0} bytes exceed a frame")]
    TooLong(usize),
}

/// Rows begin with their number and their width.
const ROWS_PREFIX: usize = 8;

impl<'a> Payload<'a> {
    /// No payload.
    pub const NONE: Payload<'static> = Payload::Bytes(&[]);

    /// How the payload is laid out.
    pub fn encoding(&self) -> Encoding {
        match self {
            Self::Bytes(_) => Encoding::Bytes,
            Self::Dense(_) | Self::Joined(..) => Encoding::Dense,
            Self::Half(_) => Encoding::Half,
            Self::Rows { .. } => Encoding::Rows,
            Self::Sparse { .. } => Encoding::Sparse,
        }
    }

    /// The payload as it travels, or what it contradicts.
    pub(crate) fn parts(self) -> Result<Parts<'a>, PayloadError> {
        let (prefix, slices): (Option<[u32; 2]>, [&'a [u8]; 2]) = match self {
            Self::Bytes(bytes) => (None, [bytes, &[]]),
            Self::Dense(values) => (None, [cast_slice(values), &[]]),
            Self::Joined(first, second) => (None, [cast_slice(first), cast_slice(second)]),
            Self::Half(values) => (None, [cast_slice(values), &[]]),
            Self::Rows {
                width,
                rows,
                values,
            } => {
                check_shape(rows.len(), width, values.len())?;
                let count = u32::try_from(rows.len())
                    .map_err(|_| PayloadError::TooLong(rows.len().saturating_mul(4)))?;
                (Some([count, width]), [cast_slice(rows), cast_slice(values)])
            }
            Self::Sparse { indices, values } => {
                check_shape(indices.len(), 1, values.len())?;
                (None, [cast_slice(indices), cast_slice(values)])
            }
        };
        let prefix_bytes = if prefix.is_some() { ROWS_PREFIX } else { 0 };
        let total = prefix_bytes + slices[0].len() + slices[1].len();
        Ok(Parts {
            encoding: self.encoding(),
            length: u32::try_from(total).map_err(|_| PayloadError::TooLong(total))?,
            prefix,
            slices,
        })
    }

    /// The payload of `length` bytes at the beginning of `words`.
    pub(crate) fn view(
        encoding: Encoding,
        words: &'a [u32],
        length: usize,
    ) -> Result<Self, PayloadError> {
        let odd = || PayloadError::Length { encoding, length };
        let bytes = &cast_slice::<u32, u8>(words)[..length];
        let whole_words = || {
            if length.is_multiple_of(4) {
                Ok(&words[..length / 4])
            } else {
                Err(odd())
            }
        };
        match encoding {
            Encoding::Bytes => Ok(Self::Bytes(bytes)),
            Encoding::Dense => Ok(Self::Dense(cast_slice(whole_words()?))),
            Encoding::Half => try_cast_slice(bytes).map(Self::Half).map_err(|_| odd()),
            Encoding::Rows => {
                let words = whole_words()?;
                let &[count, width, ref rest @ ..] = words else {
                    return Err(odd());
                };
                let count = count as usize;
                let (rows, values) = rest.split_at_checked(count).ok_or_else(odd)?;
                check_shape(count, width, values.len())?;
                Ok(Self::Rows {
                    width,
                    rows,
                    values: cast_slice(values),
                })
            }
            Encoding::Sparse => {
                let words = whole_words()?;
                if !words.len().is_multiple_of(2) {
                    return Err(odd());
                }
                let (indices, values) = words.split_at(words.len() / 2);
                Ok(Self::Sparse {
                    indices,
                    values: cast_slice(values),
                })
            }
        }
    }
}

fn check_shape(rows: usize, width: u32, values: usize) -> Result<(), PayloadError> {
    if rows.checked_mul(width as usize) == Some(values) {
        Ok(())
    } else {
        Err(PayloadError::Shape {
            rows,
            width,
            values,
        })
    }
}

/// A payload cut into what a vectored write takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) encoding: Encoding,
    pub(crate) length: u32,
    prefix: Option<[u32; 2]>,
    slices: [&'a [u8]; 2],
}

impl Parts<'_> {
    /// The payload's bytes, in three pieces.
    pub(crate) fn body(&self) -> [&[u8]; 3] {
        let prefix = self
            .prefix
            .as_ref()
            .map_or(&[][..], |numbers| cast_slice(numbers));
        [prefix, self.slices[0], self.slices[1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header's bytes as documented, against every field's place.
    #[test]
    fn the_header_lies_as_documented() {
        let header = Header::new(Kind(0x0605)).with_flags(7).with_fields([
            0x0807_0605_0403_0201,
            0x2423_2221_1413_1211,
            0x3837_3635_3433_3231,
        ]);
        let expected: [u8; 32] = [
            0x44, 0x43, 0x42, 0x41, 5, 6, 3, 7, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14,
            0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
        ];
        assert_eq!(header.encode(Encoding::Rows, 0x4142_4344), expected);
    }

    #[test]
    fn an_encoding_of_another_version_is_refused() {
        let mut bytes = Header::new(Kind(9)).encode(Encoding::Bytes, 0);
        for code in [5, 126, 128 + 5] {
            bytes[ENCODING_AT] = code;
            assert_eq!(
                Header::decode(&bytes),
                Err(HeaderError::UnknownEncoding(code))
            );
        }
    }

    fn check_refused(encoding: Encoding, words: &[u32], length: usize) {
        assert!(
            Payload::view(encoding, words, length).is_err(),
            "{encoding:?} {words:?}"
        );
    }

    #[test]
    fn payloads_that_contradict_themselves_are_refused() {
        check_refused(Encoding::Dense, &[0, 0], 5);
        check_refused(Encoding::Half, &[0], 3);
        check_refused(Encoding::Sparse, &[0, 0, 0], 12);
        check_refused(Encoding::Rows, &[1], 4);
        // Two rows of three need two indices and six numbers.
        check_refused(Encoding::Rows, &[2, 3, 0, 1, 9, 9, 9, 9, 9], 36);
        check_refused(Encoding::Rows, &[u32::MAX, u32::MAX, 0], 12);
        let wrong = Payload::Rows {
            width: 2,
            rows: &[1],
            values: &[0.0],
        };
        assert_eq!(
            wrong.parts().err(),
            Some(PayloadError::Shape {
                rows: 1,
                width: 2,
                values: 1
            })
        );
    }

    fn headers() -> impl Strategy<Value = Header> {
        any::<(u16, u8, [u64; 3])>().prop_map(|(kind, flags, fields)| Header {
            kind: Kind(kind),
            flags,
            fields,
        })
    }

    proptest! {
        #[test]
        fn a_header_survives_the_wire(header in headers(), length: u32) {
            let decoded = Header::decode(&header.encode(Encoding::Sparse, length)).unwrap();
            prop_assert_eq!(decoded, Decoded { header, encoding: Encoding::Sparse, length, is_shared: false });
        }

        #[test]
        fn no_bytes_make_decoding_panic(bytes: [u8; HEADER_BYTES], words: Vec<u32>, cut in 0usize..4, code in 0u8..5) {
            let _ = Header::decode(&bytes);
            let length = (words.len() * 4).saturating_sub(cut);
            let _ = Payload::view(Encoding::from_code(code).unwrap(), &words, length);
        }
    }
}
