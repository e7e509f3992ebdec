//! Emphasis that a terminal may or may not show.

/// Whether text carries terminal emphasis. Nothing is said by emphasis alone:
/// [`Style::Plain`] loses no information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// No escape sequences: files, pipes, `NO_COLOR`.
    #[default]
    Plain,
    /// ANSI escape sequences for bold, dim and the terminal's own colours.
    Ansi,
}

impl Style {
    /// Text that carries the message.
    #[must_use]
    pub fn strong(self, text: &str) -> String {
        self.wrapped(text, "1")
    }

    /// Text that may be skipped.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.wrapped(text, "2")
    }

    /// What ended well.
    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.wrapped(text, "32")
    }

    /// What ended badly; the word before an error.
    #[must_use]
    pub fn bad(self, text: &str) -> String {
        self.wrapped(text, "1;31")
    }

    /// What deserves a look; the word before a notice.
    #[must_use]
    pub fn careful(self, text: &str) -> String {
        self.wrapped(text, "33")
    }

    /// A line whose first word says what kind it is (`error:`, `notice:`, `hint:`),
    /// with that word in its colour.
    #[must_use]
    pub fn line(self, text: &str) -> String {
        let Some((word, rest)) = text.split_once(':') else {
            return text.to_owned();
        };
        let word_and_colon = format!("{word}:");
        let coloured = match word {
            "error" => self.bad(&word_and_colon),
            "notice" | "warning" => self.careful(&word_and_colon),
            "hint" => self.strong(&word_and_colon),
            _ => return text.to_owned(),
        };
        coloured + rest
    }

    fn wrapped(self, text: &str, code: &str) -> String {
        match self {
            Self::Ansi if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::Ansi | Self::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_that_says_what_a_line_is_has_a_colour() {
        let error = Style::Ansi.line("error: a: b");
        assert_eq!(error, "\x1b[1;31merror:\x1b[0m a: b");
        assert_eq!(Style::Plain.line("error: a: b"), "error: a: b");
        assert_eq!(Style::Ansi.line("study: a"), "study: a");
        assert_eq!(Style::Ansi.line("error"), "error");
    }
}
