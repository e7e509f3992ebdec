//! Tables in memory: a few thousand rows, column by column.
//!
//! Rows are collected here on their way to Parquet or CSV and on their way
//! back, so that a table of any length passes through bounded memory.

mod csv;
mod parquet;
mod rows;

pub(crate) use csv::CsvWriter;
pub(crate) use parquet::{TableReader, TableWriter, WrittenTable};
pub(crate) use rows::{BadCell, EventRows, PartRows, SampleRows};

/// Rows held in memory at a time: sixty columns of sixteen bytes are 4 MB.
const CHUNK_ROWS: usize = 4096;

/// A column's name, type and whether it may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    name: &'static str,
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
            name,
            kind,
            required: true,
        }
    }

    const fn optional(name: &'static str, kind: FieldKind) -> Self {
        Self {
            name,
            kind,
            required: false,
        }
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

    /// Whether it is time to write the rows out.
    pub(crate) fn is_full(&self) -> bool {
        self.rows >= CHUNK_ROWS
    }

    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.rows = 0;
    }
}
