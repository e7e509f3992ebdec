//! Reading one table of the file by its row in the table of keys.

use crate::document::{Entry, Node, Value};
use crate::expression::{Expression, ExpressionError};
use crate::keys::{SectionKeys, Shape};
use crate::problem::{Place, Problem};
use crate::words::Word;
use paceline_model::Level;
use paceline_model::quantity::{self, QuantityError};
use paceline_model::spelling::suggestion;
use std::time::Duration;

/// A table whose unknown keys have been reported.
pub(crate) struct Section<'a> {
    keys: &'static SectionKeys,
    entries: &'a [Entry],
}

impl<'a> Section<'a> {
    /// Reports that `node` is not a table, or its unknown keys.
    pub(crate) fn open(
        node: Option<&'a Node>,
        keys: &'static SectionKeys,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let entries = node.map_or(&[][..], |node| table(node, keys.title, problems));
        for entry in entries
            .iter()
            .filter(|entry| keys.key(&entry.key).is_none())
        {
            problems.push(unknown_key(entry, keys.title, keys.names()));
        }
        Self { keys, entries }
    }

    /// Like [`Self::open`], but other keys have a meaning: they are returned.
    pub(crate) fn open_with_others(
        entries: &'a [Entry],
        keys: &'static SectionKeys,
    ) -> (Self, impl Iterator<Item = &'a Entry>) {
        let others = entries
            .iter()
            .filter(|entry| keys.key(&entry.key).is_none());
        (Self { keys, entries }, others)
    }

    /// The entry of `key`, if the user typed it.
    pub(crate) fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.shape(key);
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Every entry the user typed, unknown ones included.
    pub(crate) fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    fn shape(&self, key: &str) -> Shape {
        self.keys
            .key(key)
            .expect("only keys of the section's table are read, so that the schema knows them")
            .shape
    }

    pub(crate) fn text(&self, key: &str, problems: &mut Vec<Problem>) -> Option<&'a str> {
        let entry = self.entry(key)?;
        match &entry.node.value {
            Value::Text(text) => Some(text),
            _ => wrong(entry, "text", problems),
        }
    }

    pub(crate) fn switch(&self, key: &str, problems: &mut Vec<Problem>) -> Option<bool> {
        let entry = self.entry(key)?;
        match entry.node.value {
            Value::Switch(b) => Some(b),
            _ => wrong(entry, "true or false", problems),
        }
    }

    pub(crate) fn whole(&self, key: &str, problems: &mut Vec<Problem>) -> Option<u64> {
        let entry = self.entry(key)?;
        let Shape::Whole { min, max } = self.shape(key) else {
            unreachable!("`{key}` is declared as a whole number");
        };
        let Value::Integer(i) = entry.node.value else {
            return wrong(entry, "a whole number", problems);
        };
        match u64::try_from(i) {
            Ok(value) if i >= min && i <= max => Some(value),
            _ => {
                let range = match (min, max) {
                    (_, i64::MAX) => format!("at least {min}"),
                    _ => format!("from {min} to {max}"),
                };
                problems.push(Problem::new(
                    &entry.node.place,
                    format!("`{key}` must be {range}, found {i}"),
                ));
                None
            }
        }
    }

    pub(crate) fn number(&self, key: &str, problems: &mut Vec<Problem>) -> Option<Level> {
        let entry = self.entry(key)?;
        match entry.node.value {
            Value::Integer(i) => Some(Level::Integer(i)),
            Value::Number(x) if x.is_finite() => Some(Level::Number(x)),
            _ => wrong(entry, "a finite number", problems),
        }
    }

    pub(crate) fn one_of<T: Word>(&self, key: &str, problems: &mut Vec<Problem>) -> Option<T> {
        let entry = self.entry(key)?;
        let Value::Text(text) = &entry.node.value else {
            return wrong(entry, "text", problems);
        };
        let found = T::from_word(text);
        if found.is_none() {
            problems.push(
                Problem::new(&entry.node.place, format!("`{key}` cannot be `{text}`"))
                    .maybe_hint(suggestion(text, T::WORDS.iter().copied())),
            );
        }
        found
    }

    pub(crate) fn duration(&self, key: &str, problems: &mut Vec<Problem>) -> Option<Duration> {
        let entry = self.entry(key)?;
        let found = match &entry.node.value {
            Value::Text(text) => quantity::positive_duration(text).map_err(remedy),
            Value::Integer(i) => quantity::seconds(*i as f64).ok_or(None),
            Value::Number(x) => quantity::seconds(*x).ok_or(None),
            _ => return wrong(entry, "a duration such as \"90s\"", problems),
        };
        let complain = |remedy: Option<String>| {
            let usual = "write \"90s\", \"1h30m\", \"250ms\" or a positive number of seconds";
            problems.push(
                Problem::new(
                    &entry.node.place,
                    format!("`{key}` is not a duration: {}", shown(&entry.node.value)),
                )
                .hint(remedy.unwrap_or_else(|| usual.to_owned())),
            );
        };
        found.map_err(complain).ok()
    }

    pub(crate) fn size(&self, key: &str, problems: &mut Vec<Problem>) -> Option<u64> {
        let entry = self.entry(key)?;
        let found = match &entry.node.value {
            Value::Text(text) => quantity::bytes(text).map_err(remedy),
            Value::Integer(i) => u64::try_from(*i)
                .ok()
                .filter(|&bytes| bytes > 0)
                .ok_or(None),
            _ => return wrong(entry, "an amount such as \"4GiB\"", problems),
        };
        let complain = |remedy: Option<String>| {
            let usual = "write \"4GiB\", \"512MB\" or a positive number of bytes";
            problems.push(
                Problem::new(
                    &entry.node.place,
                    format!(
                        "`{key}` is not an amount of memory: {}",
                        shown(&entry.node.value)
                    ),
                )
                .hint(remedy.unwrap_or_else(|| usual.to_owned())),
            );
        };
        found.map_err(complain).ok()
    }

    /// A list of texts with their places. One text alone counts as a list of one.
    pub(crate) fn texts(
        &self,
        key: &str,
        problems: &mut Vec<Problem>,
    ) -> Vec<(&'a str, &'a Place)> {
        let Some(entry) = self.entry(key) else {
            return Vec::new();
        };
        match &entry.node.value {
            Value::Text(text) => vec![(text, &entry.node.place)],
            Value::List(items) => items
                .iter()
                .filter_map(|item| match &item.value {
                    Value::Text(text) => Some((text.as_str(), &item.place)),
                    other => {
                        problems.push(Problem::new(
                            &item.place,
                            format!("`{key}` holds texts, found {}", other.kind()),
                        ));
                        None
                    }
                })
                .collect(),
            _ => {
                wrong::<()>(entry, "a list of texts", problems);
                Vec::new()
            }
        }
    }

    pub(crate) fn expression(
        &self,
        key: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<(Expression, &'a Place)> {
        let entry = self.entry(key)?;
        let expression = expression(&entry.node, &format!("`{key}`"), problems)?;
        Some((expression, &entry.node.place))
    }
}

/// The entries of `node`, or a problem that it is not a table.
pub(crate) fn table<'a>(node: &'a Node, title: &str, problems: &mut Vec<Problem>) -> &'a [Entry] {
    match &node.value {
        Value::Table(entries) => entries,
        other => {
            problems.push(Problem::new(
                &node.place,
                format!("{title} must be a table, found {}", other.kind()),
            ));
            &[]
        }
    }
}

pub(crate) fn unknown_key<'a>(
    entry: &Entry,
    title: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Problem {
    Problem::new(
        &entry.place,
        format!("unknown key `{}` in {title}", entry.key),
    )
    .maybe_hint(suggestion(&entry.key, known))
}

/// An expression given as text or as a plain number.
pub(crate) fn expression(
    node: &Node,
    title: &str,
    problems: &mut Vec<Problem>,
) -> Option<Expression> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(i) => i.to_string(),
        Value::Number(x) => format!("{x:?}"),
        other => {
            problems.push(Problem::new(
                &node.place,
                format!(
                    "{title} must be an expression in quotes, found {}",
                    other.kind()
                ),
            ));
            return None;
        }
    };
    Expression::parse(&text)
        .map_err(|error| problems.push(bad_expression(&node.place, title, &text, &error)))
        .ok()
}

pub(crate) fn bad_expression(
    place: &Place,
    title: &str,
    text: &str,
    error: &ExpressionError,
) -> Problem {
    Problem::new(place, format!("{title}: {error}")).excerpt(text, &error.span)
}

/// A level, or a problem that says why `node` is none.
pub(crate) fn level(node: &Node, title: &str, problems: &mut Vec<Problem>) -> Option<Level> {
    let complain = |problems: &mut Vec<Problem>, what: String| {
        problems.push(Problem::new(&node.place, format!("{title} {what}")));
        None
    };
    match &node.value {
        Value::Integer(i) => Some(Level::Integer(*i)),
        Value::Number(x) if x.is_finite() => Some(Level::Number(*x)),
        Value::Number(x) => complain(problems, format!("has the level {x}, which is not finite")),
        Value::Switch(b) => Some(Level::Switch(*b)),
        Value::Text(text) if text.is_empty() => complain(problems, "has an empty level".to_owned()),
        // Levels become arguments, environment variables and cells of a table.
        Value::Text(text) if text.chars().any(char::is_control) => complain(
            problems,
            "has a level with a line break or another control character".to_owned(),
        ),
        Value::Text(text) => Some(Level::Word(text.clone())),
        other => complain(problems, format!("has a level that is {}", other.kind())),
    }
}

/// Reports a value of the wrong type.
pub(crate) fn wrong<T>(entry: &Entry, expected: &str, problems: &mut Vec<Problem>) -> Option<T> {
    problems.push(Problem::new(
        &entry.node.place,
        format!(
            "`{}` must be {expected}, found {}",
            entry.key,
            shown(&entry.node.value)
        ),
    ));
    None
}

/// What is wrong with this quantity in particular.
fn remedy(error: QuantityError) -> Option<String> {
    error.why().map(str::to_owned)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) if text.chars().count() <= 40 => format!("{text:?}"),
        Value::Integer(i) => i.to_string(),
        Value::Number(x) => format!("{x:?}"),
        Value::Switch(b) => b.to_string(),
        Value::Date(date) => format!("the date {date}"),
        other => other.kind().to_owned(),
    }
}
