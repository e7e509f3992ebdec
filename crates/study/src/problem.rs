//! What is wrong with a study, where, and what to do about it.

use std::fmt;
use std::sync::Arc;

/// Where the user typed something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the study file; both numbers count from 1, columns in characters.
    File {
        /// The line.
        line: u32,
        /// The character within the line.
        column: u32,
    },
    /// In an argument of the command line, such as `batch_size=64,128`.
    Argument {
        /// The argument as typed.
        text: Arc<str>,
    },
}

impl Place {
    /// The beginning of the file: where something that is absent belongs.
    pub const START: Self = Self::File { line: 1, column: 1 };
}

/// A piece of the user's text with the part that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The text, one line.
    pub text: String,
    /// Where the wrong part begins, in characters from 0.
    pub from: usize,
    /// How many characters are wrong; at least one caret is drawn.
    pub length: usize,
}

impl Excerpt {
    /// Marks the bytes `span` of `text`.
    pub(crate) fn new(text: &str, span: &std::ops::Range<usize>) -> Self {
        let characters_before = |byte: usize| {
            text.char_indices()
                .take_while(|(index, _)| *index < byte)
                .count()
        };
        let from = characters_before(span.start);
        Self {
            // A line break would tear the caret from what it points at.
            text: text
                .chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect(),
            from,
            length: characters_before(span.end).saturating_sub(from).max(1),
        }
    }
}

/// One thing that is wrong, or worth knowing, about a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where the user typed it.
    pub place: Place,
    /// What is wrong: a lowercase fragment.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The text with carets below the wrong part, for expressions.
    pub excerpt: Option<Excerpt>,
}

impl Problem {
    pub(crate) fn new(place: &Place, message: impl Into<String>) -> Self {
        Self {
            place: place.clone(),
            message: message.into(),
            hint: None,
            excerpt: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    pub(crate) fn excerpt(mut self, text: &str, span: &std::ops::Range<usize>) -> Self {
        self.excerpt = Some(Excerpt::new(text, span));
        self
    }

    /// The problem as a person reads it: `study.toml:14: …`, the excerpt if
    /// there is one, and a `hint:` line if there is advice. No final newline.
    #[must_use]
    pub fn render(&self, file: &str) -> String {
        let mut text = match &self.place {
            Place::File { line, .. } => format!("{file}:{line}: {}", self.message),
            Place::Argument { text } => format!("argument `{text}`: {}", self.message),
        };
        if let Some(excerpt) = &self.excerpt {
            text += &format!(
                "\n    {}\n    {}{}",
                excerpt.text,
                " ".repeat(excerpt.from),
                "^".repeat(excerpt.length)
            );
        }
        if let Some(hint) = &self.hint {
            text += &format!("\nhint: {hint}");
        }
        text
    }
}

/// Everything that is wrong with a study, in the order of the file. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    file: String,
    list: Vec<Problem>,
}

impl Problems {
    /// Sorts `list` by place: the file from top to bottom, then the arguments.
    pub(crate) fn new(file: &str, mut list: Vec<Problem>) -> Self {
        assert!(!list.is_empty(), "a refused study has at least one problem");
        list.sort_by(|a, b| a.place.cmp(&b.place));
        list.dedup();
        Self {
            file: file.to_owned(),
            list,
        }
    }

    /// The name of the file, as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Every problem, in the order of the file.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.list
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&problem.render(&self.file))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_point_at_characters_and_not_at_bytes() {
        let text = "größe + )";
        let at = text.find(')').unwrap();
        let problem = Problem::new(&Place::START, "unexpected `)`").excerpt(text, &(at..at + 1));
        assert_eq!(
            problem.render("s.toml"),
            "s.toml:1: unexpected `)`\n    größe + )\n            ^"
        );
    }
}
