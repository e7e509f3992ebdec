//! The last lines a command printed, as plain text.

use super::escapes::Escapes;
use paceline_report::text::printable;
use std::collections::VecDeque;

/// How many lines can be scrolled back to; the record has all of them.
const MOST_LINES: usize = 500;
/// A line is cut here: no terminal shows more of it.
const MOST_BYTES: usize = 1024;

/// One of the two streams a command prints on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A line and where it was printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) stream: Stream,
    pub(super) text: String,
}

/// The lines that have ended and, of each stream, the one that has not.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    ended: VecDeque<Line>,
    out: Open,
    err: Open,
}

/// A line that is still being printed.
#[derive(Debug, Clone, Default)]
struct Open {
    bytes: Vec<u8>,
    escapes: Escapes,
    /// The cursor is back at the line's begin: the next byte overwrites it,
    /// unless the line ends first. This is how progress bars move.
    returned: bool,
}

impl Log {
    /// Takes the next piece of a stream, cut anywhere.
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        for &byte in bytes {
            let open = match stream {
                Stream::Out => &mut self.out,
                Stream::Err => &mut self.err,
            };
            if !open.escapes.is_text(byte) {
                continue;
            }
            match byte {
                b'\n' => {
                    let text = open.text();
                    open.bytes.clear();
                    open.returned = false;
                    if self.ended.len() == MOST_LINES {
                        self.ended.pop_front();
                    }
                    self.ended.push_back(Line { stream, text });
                }
                b'\r' => open.returned = true,
                byte => {
                    if std::mem::take(&mut open.returned) {
                        open.bytes.clear();
                    }
                    if open.bytes.len() < MOST_BYTES {
                        open.bytes.push(byte);
                    }
                }
            }
        }
    }

    /// All lines, oldest first; those that have not ended come last.
    pub(super) fn lines(&self) -> impl DoubleEndedIterator<Item = Line> + '_ {
        let open = [(Stream::Out, &self.out), (Stream::Err, &self.err)];
        let open = open.into_iter().filter(|(_, open)| !open.bytes.is_empty());
        let open = open.map(|(stream, open)| Line {
            stream,
            text: open.text(),
        });
        self.ended.iter().cloned().chain(open)
    }
}

impl Open {
    fn text(&self) -> String {
        printable(&String::from_utf8_lossy(&self.bytes))
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
        let lines: Vec<String> = log.lines().map(|line| line.text).collect();
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
            log.lines().next().map(|line| line.text.len()),
            Some(MOST_BYTES)
        );
        log.push(Stream::Out, &vec![b'\n'; 10_000]);
        assert_eq!(log.lines().count(), MOST_LINES);
    }
}
