//! Numbers in columns, with a class in one of them.

use std::fmt;
use std::str::FromStr;

use memchr::memchr;

use crate::classes::Classes;
use crate::error::{OpenDataError, Position, Unexpected, excerpt};
use crate::lines::{Line, Lines};
use crate::number::number;
use crate::source::Source;

/// How the columns of a CSV file are to be taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// Whether the first line names the columns.
    pub header: Header,
    /// Which column holds the class.
    pub label: LabelColumn,
    /// What separates columns. Without it: a tab, a semicolon or a comma,
    /// whichever of these the first line has.
    pub delimiter: Option<u8>,
}

/// Whether the first line of a file names its columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Header {
    /// It does if a field of it, other than the label, is not a number.
    #[default]
    Auto,
    /// It does.
    Present,
    /// It does not.
    Absent,
}

/// Which column holds the class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LabelColumn {
    /// The one named `label`, `class`, `target` or `y`; without such a name,
    /// the last.
    #[default]
    Auto,
    /// The one at this place, counted from one.
    Number(std::num::NonZeroUsize),
    /// The one of this name.
    Name(String),
}

/// As a user types it: `auto`, a number, or a name.
impl FromStr for LabelColumn {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.parse() {
            Ok(number) => Self::Number(number),
            Err(_) if text == "auto" => Self::Auto,
            Err(_) => Self::Name(text.into()),
        })
    }
}

impl fmt::Display for LabelColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// The rows of a file.
#[derive(Debug)]
pub(crate) struct DenseRows {
    pub(crate) values: Vec<f32>,
    pub(crate) width: usize,
    pub(crate) labels: Vec<u32>,
}

/// Where things are in a line.
struct Form {
    delimiter: u8,
    /// Fields of a line, the label included.
    fields: usize,
    /// The label's place, counted from zero.
    label: usize,
}

const LABEL_NAMES: [&[u8]; 4] = [b"label", b"class", b"target", b"y"];

pub(crate) fn read(
    source: Source<'_>,
    columns: &Columns,
    classes: &mut Classes,
) -> Result<DenseRows, OpenDataError> {
    let mut lines = Lines::new(source);
    let path = lines.path();
    let mut rows = DenseRows {
        values: Vec::new(),
        width: 0,
        labels: Vec::new(),
    };
    let Some(first) = lines.next()? else {
        let what = Unexpected::new("rows of numbers", "an empty file");
        let position = Position::Line { line: 1, column: 1 };
        return Err(what.at(path, position).into());
    };
    let (form, has_header) =
        Form::of(first.bytes, columns).map_err(|(at, what)| first.malformed(&path, at, what))?;
    rows.width = form.fields - 1;
    if !has_header {
        rows.push(first, &form, classes)
            .map_err(|(at, what)| first.malformed(&path, at, what))?;
    }
    while let Some(line) = lines.next()? {
        rows.push(line, &form, classes)
            .map_err(|(at, what)| line.malformed(&path, at, what))?;
    }
    Ok(rows)
}

impl Form {
    /// What the first line says of all lines, and whether it names columns.
    fn of(line: &[u8], columns: &Columns) -> Result<(Self, bool), (usize, Unexpected)> {
        let delimiter = columns.delimiter.unwrap_or_else(|| {
            let has = |byte: &u8| memchr(*byte, line).is_some();
            b"\t;".iter().copied().find(has).unwrap_or(b',')
        });
        let mut fields = Vec::new();
        let mut next = Some(0);
        while let Some(start) = next {
            let (field, after) = field(line, start, delimiter)?;
            fields.push(field);
            next = after;
        }
        if fields.len() < 2 {
            let what = Unexpected::new("at least two columns, one of them the class", "one").hint(
                "if another character separates the columns, name it; a data set needs features and a class",
            );
            return Err((0, what));
        }
        let count = fields.len();
        let named = |name: &[u8]| {
            fields
                .iter()
                .position(|field| field.eq_ignore_ascii_case(name))
        };
        let by_number = |label: usize| {
            let others = fields
                .iter()
                .enumerate()
                .filter(|(place, _)| *place != label);
            let mut others = others.map(|(_, field)| field);
            match columns.header {
                Header::Present => true,
                Header::Absent => false,
                Header::Auto => {
                    !others.all(|field| number(field).is_some_and(|(_, end)| end == field.len()))
                }
            }
        };
        let (label, has_header) = match &columns.label {
            LabelColumn::Number(place) if place.get() > count => {
                let what = Unexpected::new(
                    format!("a column {place} for the label"),
                    format!("{count} columns"),
                );
                return Err((line.len(), what));
            }
            LabelColumn::Number(place) => (place.get() - 1, by_number(place.get() - 1)),
            LabelColumn::Name(name) => match named(name.as_bytes()) {
                Some(label) => (label, true),
                None => {
                    let what = Unexpected::new(format!("a column named `{name}`"), excerpt(line));
                    return Err((0, what));
                }
            },
            LabelColumn::Auto => {
                let label = LABEL_NAMES.iter().find_map(|name| named(name));
                match label.filter(|_| columns.header != Header::Absent) {
                    Some(label) => (label, true),
                    None => (count - 1, by_number(count - 1)),
                }
            }
        };
        Ok((
            Self {
                delimiter,
                fields: count,
                label,
            },
            has_header,
        ))
    }
}

impl DenseRows {
    fn push(
        &mut self,
        line: Line<'_>,
        form: &Form,
        classes: &mut Classes,
    ) -> Result<(), (usize, Unexpected)> {
        let bytes = line.bytes;
        if bytes.is_empty() {
            return Ok(());
        }
        let start = self.values.len();
        self.values.resize(start + self.width, 0.0);
        let row = &mut self.values[start..];
        let (before, after) = row.split_at_mut(form.label);
        let mut cursor = Cursor {
            bytes,
            delimiter: form.delimiter,
            fields: form.fields,
            at: 0,
            read: 0,
        };
        cursor.numbers(before)?;
        let (label_start, label) = cursor.text()?;
        let class = classes.index(&label).map_err(|what| (label_start, what))?;
        cursor.numbers(after)?;
        if cursor.at <= bytes.len() {
            let found = count_fields(bytes, form.delimiter);
            return Err((cursor.at, wrong_count(form.fields, found)));
        }
        self.labels.push(class);
        Ok(())
    }
}

/// A place in a line; one past the end once all fields have been read.
struct Cursor<'a> {
    bytes: &'a [u8],
    delimiter: u8,
    fields: usize,
    at: usize,
    read: usize,
}

impl Cursor<'_> {
    #[inline]
    fn numbers(&mut self, row: &mut [f32]) -> Result<(), (usize, Unexpected)> {
        for value in row {
            if self.at > self.bytes.len() {
                return Err((self.bytes.len(), wrong_count(self.fields, self.read)));
            }
            *value = match number(&self.bytes[self.at..]) {
                Some((number, length)) if self.ends_field(self.at + length) => {
                    self.at += length + 1;
                    number
                }
                _ => self.awkward_number()?,
            };
            self.read += 1;
        }
        Ok(())
    }

    #[inline]
    fn ends_field(&self, at: usize) -> bool {
        match self.bytes.get(at) {
            None => true,
            Some(byte) => *byte == self.delimiter,
        }
    }

    /// A number in quotes or between blanks.
    #[cold]
    fn awkward_number(&mut self) -> Result<f32, (usize, Unexpected)> {
        let (start, text) = self.text()?;
        self.read -= 1;
        match number(&text) {
            Some((number, length)) if length == text.len() => Ok(number),
            _ => {
                let what = Unexpected::new("a finite number", excerpt(&text));
                let what = if text.is_empty() {
                    what.hint("fill in or remove rows with missing values")
                } else {
                    what.hint("features are numbers; encode or remove other columns")
                };
                Err((start, what))
            }
        }
    }

    /// The field at the cursor, without quotes and blanks around it.
    fn text(&mut self) -> Result<(usize, Vec<u8>), (usize, Unexpected)> {
        let start = self.at;
        if start > self.bytes.len() {
            return Err((self.bytes.len(), wrong_count(self.fields, self.read)));
        }
        let (text, next) = field(self.bytes, start, self.delimiter)?;
        self.at = next.unwrap_or(self.bytes.len() + 1);
        self.read += 1;
        Ok((start, text))
    }
}

fn wrong_count(expected: usize, found: usize) -> Unexpected {
    Unexpected::new(
        format!("{expected} fields, as the first line has"),
        found.to_string(),
    )
}

fn count_fields(line: &[u8], delimiter: u8) -> usize {
    let mut count = 1;
    let mut at = 0;
    while let Ok((_, Some(next))) = field(line, at, delimiter) {
        count += 1;
        at = next;
    }
    count
}

/// The field that begins at a place, without quotes and blanks around it, and
/// where the next one begins, if there is one.
pub(crate) fn field(
    line: &[u8],
    start: usize,
    delimiter: u8,
) -> Result<(Vec<u8>, Option<usize>), (usize, Unexpected)> {
    if line.get(start) == Some(&b'"') {
        return quoted(line, start, delimiter);
    }
    let end = memchr(delimiter, &line[start..]).map_or(line.len(), |found| start + found);
    let next = (end < line.len()).then_some(end + 1);
    Ok((line[start..end].trim_ascii().to_vec(), next))
}

/// A field in quotes, in which a quote stands as a pair of quotes.
fn quoted(
    line: &[u8],
    start: usize,
    delimiter: u8,
) -> Result<(Vec<u8>, Option<usize>), (usize, Unexpected)> {
    let mut text = Vec::new();
    let mut at = start + 1;
    loop {
        let Some(quote) = memchr(b'"', &line[at..]).map(|found| at + found) else {
            let what = Unexpected::new("a closing quote", "the end of the line")
                .hint("a field may not hold a line break");
            return Err((start, what));
        };
        text.extend_from_slice(&line[at..quote]);
        at = quote + 1;
        match line.get(at) {
            Some(b'"') => {
                text.push(b'"');
                at += 1;
            }
            None => return Ok((text, None)),
            Some(byte) if *byte == delimiter => return Ok((text, Some(at + 1))),
            Some(_) => {
                let what = Unexpected::new(
                    format!(
                        "`{}` after the quote",
                        char::from(delimiter).escape_default()
                    ),
                    excerpt(&line[at..]),
                );
                return Err((at, what));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, columns: &Columns) -> Result<(DenseRows, Vec<String>), OpenDataError> {
        let mut classes = Classes::default();
        let rows = read(
            Source::embedded("rows.csv", text.as_bytes()),
            columns,
            &mut classes,
        )?;
        let (names, ranks) = classes.ranked();
        let labels = rows.labels.iter().map(|label| ranks[*label as usize]);
        let labels = labels.collect();
        Ok((DenseRows { labels, ..rows }, names))
    }

    fn check(text: &str, label: &str, values: &[f32], labels: &[&str]) {
        let columns = Columns {
            label: label.parse().unwrap(),
            ..Columns::default()
        };
        let (rows, names) = parse(text, &columns).unwrap();
        assert_eq!(rows.values, values, "{text}");
        let found: Vec<&str> = rows
            .labels
            .iter()
            .map(|label| names[*label as usize].as_str())
            .collect();
        assert_eq!(found, labels, "{text}");
    }

    #[test]
    fn the_class_is_the_last_column_unless_a_name_says_otherwise() {
        check("1,2,a\n3,4,b\n", "auto", &[1.0, 2.0, 3.0, 4.0], &["a", "b"]);
        check("x,y,z\n1,a,2\n", "auto", &[1.0, 2.0], &["a"]);
        check("p,q,kind\n1,2,a\n", "auto", &[1.0, 2.0], &["a"]);
    }

    #[test]
    fn the_class_can_be_named_or_counted() {
        check("1,2,7\n", "1", &[2.0, 7.0], &["1"]);
        check("p,q,r\n1,2,7\n", "q", &[1.0, 7.0], &["2"]);
        check("a,b\n5,6\n", "2", &[5.0], &["6"]);
    }

    #[test]
    fn other_delimiters_quotes_and_blanks_are_understood() {
        check("1\t2\tx\n", "auto", &[1.0, 2.0], &["x"]);
        check("1;2;x\r\n", "auto", &[1.0, 2.0], &["x"]);
        check(
            "\"1\", 2 ,\"a, \"\"b\"\"\"\n",
            "auto",
            &[1.0, 2.0],
            &["a, \"b\""],
        );
    }

    #[test]
    fn malformed_rows_are_named_with_their_place() {
        for (text, expected) in [
            ("1,2,a\n3,x,b\n", "2:3: expected a finite number, found `x`"),
            (
                "1,2,a\n3,,b\n",
                "2:3: expected a finite number, found nothing",
            ),
            (
                "1,2,a\n3,inf,b\n",
                "2:3: expected a finite number, found `inf`",
            ),
            (
                "1,2,a\n3,4\n",
                "2:4: expected 3 fields, as the first line has, found 2",
            ),
            (
                "1,2,a\n3,4,b,5\n",
                "2:7: expected 3 fields, as the first line has, found 4",
            ),
            (
                "1,2,\"a\n",
                "1:5: expected a closing quote, found the end of the line",
            ),
            (
                "1\n2\n",
                "1:1: expected at least two columns, one of them the class, found one",
            ),
            ("", "1:1: expected rows of numbers, found an empty file"),
            ("1,2,\n", "1:5: expected a label, found nothing"),
        ] {
            let error = parse(text, &Columns::default()).unwrap_err();
            assert_eq!(error.to_string(), format!("rows.csv:{expected}"), "{text}");
        }
    }

    #[test]
    fn a_label_column_that_does_not_exist_is_named() {
        let columns = Columns {
            label: LabelColumn::Name("kind".into()),
            ..Columns::default()
        };
        let error = parse("a,b\n1,2\n", &columns).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rows.csv:1:1: expected a column named `kind`, found `a,b`"
        );
    }
}
