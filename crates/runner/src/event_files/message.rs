//! Numbers in an event: what of TensorFlow's `Event` message is a metric.
//!
//! Only the fields that numbers stand in are read, by their numbers in
//! `event.proto`, `summary.proto` and `tensor.proto`; all others are passed over, so
//! that newer writers do not disturb.

/// What one event holds of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Told {
    /// Seconds since 1970, by the writer's clock.
    pub(crate) wall_time: f64,
    /// The step that the writer named; zero if it named none.
    pub(crate) step: i64,
    /// Tags and values.
    pub(crate) scalars: Vec<(String, f64)>,
}

/// Reads an event. `None` if it is no such message.
pub(crate) fn event(bytes: &[u8]) -> Option<Told> {
    let mut told = Told::default();
    for field in Fields(bytes) {
        match field? {
            (1, Wire::Eight(bits)) => told.wall_time = f64::from_bits(bits),
            (2, Wire::Number(step)) => told.step = step.cast_signed(),
            (5, Wire::Bytes(summary)) => {
                for field in Fields(summary) {
                    if let (1, Wire::Bytes(value)) = field? {
                        told.scalars.extend(scalar(value)?);
                    }
                }
            }
            _ => {}
        }
    }
    Some(told)
}

/// A value of a summary: nothing if it is a picture, a histogram or text.
fn scalar(bytes: &[u8]) -> Option<Option<(String, f64)>> {
    let (mut tag, mut simple, mut of_tensor, mut plugin) = (None, None, None, None);
    for field in Fields(bytes) {
        match field? {
            (1, Wire::Bytes(text)) => tag = std::str::from_utf8(text).ok(),
            (2, Wire::Four(bits)) => simple = Some(f64::from(f32::from_bits(bits))),
            (8, Wire::Bytes(bytes)) => of_tensor = tensor(bytes)?,
            (9, Wire::Bytes(metadata)) => plugin = plugin_name(metadata)?,
            _ => {}
        }
    }
    // A tensor of another plugin may be one number as well: a threshold, a count.
    let is_scalar = plugin.is_none_or(|plugin| plugin == b"scalars");
    let value = simple.or(of_tensor.filter(|_| is_scalar));
    Some(tag.map(str::to_owned).zip(value))
}

/// Whose value it is: `SummaryMetadata.plugin_data.plugin_name`.
fn plugin_name(bytes: &[u8]) -> Option<Option<&[u8]>> {
    let mut found = None;
    for field in Fields(bytes) {
        if let (1, Wire::Bytes(data)) = field? {
            for field in Fields(data) {
                if let (1, Wire::Bytes(name)) = field? {
                    found = Some(name).filter(|name| !name.is_empty());
                }
            }
        }
    }
    Some(found)
}

/// The one number of a tensor; nothing if it has several or none.
fn tensor(bytes: &[u8]) -> Option<Option<f64>> {
    let mut kind = 0;
    let mut content: &[u8] = &[];
    let mut values = Vec::new();
    let mut elements: u64 = 1;
    for field in Fields(bytes) {
        match field? {
            (1, Wire::Number(number)) => kind = number,
            (2, Wire::Bytes(shape)) => elements = size(shape)?,
            (4, Wire::Bytes(bytes)) => content = bytes,
            (5, Wire::Four(bits)) => values.push(f64::from(f32::from_bits(bits))),
            (5, Wire::Bytes(packed)) => values.extend(each(packed, f32::from_le_bytes)),
            (6, Wire::Eight(bits)) => values.push(f64::from_bits(bits)),
            (6, Wire::Bytes(packed)) => values.extend(each(packed, f64::from_le_bytes)),
            // int_val, int64_val and bool_val: whole numbers, alone or packed.
            (7 | 10 | 11, Wire::Number(number)) => values.push(number.cast_signed() as f64),
            (7 | 10 | 11, Wire::Bytes(mut packed)) => {
                while !packed.is_empty() {
                    values.push(varint(&mut packed)?.cast_signed() as f64);
                }
            }
            // half_val holds the bits of half-precision numbers.
            (13, Wire::Number(bits)) => values.extend(half(kind, bits as u16)),
            (13, Wire::Bytes(mut packed)) => {
                while !packed.is_empty() {
                    values.extend(half(kind, varint(&mut packed)? as u16));
                }
            }
            _ => {}
        }
    }
    if values.is_empty() {
        values = match kind {
            1 => each(content, f32::from_le_bytes),
            2 => each(content, f64::from_le_bytes),
            3 => each(content, i32::from_le_bytes),
            9 => each(content, |bytes| i64::from_le_bytes(bytes) as f64),
            14 | 19 => each(content, u16::from_le_bytes)
                .into_iter()
                .filter_map(|bits: f64| half(kind, bits as u16))
                .collect(),
            _ => Vec::new(),
        };
    }
    Some(match values[..] {
        [value] if elements == 1 => Some(value),
        _ => None,
    })
}

/// How many elements a shape has: those of a number, which has no dimensions, are one.
fn size(shape: &[u8]) -> Option<u64> {
    let mut elements: u64 = 1;
    for field in Fields(shape) {
        if let (2, Wire::Bytes(dimension)) = field? {
            let mut length = 0;
            for field in Fields(dimension) {
                if let (1, Wire::Number(number)) = field? {
                    length = number;
                }
            }
            elements = elements.saturating_mul(length);
        }
    }
    Some(elements)
}

fn each<const N: usize, T: Into<f64>>(bytes: &[u8], number: fn([u8; N]) -> T) -> Vec<f64> {
    let chunks = bytes.as_chunks::<N>().0.iter();
    chunks.map(|chunk| number(*chunk).into()).collect()
}

/// A number of 16 bits: bfloat16 (type 14) or IEEE's binary16 (type 19).
fn half(kind: u64, bits: u16) -> Option<f64> {
    if kind == 14 {
        return Some(f64::from(f32::from_bits(u32::from(bits) << 16)));
    }
    if kind != 19 {
        return None;
    }
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let exponent = i32::from(bits >> 10 & 0x1f);
    Some(
        sign * match (exponent, fraction == 0.0) {
            (31, true) => f64::INFINITY,
            (31, false) => f64::NAN,
            (0, _) => fraction * 2_f64.powi(-14),
            _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
        },
    )
}

/// A field's value as it stands in the bytes.
enum Wire<'a> {
    Number(u64),
    Eight(u64),
    Four(u32),
    Bytes(&'a [u8]),
}

/// The fields of a message; `None` where the bytes are no message.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, Wire<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = field(&mut self.0);
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Wire<'a>)> {
    let key = varint(bytes)?;
    let wire = match key & 7 {
        0 => Wire::Number(varint(bytes)?),
        1 => Wire::Eight(u64::from_le_bytes(*bytes.split_off(..8)?.first_chunk()?)),
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            Wire::Bytes(bytes.split_off(..length)?)
        }
        5 => Wire::Four(u32::from_le_bytes(*bytes.split_off(..4)?.first_chunk()?)),
        _ => return None,
    };
    Some((key >> 3, wire))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_are_read_by_their_bits() {
        assert_eq!(half(19, 0x3c00), Some(1.0));
        assert_eq!(half(19, 0xc000), Some(-2.0));
        assert_eq!(half(19, 0x0001), Some(2_f64.powi(-24)));
        assert_eq!(half(19, 0x7c00), Some(f64::INFINITY));
        assert!(half(19, 0x7e00).is_some_and(f64::is_nan));
        assert_eq!(half(14, 0x3fc0), Some(1.5));
        assert_eq!(half(1, 0x3c00), None);
    }

    #[test]
    fn a_step_below_zero_is_read_as_it_is_written() {
        let bytes = [16, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(event(&bytes).map(|told| told.step), Some(-1));
    }

    #[test]
    fn a_tensor_of_several_numbers_is_no_metric() {
        // dtype float, float_val = [1.0, 2.0] packed.
        let two = [8, 1, 0x2a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40];
        assert_eq!(tensor(&two), Some(None));
        assert_eq!(tensor(&two[..4]), None);
        let one = [8, 1, 0x2a, 4, 0, 0, 0x80, 0x3f];
        assert_eq!(tensor(&one), Some(Some(1.0)));
    }

    proptest! {
        #[test]
        fn no_bytes_can_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = event(&bytes);
            let _ = tensor(&bytes);
        }
    }
}
