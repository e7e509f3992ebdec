//! The file of a cache entry: a header, a directory that describes the data
//! sets, and their arrays, each at a multiple of 64 bytes.
//!
//! Numbers are in the machine's own byte order, which the header names. Header,
//! directory and every array carry a checksum (XXH3, 64 bits).

use std::io::{self, Write};
use std::sync::Arc;

use twox_hash::XxHash3_64;
use zerocopy::IntoBytes;

use super::key::Key;
use crate::csr::Csr;
use crate::dataset::{DataSet, Features, Labels};
use crate::mapped::Map;
use crate::shared::{Element, Shared};
use crate::text::TextEncoder;

const MAGIC: &[u8; 8] = b"PACEROWS";
/// Changes whenever entries written before must not be read.
const VERSION: u32 = 1;
const BYTE_ORDER: u32 = 0x0102_0304;
const HEADER_BYTES: usize = 64;
const ALIGNMENT: usize = 64;

const BYTES: u64 = 0;
const DENSE: u64 = 1;
const SPARSE: u64 = 2;
const TOKENS: u64 = 3;

pub(super) fn encode(file: &mut impl Write, key: Key, sets: &[DataSet]) -> io::Result<()> {
    let mut plan = Plan::default();
    plan.number(sets.len() as u64);
    for set in sets {
        plan.set(set);
    }
    let start = (HEADER_BYTES + plan.directory.len()).next_multiple_of(ALIGNMENT);
    let header = header(key, &plan.directory, (start + plan.length) as u64);
    file.write_all(&header)?;
    file.write_all(&plan.directory)?;
    let mut at = HEADER_BYTES + plan.directory.len();
    for (offset, bytes) in plan.arrays {
        let padding = [0; ALIGNMENT];
        file.write_all(&padding[..start + offset - at])?;
        file.write_all(bytes)?;
        at = start + offset + bytes.len();
    }
    Ok(())
}

fn header(key: Key, directory: &[u8], file_length: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_ne_bytes());
    header[12..16].copy_from_slice(&BYTE_ORDER.to_ne_bytes());
    header[16..32].copy_from_slice(&key.to_bytes());
    header[32..40].copy_from_slice(&(directory.len() as u64).to_ne_bytes());
    header[40..48].copy_from_slice(&file_length.to_ne_bytes());
    header[48..56].copy_from_slice(&XxHash3_64::oneshot(directory).to_ne_bytes());
    let checksum = XxHash3_64::oneshot(&header[..56]);
    header[56..].copy_from_slice(&checksum.to_ne_bytes());
    header
}

/// What will be written: the directory, and the arrays with their places
/// behind it.
#[derive(Default)]
struct Plan<'a> {
    directory: Vec<u8>,
    arrays: Vec<(usize, &'a [u8])>,
    length: usize,
}

impl<'a> Plan<'a> {
    fn number(&mut self, number: u64) {
        self.directory.extend_from_slice(&number.to_ne_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.directory.extend_from_slice(text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.number(texts.len() as u64);
        for text in texts {
            self.text(text);
        }
    }

    fn array<T: Element>(&mut self, values: &'a [T]) {
        let bytes = IntoBytes::as_bytes(values);
        let offset = self.length.next_multiple_of(ALIGNMENT);
        self.number(offset as u64);
        self.number(values.len() as u64);
        self.number(XxHash3_64::oneshot(bytes));
        self.arrays.push((offset, bytes));
        self.length = offset + bytes.len();
    }

    fn set(&mut self, set: &'a DataSet) {
        self.text(set.name());
        self.texts(set.labels().names());
        self.array(set.labels());
        match set.features() {
            Features::Bytes {
                values,
                width,
                scale,
            } => {
                self.number(BYTES);
                self.number(*width as u64);
                self.number(scale.to_bits().into());
                self.array(values);
            }
            Features::Dense { values, width } => {
                self.number(DENSE);
                self.number(*width as u64);
                self.array(values);
            }
            Features::Sparse(csr) => {
                self.number(SPARSE);
                self.number(csr.width() as u64);
                self.array(csr.indptr());
                self.array(csr.indices());
                self.array(csr.values());
            }
            Features::Tokens {
                ids,
                length,
                vocabulary,
            } => {
                self.number(TOKENS);
                self.number(*length as u64);
                self.number(*vocabulary as u64);
                self.array(ids);
            }
        }
        self.number(set.encoder().is_some().into());
        if let Some(encoder) = set.encoder() {
            self.text(&encoder.options().to_string());
            self.number(encoder.length() as u64);
            self.texts(encoder.dictionary());
        }
    }
}

/// The data sets of an entry, or what is wrong with it.
pub(super) fn decode(map: &Arc<Map>, key: Key) -> Result<Vec<DataSet>, &'static str> {
    let bytes = map.bytes();
    let found = bytes.first_chunk().ok_or("it is too short")?;
    let word = |at: usize| {
        let word = bytes[at..at + 8].try_into().expect("eight bytes");
        u64::from_ne_bytes(word)
    };
    let directory = usize::try_from(word(32))
        .ok()
        .and_then(|length| bytes.get(HEADER_BYTES..HEADER_BYTES.checked_add(length)?))
        .ok_or("its directory is cut off")?;
    // All of the header follows from what is known and from the two lengths.
    let expected = header(key, directory, bytes.len() as u64);
    if *found != expected {
        return Err("its header or directory does not have its checksum");
    }
    let start = (HEADER_BYTES + directory.len()).next_multiple_of(ALIGNMENT);
    let mut plan = Directory {
        left: directory,
        start,
        map,
    };
    let count = plan.length()?;
    (0..count).map(|_| plan.set()).collect()
}

/// What is left to read of a directory.
struct Directory<'a> {
    left: &'a [u8],
    start: usize,
    map: &'a Arc<Map>,
}

const UNREADABLE: &str = "its directory is not understood";

impl Directory<'_> {
    fn number(&mut self) -> Result<u64, &'static str> {
        let (word, left) = self.left.split_first_chunk().ok_or(UNREADABLE)?;
        self.left = left;
        Ok(u64::from_ne_bytes(*word))
    }

    fn length(&mut self) -> Result<usize, &'static str> {
        usize::try_from(self.number()?).map_err(|_| UNREADABLE)
    }

    fn text(&mut self) -> Result<String, &'static str> {
        let length = self.length()?;
        let (text, left) = self.left.split_at_checked(length).ok_or(UNREADABLE)?;
        self.left = left;
        String::from_utf8(text.to_vec()).map_err(|_| UNREADABLE)
    }

    fn texts(&mut self) -> Result<Vec<String>, &'static str> {
        let count = self.length()?;
        (0..count).map(|_| self.text()).collect()
    }

    fn array<T: Element>(&mut self) -> Result<Shared<T>, &'static str> {
        let offset = self.length()?.checked_add(self.start).ok_or(UNREADABLE)?;
        let length = self.length()?;
        let checksum = self.number()?;
        let array = Shared::mapped(self.map, offset, length).ok_or(UNREADABLE)?;
        if XxHash3_64::oneshot(IntoBytes::as_bytes(&*array)) != checksum {
            return Err("an array does not have its checksum");
        }
        Ok(array)
    }

    fn set(&mut self) -> Result<DataSet, &'static str> {
        let name = self.text()?;
        let names = self.texts()?;
        let labels = self.array::<u32>()?;
        let labels = Labels::new(labels, names).map_err(|_| UNREADABLE)?;
        let features = match self.number()? {
            BYTES => {
                let width = self.length()?;
                let scale = u32::try_from(self.number()?).map_err(|_| UNREADABLE)?;
                Features::Bytes {
                    width,
                    scale: f32::from_bits(scale),
                    values: self.array()?,
                }
            }
            DENSE => Features::Dense {
                width: self.length()?,
                values: self.array()?,
            },
            SPARSE => {
                let width = self.length()?;
                let (indptr, indices) = (self.array::<u64>()?, self.array::<u32>()?);
                let values = self.array::<f32>()?;
                let csr = Csr::new(indptr, indices, values, width).map_err(|_| UNREADABLE)?;
                Features::Sparse(csr)
            }
            TOKENS => Features::Tokens {
                length: self.length()?,
                vocabulary: self.length()?,
                ids: self.array()?,
            },
            _ => return Err(UNREADABLE),
        };
        let set = DataSet::new(name, features, labels).map_err(|_| UNREADABLE)?;
        if self.number()? == 0 {
            return Ok(set);
        }
        let options = self.text()?.parse().map_err(|_| UNREADABLE)?;
        let length = self.length()?;
        let encoder = TextEncoder::new(options, length, self.texts()?).map_err(|_| UNREADABLE)?;
        Ok(set.with_encoder(Arc::new(encoder)))
    }
}
