//! Text with `{placeholders}`.

use std::ops::Range;

/// Text in which `{name}` stands for a level; `{{` and `}}` are braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Name(String),
}

/// Why a text is not a template, and which bytes of it are at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct TemplateError {
    /// The bytes at fault.
    pub span: Range<usize>,
    /// What is wrong with them.
    pub kind: TemplateErrorKind,
}

/// What can be wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateErrorKind {
    /// `{` without its `}`.
    #[error("`{{` is not closed")]
    Open,
    /// `}` without its `{`.
    #[error("`}}` closes nothing")]
    Close,
    /// Something between braces that cannot name a factor.
    #[error("`{{{0}}}` does not name a factor")]
    Name(String),
}

impl Template {
    /// Reads `text`.
    ///
    /// # Errors
    /// If a brace is alone or a placeholder is not a name.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        let fault = |span, kind| Err(TemplateError { span, kind });
        while let Some(at) = rest.find(['{', '}']) {
            literal += &rest[..at];
            let start = text.len() - rest.len() + at;
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if rest.starts_with(brace) {
                literal += brace;
                rest = &rest[1..];
            } else if brace == "}" {
                return fault(start..start + 1, TemplateErrorKind::Close);
            } else {
                let Some(end) = rest
                    .find(['{', '}'])
                    .filter(|&end| rest[end..].starts_with('}'))
                else {
                    return fault(start..start + 1, TemplateErrorKind::Open);
                };
                let name = &rest[..end];
                if !is_name(name) {
                    let kind = TemplateErrorKind::Name(name.to_owned());
                    return fault(start..start + end + 2, kind);
                }
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Name(name.to_owned()));
                rest = &rest[end + 1..];
            }
        }
        literal += rest;
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self { pieces })
    }

    /// The placeholders, in the order of the text; a name used twice comes twice.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Name(name) => Some(name.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// The text between the placeholders.
    pub(crate) fn literals(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.as_str()),
            Piece::Name(_) => None,
        })
    }

    /// The text with each placeholder replaced, or the first name that
    /// `value_of` does not know.
    pub(crate) fn fill(
        &self,
        mut value_of: impl FnMut(&str) -> Option<String>,
    ) -> Result<String, &str> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => text += literal,
                Piece::Name(name) => text += &value_of(name).ok_or(name.as_str())?,
            }
        }
        Ok(text)
    }
}

impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => {
                    f.write_str(&text.replace('{', "{{").replace('}', "}}"))?;
                }
                Piece::Name(name) => write!(f, "{{{name}}}")?,
            }
        }
        Ok(())
    }
}

/// True for a letter followed by letters, digits and `_`, at most 64 of them.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let filled = match Template::parse(text) {
            Ok(template) => template
                .fill(|name| (name == "batch_size").then(|| "64".to_owned()))
                .unwrap_or_else(|name| format!("unknown {name}")),
            Err(error) => format!("{error} at {:?}", error.span),
        };
        assert_eq!(filled, expected, "{text}");
    }

    #[test]
    fn placeholders_are_replaced_and_double_braces_are_braces() {
        check("--batch={batch_size}", "--batch=64");
        check("{batch_size}{batch_size}", "6464");
        check(r#"{{"size": {batch_size}}}"#, r#"{"size": 64}"#);
        check("{other}", "unknown other");
        check("", "");
    }

    #[test]
    fn a_lone_brace_is_reported_where_it_is() {
        check("a { b", "`{` is not closed at 2..3");
        check("{batch_size", "`{` is not closed at 0..1");
        check("{a{b}", "`{` is not closed at 0..1");
        check("a } b", "`}` closes nothing at 2..3");
        check(
            "awk '{print $1}'",
            "`{print $1}` does not name a factor at 5..15",
        );
        check("{}", "`{}` does not name a factor at 0..2");
    }
}
