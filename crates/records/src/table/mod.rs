//! Tables in memory: a few thousand rows, column by column.
//!
//! Rows are collected here on their way to Parquet or CSV and on their way
//! back, so that a table of any length passes through bounded memory.

mod csv;
mod parquet;
mod rows;

pub(crate) use csv::CsvWriter;
pub(crate) use parquet::{TableReader, TableWriter, WrittenTable, sum_of};
pub(crate) use rows::{BadCell, EventRows, IterationRows, PartRows, SampleRows};

use crate::study::Cell;
use std::borrow::Cow;

/// Rows held in memory at a time: sixty columns of sixteen bytes are 4 MB.
const CHUNK_ROWS: usize = 4096;

/// A column's name, type and whether it may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// Known when Paceline is built, except in a study's table.
    name: Cow<'static, str>,
    kind: FieldKind,
    required: bool,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// Microseconds since 1970, UTC.
    Time,
    /// A whole number.
    Integer,
    /// A whole number that is never negative.
    Natural,
    /// A double.
    Number,
    /// UTF-8.
    Text,
}

impl Field {
    const fn required(name: &'static str, kind: FieldKind) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind,
            required: true,
        }
    }

    const fn optional(name: &'static str, kind: FieldKind) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind,
            required: false,
        }
    }
}

/// Columns whose names are the user's; any cell may be empty.
impl Field {
    fn named(name: String, kind: FieldKind) -> Self {
        Self {
            name: Cow::Owned(name),
            kind,
            required: false,
        }
    }

    pub(crate) fn integer(name: String) -> Self {
        Self::named(name, FieldKind::Integer)
    }

    pub(crate) fn number(name: String) -> Self {
        Self::named(name, FieldKind::Number)
    }

    pub(crate) fn text(name: String) -> Self {
        Self::named(name, FieldKind::Text)
    }
}

/// Some rows of one column.
#[derive(Debug, Clone)]
enum Column {
    /// Times, integers and naturals; the last bit for bit.
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

const WRONG_KIND: &str = "rows are pushed and read in the order of their table's fields";

impl Column {
    fn of(kind: FieldKind) -> Self {
        match kind {
            FieldKind::Time | FieldKind::Integer | FieldKind::Natural => Self::Integers(Vec::new()),
            FieldKind::Number => Self::Numbers(Vec::new()),
            FieldKind::Text => Self::Texts(Vec::new()),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Integers(values) => values.clear(),
            Self::Numbers(values) => values.clear(),
            Self::Texts(values) => values.clear(),
        }
    }

    fn push_integer(&mut self, value: Option<i64>) {
        match self {
            Self::Integers(values) => values.push(value),
            _ => unreachable!("{WRONG_KIND}"),
        }
    }

    fn push_number(&mut self, value: Option<f64>) {
        match self {
            Self::Numbers(values) => values.push(value),
            _ => unreachable!("{WRONG_KIND}"),
        }
    }

    fn push_text(&mut self, value: Option<&str>) {
        match self {
            Self::Texts(values) => values.push(value.map(str::to_owned)),
            _ => unreachable!("{WRONG_KIND}"),
        }
    }

    fn integer(&self, row: usize) -> Option<i64> {
        match self {
            Self::Integers(values) => values[row],
            _ => unreachable!("{WRONG_KIND}"),
        }
    }

    fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::Numbers(values) => values[row],
            _ => unreachable!("{WRONG_KIND}"),
        }
    }

    fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Texts(values) => values[row].as_deref(),
            _ => unreachable!("{WRONG_KIND}"),
        }
    }
}

/// Some rows of a table.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    columns: Vec<Column>,
    rows: usize,
}

impl Chunk {
    pub(crate) fn new(fields: &[Field]) -> Self {
        Self {
            columns: fields.iter().map(|field| Column::of(field.kind)).collect(),
            rows: 0,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Puts a cell into a column. A number in a column of words becomes a word,
    /// a whole number in a column of numbers a number; anything else that does
    /// not fit is missing.
    pub(crate) fn push_cell(&mut self, column: usize, cell: &Cell) {
        match (&mut self.columns[column], cell) {
            (Column::Integers(values), Cell::Integer(i)) => values.push(Some(*i)),
            (Column::Integers(values), _) => values.push(None),
            (Column::Numbers(values), Cell::Number(x)) => values.push(Some(*x)),
            (Column::Numbers(values), Cell::Integer(i)) => values.push(Some(*i as f64)),
            (Column::Numbers(values), _) => values.push(None),
            (Column::Texts(values), cell) => values.push(match cell {
                Cell::Missing => None,
                Cell::Integer(i) => Some(i.to_string()),
                Cell::Number(x) => Some(x.to_string()),
                Cell::Text(text) => Some(text.clone()),
            }),
        }
    }

    /// Ends a row that was put in cell by cell.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Whether it is time to write the rows out.
    pub(crate) fn is_full(&self) -> bool {
        self.rows >= CHUNK_ROWS
    }

    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.rows = 0;
    }
}
