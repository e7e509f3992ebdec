//! The value of a factor.

use std::fmt;

/// One level of a factor as the user typed it: a number or a word.
///
/// Whole numbers keep their exact value so that `64` is substituted into a
/// command as `64`, never as `64.0`.
#[derive(Debug, Clone, PartialEq)]
pub enum Level {
    /// A whole number.
    Integer(i64),
    /// A finite number with a fraction or exponent.
    Number(f64),
    /// True or false.
    Switch(bool),
    /// Anything else: a category.
    Word(String),
}

impl Level {
    /// The level as a number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(i) => Some(*i as f64),
            Self::Number(x) => Some(*x),
            Self::Switch(_) | Self::Word(_) => None,
        }
    }

    /// Reads a level as a command line or a CSV cell spells it.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Ok(i) = text.parse::<i64>() {
            return Self::Integer(i);
        }
        match text {
            "true" => return Self::Switch(true),
            "false" => return Self::Switch(false),
            _ => {}
        }
        // Rust also reads "nan" and "infinity" as numbers; as levels they are words.
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Self::Number(x),
            _ => Self::Word(text.to_owned()),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(i) => write!(f, "{i}"),
            // `{}` prints the shortest text that reads back as the same number.
            Self::Number(x) => write!(f, "{x}"),
            Self::Switch(b) => write!(f, "{b}"),
            Self::Word(w) => f.write_str(w),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_stay_whole_and_words_stay_words() {
        assert_eq!(Level::parse("64"), Level::Integer(64));
        assert_eq!(Level::parse("1e-3"), Level::Number(0.001));
        assert_eq!(Level::parse("nan"), Level::Word("nan".into()));
        assert_eq!(Level::parse("ssp:3"), Level::Word("ssp:3".into()));
        assert_eq!(Level::parse("0.1").to_string(), "0.1");
    }
}
