//! Emphasis that a terminal may or may not show.

/// Whether text carries terminal emphasis. Nothing is said by emphasis alone:
/// [`Style::Plain`] loses no information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// No escape sequences: files, pipes, `NO_COLOR`.
    #[default]
    Plain,
    /// ANSI escape sequences for bold and dim; no colours.
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

    fn wrapped(self, text: &str, code: &str) -> String {
        match self {
            Self::Ansi if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::Ansi | Self::Plain => text.to_owned(),
        }
    }
}
