//! Lines of a stream, with memory bounded by the longest one.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use memchr::memchr;

use crate::error::{OpenDataError, Position, Unexpected};
use crate::source::Source;

/// Hands out one line after the other without its end (LF or CRLF).
pub(crate) struct Lines<'a> {
    source: Source<'a>,
    buffer: Vec<u8>,
    /// What of the buffer has been read and not handed out.
    start: usize,
    end: usize,
    exhausted: bool,
    number: u64,
}

/// A line and its number, counted from one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'b> {
    pub(crate) number: u64,
    pub(crate) bytes: &'b [u8],
}

const BUFFER_BYTES: usize = 1 << 18;
/// Longer lines mean that the file is not the text it is taken for.
const LONGEST_LINE_BYTES: usize = 1 << 28;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<'a> Lines<'a> {
    pub(crate) fn new(source: Source<'a>) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            exhausted: false,
            number: 0,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.source.path().to_path_buf()
    }

    /// The next line, or nothing at the end of the stream.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, OpenDataError> {
        let mut searched = self.start;
        let (bytes, next) = loop {
            if let Some(found) = memchr(b'\n', &self.buffer[searched..self.end]) {
                let end = searched + found;
                break (self.start..end, end + 1);
            }
            searched = self.end;
            if self.exhausted {
                if self.start == self.end {
                    return Ok(None);
                }
                break (self.start..self.end, self.end);
            }
            searched -= self.refill()?;
        };
        self.start = next;
        self.number += 1;
        let mut bytes = &self.buffer[bytes];
        if let [line @ .., b'\r'] = bytes {
            bytes = line;
        }
        if self.number == 1 {
            bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        }
        Ok(Some(Line {
            number: self.number,
            bytes,
        }))
    }

    /// Reads on behind the unfinished line; returns by how much that line was
    /// moved towards the front of the buffer.
    fn refill(&mut self) -> Result<usize, OpenDataError> {
        let moved = self.start;
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= moved;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end >= LONGEST_LINE_BYTES {
                let what =
                    Unexpected::new("the end of a line within 256 MiB", "more bytes without one");
                return Err(self.source.malformed(
                    what,
                    Position::Line {
                        line: self.number + 1,
                        column: self.end as u64 + 1,
                    },
                ));
            }
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.exhausted = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.source.failed(error)),
            }
            return Ok(moved);
        }
    }
}

impl Line<'_> {
    /// An error at a byte of this line, counted from zero.
    pub(crate) fn malformed(&self, path: &Path, byte: usize, what: Unexpected) -> OpenDataError {
        what.at(
            path,
            Position::Line {
                line: self.number,
                column: byte as u64 + 1,
            },
        )
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(Source::embedded("test", bytes));
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(line.bytes.to_vec());
        }
        all
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_are_not_part_of_a_line() {
        assert_eq!(
            lines(b"\xef\xbb\xbfa\r\nb\n\nc"),
            [&b"a"[..], b"b", b"", b"c"]
        );
        assert_eq!(lines(b"a\n"), [b"a"]);
        assert_eq!(lines(b""), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn lines_longer_than_the_buffer_are_whole() {
        let long = vec![b'x'; 3 * BUFFER_BYTES + 7];
        let text = [&b"first\n"[..], &long, b"\nlast"].concat();
        assert_eq!(lines(&text), [b"first".to_vec(), long, b"last".to_vec()]);
    }
}
