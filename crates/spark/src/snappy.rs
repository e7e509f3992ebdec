//! The stream that Spark's snappy codec writes: a header of sixteen bytes, then
//! blocks of raw snappy, each with its length before it, big end first.

use std::io::{self, Read};

/// How such a stream begins.
pub(crate) const MAGIC: &[u8] = b"\x82SNAPPY\0";
const HEADER: usize = 16;
/// Spark's blocks have 32 KiB; what claims to be larger is damaged.
const LARGEST: usize = 64 << 20;

/// Decompresses while it is read.
pub(crate) struct Unsnap<R> {
    inner: R,
    block: Vec<u8>,
    at: usize,
}

impl<R: Read> Unsnap<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            block: Vec::new(),
            at: 0,
        }
    }

    /// Reads the next block; false at the end of the stream.
    fn next(&mut self) -> io::Result<bool> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        loop {
            let mut length = [0; 4];
            match self.inner.read(&mut length[..1])? {
                0 => return Ok(false),
                _ => self.inner.read_exact(&mut length[1..])?,
            }
            // A stream that was continued has its header again.
            if length[..] == MAGIC[..4] {
                let mut rest = [0; HEADER - 4];
                self.inner.read_exact(&mut rest)?;
                continue;
            }
            let length = u32::from_be_bytes(length) as usize;
            if length > LARGEST {
                return Err(damaged("a block of snappy is too long"));
            }
            let mut bytes = vec![0; length];
            self.inner.read_exact(&mut bytes)?;
            let size =
                snap::raw::decompress_len(&bytes).map_err(|error| damaged(&error.to_string()))?;
            if size > LARGEST {
                return Err(damaged("a block of snappy holds too much"));
            }
            self.block = snap::raw::Decoder::new()
                .decompress_vec(&bytes)
                .map_err(|error| damaged(&error.to_string()))?;
            self.at = 0;
            return Ok(true);
        }
    }
}

impl<R: Read> Read for Unsnap<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            if into.is_empty() || !self.next()? {
                return Ok(0);
            }
        }
        let count = into.len().min(self.block.len() - self.at);
        into[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(parts: &[&[u8]]) -> Vec<u8> {
        let mut bytes = [MAGIC, &[0, 0, 0, 1, 0, 0, 0, 1]].concat();
        for part in parts {
            let block = snap::raw::Encoder::new().compress_vec(part).unwrap();
            bytes.extend(u32::try_from(block.len()).unwrap().to_be_bytes());
            bytes.extend(block);
        }
        bytes
    }

    #[test]
    fn blocks_and_continued_streams_come_out_as_they_went_in() {
        let mut bytes = stream(&[b"one ", b"", b"two "]);
        bytes.extend(stream(&[b"three"]));
        let mut text = String::new();
        Unsnap::new(&bytes[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two three");
    }

    #[test]
    fn every_cut_and_every_wrong_byte_ends_in_text_or_an_error() {
        let bytes = stream(&[b"something of some length", b"more of it"]);
        for cut in 0..bytes.len() {
            let _ = Unsnap::new(&bytes[..cut]).read_to_end(&mut Vec::new());
            let mut wrong = bytes.clone();
            wrong[cut] ^= 0xff;
            let _ = Unsnap::new(&wrong[..]).read_to_end(&mut Vec::new());
        }
    }
}
