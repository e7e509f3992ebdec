//! Text that carries its own checksum.
//!
//! A sealed JSON object has a last key, `"crc32"`, whose eight hexadecimal digits
//! are the CRC-32 (IEEE) of all text before the key's comma. Other tools read it
//! like any JSON; a bit that changed anywhere, or an end that is missing, is
//! found.

use std::fmt;

const KEY: &str = "\"crc32\":";
const DIGITS: usize = 8;

/// What a text turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// It has a checksum, and that is right.
    Whole,
    /// It has no checksum: it was never sealed, or its end is missing.
    Absent,
    /// It has a checksum, and that is another.
    Broken,
}

/// The text is no JSON object, so it has no place for a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnObject;

impl fmt::Display for NotAnObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only a JSON object with at least one key can be sealed")
    }
}

impl std::error::Error for NotAnObject {}

/// Adds the checksum to a JSON object with at least one key.
///
/// # Errors
/// If it is none.
pub fn seal(json: &str) -> Result<String, NotAnObject> {
    let body = json.trim_end().strip_suffix('}').ok_or(NotAnObject)?;
    let body = body.trim_end();
    if !body.starts_with('{') || body.len() == 1 {
        return Err(NotAnObject);
    }
    let sum = crc32fast::hash(body.as_bytes());
    // Indented text stays indented, a line stays a line.
    Ok(match body.contains('\n') {
        true => format!("{body},\n  {KEY} \"{sum:08x}\"\n}}\n"),
        false => format!("{body},{KEY} \"{sum:08x}\"}}\n"),
    })
}

/// Checks the checksum of a text.
#[must_use]
pub fn check(text: &[u8]) -> Seal {
    match split(text) {
        Some((body, digits)) => match format!("{:08x}", crc32fast::hash(body)).as_bytes() == digits
        {
            true => Seal::Whole,
            false => Seal::Broken,
        },
        None => Seal::Absent,
    }
}

/// What was sealed, and the digits: only in the one form that [`seal`] writes,
/// so that no bit of the text is without meaning.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let spread = text.strip_suffix(b"\"\n}\n");
    let (rest, before) = match spread {
        Some(rest) => (rest, format!(",\n  {KEY} \"")),
        None => (text.strip_suffix(b"\"}\n")?, format!(",{KEY} \"")),
    };
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    Some((rest.strip_suffix(before.as_bytes())?, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 2] = ["{\n  \"a\": 1,\n  \"b\": \"}\"\n}\n", "{\"a\":1}"];

    #[test]
    fn a_sealed_text_is_whole_and_any_changed_bit_is_found() {
        for text in TEXTS {
            let sealed = seal(text).unwrap();
            assert_eq!(check(sealed.as_bytes()), Seal::Whole);
            assert_eq!(check(text.as_bytes()), Seal::Absent);
            for bit in 0..sealed.len() * 8 {
                let mut changed = sealed.clone().into_bytes();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(check(&changed), Seal::Whole, "bit {bit}");
            }
            for length in 0..sealed.len() {
                assert_ne!(check(&sealed.as_bytes()[..length]), Seal::Whole);
            }
        }
    }

    #[test]
    fn what_is_no_object_cannot_be_sealed() {
        for text in ["", "{}", "[1]", "{", "1"] {
            assert_eq!(seal(text), Err(NotAnObject), "{text}");
        }
    }
}
