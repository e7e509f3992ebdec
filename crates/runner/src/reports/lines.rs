//! Lines out of pieces of a stream.

/// Cuts a stream into lines. Bounded: a line longer than [`Lines::LONGEST`]
/// bytes (output without newlines, binary data) is counted and given to nobody.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
    overlong: bool,
    dropped: u64,
}

impl Lines {
    /// The longest line that can be a report.
    pub const LONGEST: usize = 64 * 1024;

    /// Takes a piece of the stream and calls `line` for each line it completes.
    /// A carriage return ends a line too: progress bars redraw with it.
    pub fn push(&mut self, mut piece: &[u8], mut line: impl FnMut(&[u8])) {
        while let Some(end) = piece.iter().position(|&b| b == b'\n' || b == b'\r') {
            let (head, tail) = piece.split_at(end);
            if self.partial.is_empty() && !self.overlong && head.len() <= Self::LONGEST {
                line(head);
            } else {
                self.keep(head);
                self.complete(&mut line);
            }
            piece = &tail[1..];
        }
        self.keep(piece);
    }

    /// Ends the stream: what came after the last newline is a line too.
    pub fn finish(&mut self, mut line: impl FnMut(&[u8])) {
        if !self.partial.is_empty() || self.overlong {
            self.complete(&mut line);
        }
    }

    /// How many lines were too long to be read.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = Self::LONGEST - self.partial.len();
        self.overlong |= piece.len() > room;
        self.partial
            .extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn complete(&mut self, line: &mut impl FnMut(&[u8])) {
        if self.overlong {
            self.dropped += 1;
        } else {
            line(&self.partial);
        }
        self.partial.clear();
        self.overlong = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, u64) {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines.push(piece, |line| found.push(line.to_vec()));
        }
        lines.finish(|line| found.push(line.to_vec()));
        (found, lines.dropped())
    }

    #[test]
    fn an_endless_line_is_bounded_and_counted() {
        let long = vec![b'x'; 3 * Lines::LONGEST];
        let (found, dropped) = cut(&[b"a\n", &long, &long, b"\nb\n"]);
        assert_eq!(found, [b"a".to_vec(), b"b".to_vec()]);
        assert_eq!(dropped, 1);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_stream_is_cut(
            text in "[ab\n\r]{0,60}",
            cuts in proptest::collection::vec(0_usize..60, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut places: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let whole = cut(&[bytes]);
            prop_assert_eq!(cut(&pieces), whole);
        }
    }
}
