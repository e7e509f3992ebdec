//! What is read of a connection before it is known what it is.

use std::io;

use crate::stream::Stream;

/// Bytes read ahead: a header and a small payload arrive by one system call.
#[derive(Debug)]
pub(crate) struct Staged {
    bytes: Box<[u8; STAGED_BYTES]>,
    start: usize,
    end: usize,
}

/// Room for control frames, yet little to copy of a large payload.
const STAGED_BYTES: usize = 4096;

impl Default for Staged {
    fn default() -> Self {
        Self {
            bytes: Box::new([0; STAGED_BYTES]),
            start: 0,
            end: 0,
        }
    }
}

impl Staged {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let bytes = *self.bytes[self.start..self.end].first_chunk()?;
        self.start += COUNT;
        Some(bytes)
    }

    pub(crate) fn take_into(&mut self, target: &mut [u8]) -> usize {
        let count = self.len().min(target.len());
        target[..count].copy_from_slice(&self.bytes[self.start..self.start + count]);
        self.start += count;
        count
    }

    pub(crate) fn read_more(&mut self, stream: &Stream) -> io::Result<Option<usize>> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let count = stream.try_read(&mut self.bytes[self.end..])?;
        self.end += count.unwrap_or(0);
        Ok(count)
    }
}
