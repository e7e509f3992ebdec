//! Text into tokens.

use super::parser::{ExpressionError, ExpressionErrorKind};
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Name(String),
    Text(String),
    /// An operator or punctuation mark.
    Mark(&'static str),
    End,
}

/// Longer marks first, so that `<=` is not read as `<`.
const MARKS: [&str; 14] = [
    "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "^", "(", ")", ",",
];

pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, ExpressionError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, length) = if c.is_ascii_digit() || c == '.' {
            number(rest, at)?
        } else if c.is_alphabetic() || c == '_' {
            let end = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            (Token::Name(rest[..end].to_owned()), end)
        } else if c == '"' || c == '\'' {
            let Some(end) = rest[1..].find(c) else {
                return Err(ExpressionError {
                    span: at..text.len(),
                    kind: ExpressionErrorKind::OpenText,
                });
            };
            (Token::Text(rest[1..=end].to_owned()), end + 2)
        } else if let Some(mark) = MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
            (Token::Mark(mark), mark.len())
        } else {
            return Err(ExpressionError {
                span: at..at + c.len_utf8(),
                kind: match c {
                    '=' => ExpressionErrorKind::SingleEquals,
                    '&' => ExpressionErrorKind::WordNotSign {
                        sign: '&',
                        word: "and",
                    },
                    '|' => ExpressionErrorKind::WordNotSign {
                        sign: '|',
                        word: "or",
                    },
                    '!' => ExpressionErrorKind::WordNotSign {
                        sign: '!',
                        word: "not",
                    },
                    _ => ExpressionErrorKind::Character(c),
                },
            });
        };
        found.push((token, at..at + length));
        at += length;
    }
    found.push((Token::End, text.len()..text.len()));
    Ok(found)
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), ExpressionError> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    match rest[..end].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Token::Number(value), end)),
        _ => Err(ExpressionError {
            span: at..at + end,
            kind: ExpressionErrorKind::Number(rest[..end].to_owned()),
        }),
    }
}
