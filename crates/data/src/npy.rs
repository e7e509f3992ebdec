//! NumPy's `.npy` arrays (format versions 1 to 3).

use std::io::Read;

use crate::dataset::Features;
use crate::error::{OpenDataError, Position, Unexpected, excerpt};
use crate::source::Source;

/// The beginning of an array file, up to its first value.
#[derive(Debug)]
pub(crate) struct Header {
    kind: Kind,
    size: usize,
    big_endian: bool,
    pub(crate) shape: Vec<usize>,
    /// Where the values begin.
    start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Unsigned,
    Signed,
    Float,
}

pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy itself refuses longer headers unless told otherwise.
const LONGEST_HEADER: u32 = 1 << 16;
/// Values are converted through a buffer of this size, a multiple of eight.
const BUFFER_BYTES: usize = 1 << 16;
/// Memory is reserved by what a file has shown to hold beyond this size.
const TRUSTED_VALUES: usize = 1 << 24;

/// The rows of an array: its first dimension. Unsigned bytes stay bytes, as
/// grey values; all else becomes single precision.
pub(crate) fn read_features(source: &mut Source<'_>) -> Result<Features, OpenDataError> {
    let header = Header::read(source)?;
    let width = header.shape.iter().skip(1).product::<usize>();
    if header.shape.len() < 2 || width == 0 {
        let what = Unexpected::new(
            "two or more dimensions (rows and what a row holds)",
            format!("the shape {:?}", header.shape),
        );
        return Err(source.malformed(what, Position::Byte(0)));
    }
    if header.kind == Kind::Unsigned && header.size == 1 {
        let mut values = Vec::with_capacity(header.count().min(TRUSTED_VALUES));
        header.each_chunk(source, |bytes, _| {
            values.extend_from_slice(bytes);
            Ok(())
        })?;
        return Ok(Features::Bytes {
            values: values.into(),
            width,
            scale: 1.0 / 255.0,
        });
    }
    let mut values = Vec::with_capacity(header.count().min(TRUSTED_VALUES));
    header.each_number(source, |number| {
        let single = number as f32;
        values.push(single);
        single.is_finite()
    })?;
    Ok(Features::Dense {
        values: values.into(),
        width,
    })
}

/// The values of an array of one dimension, as texts of numbers.
pub(crate) fn read_labels(
    source: &mut Source<'_>,
    mut label: impl FnMut(&str) -> Result<(), Unexpected>,
) -> Result<(), OpenDataError> {
    let header = Header::read(source)?;
    let columns: usize = header.shape.iter().skip(1).product();
    if header.shape.is_empty() || columns != 1 {
        let what = Unexpected::new(
            "labels, which have one dimension",
            format!("the shape {:?}", header.shape),
        );
        return Err(source.malformed(what, Position::Byte(0)));
    }
    let mut problem = None;
    let read = header.each_number(source, |number| match label(&number.to_string()) {
        Ok(()) => number.is_finite(),
        Err(what) => {
            problem = Some(what);
            false
        }
    });
    match (read, problem) {
        (Err(_), Some(what)) => Err(source.malformed(what, Position::Byte(header.start))),
        (read, _) => read,
    }
}

impl Header {
    fn read(source: &mut Source<'_>) -> Result<Self, OpenDataError> {
        let mut fixed = [0; 8];
        source.fill(&mut fixed, 0, "the header of a .npy file")?;
        if !fixed.starts_with(MAGIC) {
            let what = Unexpected::new("`\\x93NUMPY` at the beginning", excerpt(&fixed));
            return Err(source.malformed(what, Position::Byte(0)));
        }
        let (length, start) = match fixed[6] {
            1 => {
                let mut length = [0; 2];
                source.fill(&mut length, 8, "the length of the header")?;
                (u32::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                source.fill(&mut length, 8, "the length of the header")?;
                (u32::from_le_bytes(length), 12)
            }
            version => {
                let what = Unexpected::new("version 1, 2 or 3 of the format", version.to_string());
                return Err(source.malformed(what, Position::Byte(6)));
            }
        };
        if length > LONGEST_HEADER {
            let what = Unexpected::new("a header of at most 65,536 bytes", length.to_string());
            return Err(source.malformed(what, Position::Byte(8)));
        }
        let mut text = vec![0; length as usize];
        source.fill(&mut text, start, "the rest of the header")?;
        let text = String::from_utf8_lossy(&text);
        Self::parse(&text, start + u64::from(length))
            .map_err(|what| source.malformed(what, Position::Byte(start)))
    }

    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
    fn parse(text: &str, start: u64) -> Result<Self, Unexpected> {
        let broken = |expected: &'static str| Unexpected::new(expected, excerpt(text.as_bytes()));
        let after = |key: &str| {
            let (_, rest) = text.split_once(key)?;
            rest.trim_start().strip_prefix(':').map(str::trim_start)
        };
        let descr = after("'descr'")
            .and_then(|rest| rest.strip_prefix('\''))
            .and_then(|rest| rest.split_once('\''))
            .map(|(descr, _)| descr)
            .ok_or_else(|| broken("a plain type in 'descr'"))?;
        let order = after("'fortran_order'").ok_or_else(|| broken("'fortran_order'"))?;
        if !order.starts_with("False") {
            return Err(Unexpected::new("rows one after the other", "Fortran order")
                .hint("save numpy.ascontiguousarray(array)"));
        }
        let shape = after("'shape'")
            .and_then(|rest| rest.strip_prefix('('))
            .and_then(|rest| rest.split_once(')'))
            .and_then(|(shape, _)| {
                let numbers = shape
                    .split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty());
                let numbers: Option<Vec<usize>> = numbers.map(|part| part.parse().ok()).collect();
                numbers
            })
            .ok_or_else(|| broken("a tuple of whole numbers in 'shape'"))?;
        let (kind, size, big_endian) = element(descr).ok_or_else(|| {
            Unexpected::new(
                "booleans, integers or floats of 4 or 8 bytes",
                format!("`{descr}`"),
            )
            .hint("save array.astype('float32')")
        })?;
        let bytes = shape
            .iter()
            .try_fold(size, |bytes, dimension| bytes.checked_mul(*dimension));
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(Unexpected::new(
                "dimensions that memory can hold",
                format!("{shape:?}"),
            ));
        }
        Ok(Self {
            kind,
            size,
            big_endian,
            shape,
            start,
        })
    }

    fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Hands out the raw values, some at a time, with their place.
    fn each_chunk(
        &self,
        source: &mut Source<'_>,
        mut chunk: impl FnMut(&[u8], u64) -> Result<(), (u64, Unexpected)>,
    ) -> Result<(), OpenDataError> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut left = self.count() * self.size;
        let mut at = self.start;
        while left > 0 {
            let part = &mut buffer[..left.min(BUFFER_BYTES)];
            source.fill(part, at, "as many values as the shape promises")?;
            chunk(part, at).map_err(|(at, what)| source.malformed(what, Position::Byte(at)))?;
            left -= part.len();
            at += part.len() as u64;
        }
        let mut surplus = [0];
        match source.read(&mut surplus) {
            Ok(0) => Ok(()),
            Ok(_) => {
                let what = Unexpected::new("the end of the file", "more bytes than the shape has");
                Err(source.malformed(what, Position::Byte(at)))
            }
            Err(error) => Err(source.failed(error)),
        }
    }

    /// Hands out the values as doubles until one is refused.
    fn each_number(
        &self,
        source: &mut Source<'_>,
        mut accept: impl FnMut(f64) -> bool,
    ) -> Result<(), OpenDataError> {
        let convert = self.conversion();
        let size = self.size;
        self.each_chunk(source, |bytes, start| {
            for (place, bytes) in bytes.chunks_exact(size).enumerate() {
                let number = convert(bytes);
                if !accept(number) {
                    let what = Unexpected::new("a finite number", number.to_string());
                    return Err((start + (place * size) as u64, what));
                }
            }
            Ok(())
        })
    }

    fn conversion(&self) -> impl Fn(&[u8]) -> f64 + use<> {
        let (kind, size, big_endian) = (self.kind, self.size, self.big_endian);
        move |bytes| {
            // Little-endian, padded to eight bytes.
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            if big_endian {
                word[..size].reverse();
            }
            let bits = u64::from_le_bytes(word);
            let unused = 64 - 8 * size as u32;
            match kind {
                Kind::Bool => f64::from(u8::from(bits != 0)),
                Kind::Unsigned => bits as f64,
                Kind::Signed => (((bits << unused) as i64) >> unused) as f64,
                Kind::Float if size == 4 => f64::from(f32::from_bits(bits as u32)),
                Kind::Float => f64::from_bits(bits),
            }
        }
    }
}

fn element(descr: &str) -> Option<(Kind, usize, bool)> {
    let (order, rest) = descr.split_at_checked(1)?;
    let big_endian = match order {
        "<" | "|" | "=" => false,
        ">" => true,
        _ => return None,
    };
    let (kind, size) = rest.split_at_checked(1)?;
    let (kind, sizes): (_, &[usize]) = match kind {
        "b" => (Kind::Bool, &[1]),
        "u" => (Kind::Unsigned, &[1, 2, 4, 8]),
        "i" => (Kind::Signed, &[1, 2, 4, 8]),
        "f" => (Kind::Float, &[4, 8]),
        _ => return None,
    };
    let size = size.parse().ok()?;
    sizes.contains(&size).then_some((kind, size, big_endian))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC, &[1, 0][..], &length, header.as_bytes(), values].concat()
    }

    fn features(bytes: &[u8]) -> Result<Features, OpenDataError> {
        read_features(&mut Source::embedded("x.npy", bytes))
    }

    fn dense(values: &[f32], width: usize) -> Features {
        Features::Dense {
            values: values.to_vec().into(),
            width,
        }
    }

    #[test]
    fn numbers_of_every_type_become_single_precision() {
        let f4: Vec<u8> = [1.5_f32, -2.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        assert_eq!(
            features(&file("<f4", "(1, 2)", &f4)).unwrap(),
            dense(&[1.5, -2.0], 2)
        );
        let f8: Vec<u8> = [0.5_f64, 3.0]
            .iter()
            .flat_map(|x| x.to_be_bytes())
            .collect();
        assert_eq!(
            features(&file(">f8", "(2, 1)", &f8)).unwrap(),
            dense(&[0.5, 3.0], 1)
        );
        let i2: Vec<u8> = [-3_i16, 700].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(
            features(&file("<i2", "(1, 2)", &i2)).unwrap(),
            dense(&[-3.0, 700.0], 2)
        );
        assert_eq!(
            features(&file("|b1", "(1, 2)", &[1, 0])).unwrap(),
            dense(&[1.0, 0.0], 2)
        );
    }

    #[test]
    fn unsigned_bytes_are_grey_values_of_any_shape() {
        let read = features(&file("|u1", "(1, 2, 2)", &[0, 255, 3, 4])).unwrap();
        let expected = Features::Bytes {
            values: vec![0, 255, 3, 4].into(),
            width: 4,
            scale: 1.0 / 255.0,
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn labels_come_as_texts() {
        let mut labels = Vec::new();
        let i8: Vec<u8> = [3_i64, -1].iter().flat_map(|x| x.to_le_bytes()).collect();
        read_labels(
            &mut Source::embedded("y.npy", &file("<i8", "(2,)", &i8)),
            |label| {
                labels.push(label.to_owned());
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(labels, ["3", "-1"]);
    }

    #[test]
    fn malformed_files_are_named_with_their_place() {
        let nan = f32::NAN.to_le_bytes();
        for (bytes, expected) in [
            (b"PK\x03\x04....".to_vec(), "byte 0: expected `\\x93NUMPY`"),
            (
                file("<f4", "(1, 2)", &[0; 7]),
                "expected as many values as the shape promises",
            ),
            (
                file("|u1", "(1, 2)", &[0; 3]),
                "expected the end of the file",
            ),
            (
                file("<f4", "(1, 1)", &nan),
                "expected a finite number, found NaN",
            ),
            (
                file("<c8", "(1, 1)", &[]),
                "expected booleans, integers or floats",
            ),
            (
                file("<f4", "(4,)", &[0; 16]),
                "expected two or more dimensions",
            ),
            (
                file("<f4", "(99999999999, 99999999999)", &[]),
                "expected dimensions that memory",
            ),
        ] {
            let error = features(&bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
