//! IDX, the format of MNIST: a magic number with the type and the number of
//! dimensions, the dimensions as big-endian 32-bit numbers, the values.

use std::io::Read;

use crate::dataset::Features;
use crate::error::{OpenDataError, Position, Unexpected, excerpt};
use crate::source::Source;

/// The unsigned bytes of an IDX file and their dimensions.
#[derive(Debug)]
pub(crate) struct Idx {
    pub(crate) dimensions: Vec<usize>,
    pub(crate) values: Vec<u8>,
}

/// The type code of unsigned bytes, the only one that images and labels use.
const UNSIGNED_BYTE: u8 = 0x08;

/// Memory is reserved by what a file has shown to hold, not by what its
/// header claims, beyond this many bytes.
const TRUSTED_BYTES: usize = 1 << 26;

pub(crate) fn read(source: &mut Source<'_>) -> Result<Idx, OpenDataError> {
    let mut magic = [0; 4];
    source.fill(&mut magic, 0, "an IDX header of 4 bytes")?;
    let [0, 0, code, rank] = magic else {
        let what = Unexpected::new(
            "an IDX header, which begins with two zero bytes",
            excerpt(&magic),
        );
        return Err(source.malformed(what, Position::Byte(0)));
    };
    if code != UNSIGNED_BYTE {
        let what = Unexpected::new(
            "the type code 0x08 (unsigned bytes)",
            format!("0x{code:02x}"),
        );
        return Err(source.malformed(what, Position::Byte(2)));
    }
    if rank == 0 {
        let what = Unexpected::new("at least one dimension", "none");
        return Err(source.malformed(what, Position::Byte(3)));
    }
    let mut dimensions = Vec::with_capacity(rank.into());
    for place in 1..=u64::from(rank) {
        let mut dimension = [0; 4];
        source.fill(&mut dimension, 4 * place, "the size of a dimension")?;
        dimensions.push(u32::from_be_bytes(dimension) as usize);
    }
    let size = dimensions
        .iter()
        .try_fold(1_usize, |size, dimension| size.checked_mul(*dimension))
        .filter(|size| isize::try_from(*size).is_ok())
        .ok_or_else(|| {
            let what =
                Unexpected::new("dimensions that memory can hold", format!("{dimensions:?}"));
            source.malformed(what, Position::Byte(4))
        })?;
    // One byte more than promised is asked for, so that surplus bytes and a
    // broken end of the compressed stream are noticed.
    let mut values = Vec::with_capacity(size.min(TRUSTED_BYTES) + 1);
    source
        .by_ref()
        .take(size as u64 + 1)
        .read_to_end(&mut values)
        .map_err(|error| source.failed(error))?;
    if values.len() != size {
        let found = if values.len() < size {
            format!("the end of the file after {}", values.len())
        } else {
            "more bytes after them".into()
        };
        let what = Unexpected::new(format!("{size} values, as {dimensions:?} promise"), found);
        let header = 4 + 4 * u64::from(rank);
        let surplus = header + values.len().min(size) as u64;
        return Err(source.malformed(what, Position::Byte(surplus)));
    }
    Ok(Idx { dimensions, values })
}

impl Idx {
    /// The first dimension as rows, the others as the values of a row.
    pub(crate) fn into_features(self, source: &Source<'_>) -> Result<Features, OpenDataError> {
        let width: usize = self.dimensions[1..].iter().product();
        if self.dimensions.len() < 2 || width == 0 {
            let what = Unexpected::new(
                "two or more dimensions (rows and what a row holds)",
                format!("{:?}", self.dimensions),
            );
            return Err(source.malformed(what, Position::Byte(3)));
        }
        Ok(Features::Bytes {
            values: self.values.into(),
            width,
            scale: 1.0 / 255.0,
        })
    }

    /// One dimension as labels.
    pub(crate) fn into_labels(self, source: &Source<'_>) -> Result<Vec<u8>, OpenDataError> {
        if self.dimensions.len() == 1 {
            return Ok(self.values);
        }
        let what = Unexpected::new(
            "labels, which have one dimension",
            format!("{} dimensions", self.dimensions.len()),
        );
        Err(source.malformed(what, Position::Byte(3)))
    }
}
