//! Cuts the text of a formula into tokens.

use super::error::{ParseFormulaError, ParseProblem, Span};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    Text(String),
    Number(f64),
    Tilde,
    Plus,
    Minus,
    Star,
    Slash,
    Colon,
    Power,
    Comma,
    Equals,
    Dot,
    Open,
    Close,
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

pub(super) fn tokens(source: &str) -> Result<Vec<Token>, ParseFormulaError> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = source[start..].chars().next() {
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let (kind, length) = token(source, start, first)?;
        let span = Span {
            start,
            end: start + length,
        };
        tokens.push(Token { kind, span });
        start += length;
    }
    tokens.push(Token {
        kind: TokenKind::End,
        span: Span {
            start: source.len(),
            end: source.len(),
        },
    });
    Ok(tokens)
}

fn token(source: &str, start: usize, first: char) -> Result<(TokenKind, usize), ParseFormulaError> {
    let rest = &source[start..];
    let single = |kind| Ok((kind, first.len_utf8()));
    match first {
        '~' => single(TokenKind::Tilde),
        '+' => single(TokenKind::Plus),
        '-' | '−' => single(TokenKind::Minus),
        '*' if rest.starts_with("**") => Ok((TokenKind::Power, 2)),
        '*' => single(TokenKind::Star),
        '/' => single(TokenKind::Slash),
        ':' => single(TokenKind::Colon),
        '^' => single(TokenKind::Power),
        ',' => single(TokenKind::Comma),
        '=' => single(TokenKind::Equals),
        '(' => single(TokenKind::Open),
        ')' => single(TokenKind::Close),
        '`' => {
            let (name, length) = quoted(source, start, first)?;
            Ok((TokenKind::Name(name), length))
        }
        '"' | '\'' => {
            let (text, length) = quoted(source, start, first)?;
            Ok((TokenKind::Text(text), length))
        }
        '0'..='9' => number(source, start),
        '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => number(source, start),
        '.' if !rest[1..].starts_with(continues_name) => single(TokenKind::Dot),
        _ if continues_name(first) => {
            let length = rest
                .find(|next: char| !continues_name(next))
                .unwrap_or(rest.len());
            Ok((TokenKind::Name(rest[..length].to_owned()), length))
        }
        _ => {
            let span = Span {
                start,
                end: start + first.len_utf8(),
            };
            let problem = ParseProblem::UnknownCharacter(first);
            Err(ParseFormulaError::new(source, span, problem))
        }
    }
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

fn quoted(source: &str, start: usize, quote: char) -> Result<(String, usize), ParseFormulaError> {
    match source[start + 1..].find(quote) {
        Some(length) => Ok((source[start + 1..start + 1 + length].to_owned(), length + 2)),
        None => {
            let span = Span {
                start,
                end: source.len(),
            };
            Err(ParseFormulaError::new(
                source,
                span,
                ParseProblem::UnclosedName,
            ))
        }
    }
}

fn number(source: &str, start: usize) -> Result<(TokenKind, usize), ParseFormulaError> {
    let rest = &source.as_bytes()[start..];
    let digits = |from: usize| {
        from + rest[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut length = digits(0);
    if rest.get(length) == Some(&b'.') {
        length = digits(length + 1);
    }
    if matches!(rest.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(length + 1), Some(b'+' | b'-')));
        let end = digits(length + 1 + sign);
        if end > length + 1 + sign {
            length = end;
        }
    }
    // A name may not begin with a digit, so letters here belong to the number.
    let text = &source[start..];
    let whole = length
        + text[length..]
            .find(|next: char| !continues_name(next))
            .unwrap_or(text.len() - length);
    let span = Span {
        start,
        end: start + whole,
    };
    match text[..whole].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((TokenKind::Number(value), whole)),
        _ => {
            let problem = ParseProblem::BadNumber(text[..whole].to_owned());
            Err(ParseFormulaError::new(source, span, problem))
        }
    }
}

impl TokenKind {
    pub(super) fn describe(&self, text: &str) -> String {
        match self {
            TokenKind::End => "the end of the formula".to_owned(),
            _ => format!("`{text}`"),
        }
    }
}
