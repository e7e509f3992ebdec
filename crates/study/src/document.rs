//! TOML text as a tree in which every key and value knows its place.

use crate::problem::{Place, Problem, Problems};
use paceline_model::Level;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it was typed.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What TOML can express.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Switch(bool),
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// One `key = value`, in the order of the file.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

impl Value {
    /// What the value is, for "expected …, found …".
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Switch(_) => "true or false",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

impl From<Level> for Value {
    fn from(level: Level) -> Self {
        match level {
            Level::Integer(i) => Self::Integer(i),
            Level::Number(x) => Self::Number(x),
            Level::Switch(b) => Self::Switch(b),
            Level::Word(word) => Self::Text(word),
        }
    }
}

/// Parses `text`; every syntax error is reported.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Entry>, Problems> {
    let lines = Lines::of(text);
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> = errors
        .iter()
        .map(|error| {
            let place = error
                .span()
                .map_or(Place::START, |span| lines.place(text, span.start));
            Problem::new(&place, format!("not valid TOML: {}", error.message()))
        })
        .collect();
    let entries = table(root.get_ref(), text, &lines, &mut problems);
    if problems.is_empty() {
        Ok(entries)
    } else {
        Err(Problems::new(file, problems))
    }
}

/// Where each line begins.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(index, _)| index + 1);
        Self(std::iter::once(0).chain(after_breaks).collect())
    }

    fn place(&self, text: &str, byte: usize) -> Place {
        let line = self.0.partition_point(|&start| start <= byte).max(1);
        let start = self.0[line - 1];
        // A span may point past the end of the text or, after an error, into a
        // character; the column is then that of the last whole one.
        let column = text[start..]
            .char_indices()
            .take_while(|(index, _)| start + index < byte)
            .count();
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place::File {
            line: number(line),
            column: number(column + 1),
        }
    }
}

fn table(
    table: &DeTable<'_>,
    text: &str,
    lines: &Lines,
    problems: &mut Vec<Problem>,
) -> Vec<Entry> {
    let mut pairs: Vec<_> = table.iter().collect();
    // The parser sorts by name; people expect the order they typed, and the
    // order of factors is part of a design.
    pairs.sort_by_key(|(key, _)| key.span().start);
    pairs
        .into_iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            place: lines.place(text, key.span().start),
            node: node(value, text, lines, problems),
        })
        .collect()
}

fn node(
    value: &Spanned<DeValue<'_>>,
    text: &str,
    lines: &Lines,
    problems: &mut Vec<Problem>,
) -> Node {
    let place = lines.place(text, value.span().start);
    let value = match value.get_ref() {
        DeValue::String(s) => Value::Text(s.to_string()),
        DeValue::Integer(i) => Value::Integer(
            i64::from_str_radix(i.as_str(), i.radix()).unwrap_or_else(|_| {
                problems.push(Problem::new(
                    &place,
                    format!("`{i}` does not fit into 64 bits"),
                ));
                0
            }),
        ),
        DeValue::Float(x) => Value::Number(x.as_str().parse().unwrap_or_else(|_| {
            problems.push(Problem::new(&place, format!("`{x}` is not a number")));
            0.0
        })),
        DeValue::Boolean(b) => Value::Switch(*b),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| node(item, text, lines, problems))
                .collect(),
        ),
        DeValue::Table(inner) => Value::Table(table(inner, text, lines, problems)),
    };
    Node { place, value }
}
