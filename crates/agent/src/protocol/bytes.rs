//! Numbers, texts and bytes in a payload.

use super::ProtocolError;

/// Writes values one after the other.
pub(super) struct Writer<'a>(pub(super) &'a mut Vec<u8>);

impl Writer<'_> {
    pub(super) fn long(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn signed(&mut self, number: i64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn real(&mut self, number: f64) -> &mut Self {
        self.long(number.to_bits())
    }

    /// A number that may be missing.
    pub(super) fn maybe(&mut self, number: Option<u64>) -> &mut Self {
        self.0.push(u8::from(number.is_some()));
        self.long(number.unwrap_or(0))
    }

    /// Bytes behind their length.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.long(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(super) fn maybe_text(&mut self, text: Option<&str>) -> &mut Self {
        self.0.push(u8::from(text.is_some()));
        self.text(text.unwrap_or(""))
    }
}

/// Reads what [`Writer`] wrote.
pub(super) struct Reader<'a> {
    name: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(name: &'static str, bytes: &'a [u8]) -> Self {
        Self { name, rest: bytes }
    }

    pub(super) fn malformed(&self, what: &'static str) -> ProtocolError {
        ProtocolError::Malformed {
            name: self.name,
            what,
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (taken, rest) = self
            .rest
            .split_first_chunk()
            .ok_or_else(|| self.malformed("it is too short"))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn long(&mut self) -> Result<u64, ProtocolError> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn signed(&mut self) -> Result<i64, ProtocolError> {
        self.take().map(i64::from_le_bytes)
    }

    pub(super) fn real(&mut self) -> Result<f64, ProtocolError> {
        self.long().map(f64::from_bits)
    }

    pub(super) fn word(&mut self) -> Result<u32, ProtocolError> {
        let number = self.long()?;
        u32::try_from(number).map_err(|_| self.malformed("a number is too large"))
    }

    pub(super) fn code(&mut self) -> Result<i32, ProtocolError> {
        let number = self.signed()?;
        i32::try_from(number).map_err(|_| self.malformed("a number is too large"))
    }

    pub(super) fn flag(&mut self) -> Result<bool, ProtocolError> {
        match self.take::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(self.malformed("it has an unknown mark")),
        }
    }

    pub(super) fn maybe(&mut self) -> Result<Option<u64>, ProtocolError> {
        let is_some = self.flag()?;
        let number = self.long()?;
        Ok(is_some.then_some(number))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], ProtocolError> {
        let length = self.long()?;
        let (bytes, rest) = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length))
            .ok_or_else(|| self.malformed("a text is cut off"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<String, ProtocolError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.malformed("its text is not UTF-8"))
    }

    pub(super) fn maybe_text(&mut self) -> Result<Option<String>, ProtocolError> {
        let is_some = self.flag()?;
        let text = self.text()?;
        Ok(is_some.then_some(text))
    }

    /// How many things there are, of which each takes at least `least` bytes.
    pub(super) fn count(&mut self, least: usize) -> Result<usize, ProtocolError> {
        let count = self.long()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() / least => Ok(count),
            _ => Err(self.malformed("it is too short for what it counts")),
        }
    }

    /// Everything that is left.
    pub(super) fn remainder(self) -> &'a [u8] {
        self.rest
    }

    /// Nothing may be left.
    pub(super) fn done<M>(self, message: M) -> Result<M, ProtocolError> {
        if self.rest.is_empty() {
            Ok(message)
        } else {
            Err(self.malformed("it is too long"))
        }
    }
}
