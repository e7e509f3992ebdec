//! Numbers and texts in a payload of bytes.

use paceline_nets::Tally;

use super::{MOST_COUNT, ProtocolError};

/// Writes numbers and texts one after the other.
pub(super) struct Writer<'a>(&'a mut Vec<u8>);

impl<'a> Writer<'a> {
    /// Begins anew in `room`.
    pub(super) fn new(room: &'a mut Vec<u8>) -> Self {
        room.clear();
        Self(room)
    }

    pub(super) fn long(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// A text behind its length.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.long(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    pub(super) fn tally(&mut self, tally: Tally) -> &mut Self {
        self.long(tally.loss.to_bits())
            .long(tally.hits)
            .long(tally.rows)
    }
}

/// Reads what [`Writer`] wrote.
pub(super) struct Reader<'a> {
    name: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads the payload of the message `name`.
    pub(super) fn new(name: &'static str, bytes: &'a [u8]) -> Self {
        Self { name, rest: bytes }
    }

    pub(super) fn malformed(&self, what: &'static str) -> ProtocolError {
        ProtocolError::Malformed {
            name: self.name,
            what,
        }
    }

    pub(super) fn long(&mut self) -> Result<u64, ProtocolError> {
        let (number, rest) = self
            .rest
            .split_first_chunk()
            .ok_or_else(|| self.malformed("it is too short"))?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// A number of steps, rows, bytes.
    pub(super) fn count(&mut self) -> Result<u64, ProtocolError> {
        let number = self.long()?;
        match number <= MOST_COUNT {
            true => Ok(number),
            false => Err(self.malformed("a number is too large")),
        }
    }

    pub(super) fn word(&mut self) -> Result<u32, ProtocolError> {
        let number = self.long()?;
        u32::try_from(number).map_err(|_| self.malformed("a number is too large"))
    }

    pub(super) fn text(&mut self) -> Result<&'a str, ProtocolError> {
        let length = self.long()?;
        let (text, rest) = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length))
            .ok_or_else(|| self.malformed("a text is cut off"))?;
        self.rest = rest;
        str::from_utf8(text).map_err(|_| self.malformed("its text is not UTF-8"))
    }

    pub(super) fn tally(&mut self) -> Result<Tally, ProtocolError> {
        Ok(Tally {
            loss: f64::from_bits(self.long()?),
            hits: self.count()?,
            rows: self.count()?,
        })
    }

    /// How many numbers are left, at most.
    pub(super) fn numbers_left(&self) -> usize {
        self.rest.len() / size_of::<u64>()
    }

    /// Nothing may be left.
    pub(super) fn done(self) -> Result<(), ProtocolError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.malformed("it is too long"))
        }
    }
}
