//! Telling a command's text from its terminal control sequences.

/// Where in a control sequence (ECMA-48) the stream is. Sequences may be cut
/// anywhere between two pieces, so this is kept per stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Escapes {
    /// Outside of any.
    #[default]
    Text,
    /// After ESC.
    Begun,
    /// Within `ESC [ …`, which a byte from `@` to `~` ends.
    Control,
    /// Within `ESC ] …` and its like, which BEL or `ESC \` ends.
    String,
}

impl Escapes {
    /// Takes the next byte; true if it is text and no part of a sequence. A new
    /// line is always text: a sequence that never ends cannot swallow the log.
    pub(super) fn is_text(&mut self, byte: u8) -> bool {
        let (next, is_text) = match (*self, byte) {
            (_, b'\n') => (Self::Text, true),
            (_, 0x1b) => (Self::Begun, false),
            (Self::Text, _) => (Self::Text, true),
            (Self::Begun, b'[') => (Self::Control, false),
            (Self::Begun, b']' | b'P' | b'_' | b'^' | b'X') => (Self::String, false),
            // Bytes before the last one of a two- or three-byte sequence.
            (Self::Begun, 0x20..=0x2f) => (Self::Begun, false),
            (Self::Begun, _) => (Self::Text, false),
            (Self::Control, b'@'..=b'~') => (Self::Text, false),
            (Self::Control, _) => (Self::Control, false),
            (Self::String, 0x07) => (Self::Text, false),
            (Self::String, _) => (Self::String, false),
        };
        *self = next;
        is_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        let mut escapes = Escapes::default();
        let text: Vec<u8> = input
            .bytes()
            .filter(|&byte| escapes.is_text(byte))
            .collect();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn sequences_of_every_form_are_left_out() {
        check("a\x1b[38;5;196mb\x1b[0mc", "abc");
        check("a\x1b]0;title\x07b", "ab");
        check("a\x1b]8;;http://x\x1b\\b", "ab");
        check("a\x1b(Bb\x1b7c", "abc");
    }

    #[test]
    fn a_sequence_without_an_end_swallows_one_line_at_most() {
        check("a\x1b]0;for ever\nb", "a\nb");
    }
}
