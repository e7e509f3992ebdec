//! The last lines a command printed, as plain text.

use super::escapes::Escapes;
use paceline_model::Stream;
use paceline_report::text::printable;
use std::collections::VecDeque;

/// How many lines can be scrolled back to; the record has all of them.
const MOST_LINES: usize = 500;
/// A line is cut here: no terminal shows more of it.
const MOST_BYTES: usize = 4096;

/// A line, as it was printed and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) stream: Stream,
    bytes: &'a [u8],
}

/// The lines that have ended and, of each stream, the one that has not.
///
/// Bytes are kept as they come and made readable when they are shown, because a
/// command may print a thousand times more than anybody sees, and must not have
/// to wait for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    ended: VecDeque<(Stream, Vec<u8>)>,
    out: Open,
    err: Open,
}

/// A line that is still being printed.
#[derive(Debug, Clone, Default)]
struct Open {
    bytes: Vec<u8>,
    /// The cursor is back at the line's begin: the next byte overwrites it,
    /// unless the line ends first. This is how progress bars move.
    returned: bool,
}

impl Log {
    /// Takes the next piece of a stream, cut anywhere.
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let mut rest = newest_lines(bytes);
        if rest.len() < bytes.len() {
            // The line that was open has ended among those that are passed over.
            *self.open(stream) = Open::default();
        }
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            self.end_line(stream, &rest[..end]);
            rest = &rest[end + 1..];
        }
        self.open(stream).extend(rest);
    }

    fn end_line(&mut self, stream: Stream, bytes: &[u8]) {
        // The oldest line's memory serves the newest.
        let mut line = match self.ended.len() {
            MOST_LINES => self.ended.pop_front().map(|(_, line)| line),
            _ => None,
        }
        .unwrap_or_default();
        line.clear();
        let open = self.open(stream);
        open.extend(bytes);
        line.extend_from_slice(&open.bytes);
        open.bytes.clear();
        open.returned = false;
        self.ended.push_back((stream, line));
    }

    fn open(&mut self, stream: Stream) -> &mut Open {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }

    /// All lines, oldest first; those that have not ended come last.
    pub(super) fn lines(&self) -> impl DoubleEndedIterator<Item = Line<'_>> {
        let ended = self.ended.iter().map(|(stream, bytes)| Line {
            stream: *stream,
            bytes,
        });
        let open = [(Stream::Out, &self.out), (Stream::Err, &self.err)];
        let open = open.into_iter().filter(|(_, open)| !open.bytes.is_empty());
        ended.chain(open.map(|(stream, open)| Line {
            stream,
            bytes: &open.bytes,
        }))
    }
}

impl Open {
    fn extend(&mut self, bytes: &[u8]) {
        let Some((_, before_last)) = bytes.split_last() else {
            return;
        };
        let overwritten = before_last.iter().rposition(|&byte| byte == b'\r');
        if self.returned || overwritten.is_some() {
            self.bytes.clear();
        }
        let bytes = overwritten.map_or(bytes, |at| &bytes[at + 1..]);
        self.returned = bytes.ends_with(b"\r");
        let room = MOST_BYTES - self.bytes.len();
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl Line<'_> {
    /// The text that a terminal would show, without colours and with all other
    /// control characters made visible.
    pub(super) fn text(&self) -> String {
        let mut escapes = Escapes::default();
        let line = self.bytes.strip_suffix(b"\r").unwrap_or(self.bytes);
        let text: Vec<u8> = line
            .iter()
            .copied()
            .filter(|&byte| escapes.is_text(byte))
            .collect();
        printable(&String::from_utf8_lossy(&text))
    }
}

/// The part of a piece that can still be seen once all of it has been taken.
fn newest_lines(bytes: &[u8]) -> &[u8] {
    let ends = bytes.iter().enumerate().rev();
    let mut ends = ends.filter(|&(_, &byte)| byte == b'\n');
    match ends.nth(MOST_LINES) {
        Some((at, _)) => &bytes[at + 1..],
        None => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[(Stream, &[u8])], expected: &[&str]) {
        let mut log = Log::default();
        for (stream, bytes) in pieces {
            log.push(*stream, bytes);
        }
        let lines: Vec<String> = log.lines().map(|line| line.text()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_line_may_come_in_pieces_and_streams_do_not_mix() {
        let pieces: [(Stream, &[u8]); 4] = [
            (Stream::Out, b"epo"),
            (Stream::Err, b"warning\n"),
            (Stream::Out, b"ch 1\r\n"),
            (Stream::Out, b"ep"),
        ];
        check(&pieces, &["warning", "epoch 1", "ep"]);
    }

    #[test]
    fn a_progress_bar_is_one_line_that_changes() {
        check(&[(Stream::Err, b"\r10%\r20%\r30%")], &["30%"]);
        check(&[(Stream::Err, b"\r10%\r100%\n")], &["100%"]);
    }

    #[test]
    fn colours_are_dropped_and_other_controls_cannot_move_the_cursor() {
        check(
            &[(Stream::Out, b"\x1b[1;31mred\x1b[0m\x07\n")],
            &["red\u{fffd}"],
        );
        check(&[(Stream::Out, b"\x1b["), (Stream::Out, b"2Jx\n")], &["x"]);
    }

    #[test]
    fn a_line_without_an_end_and_lines_without_number_are_bounded() {
        let mut log = Log::default();
        log.push(Stream::Out, &vec![b'x'; 10_000_000]);
        assert_eq!(
            log.lines().next().map(|line| line.text().len()),
            Some(MOST_BYTES)
        );
        log.push(Stream::Out, &vec![b'\n'; 10_000]);
        assert_eq!(log.lines().count(), MOST_LINES);
    }

    #[test]
    fn a_flood_leaves_its_last_lines_and_nothing_of_those_before() {
        let mut log = Log::default();
        log.push(Stream::Out, b"begun");
        let flood: String = (0..2000).map(|i| format!("{i}\n")).collect();
        log.push(Stream::Out, flood.as_bytes());
        let lines: Vec<String> = log.lines().map(|line| line.text()).collect();
        assert_eq!(lines.len(), MOST_LINES);
        assert_eq!((lines[0].as_str(), lines[499].as_str()), ("1500", "1999"));
    }
}
