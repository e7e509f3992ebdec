//! Tables in memory: a few thousand rows, column by column.
//!
//! Rows are collected here on their way to Parquet or CSV and on their way
//! back, so that a table of any length passes through bounded memory.

mod csv;
mod parquet;
mod rows;

pub use csv::CsvWriter;
pub use parquet::ParquetWriter;
pub(crate) use parquet::{TableReader, TableWriter, WrittenTable, sum_of};
pub(crate) use rows::{BadCell, EventRows, IterationRows, PartRows, SampleRows};

use crate::disk::WriteRecordError;
use crate::study::Cell;
use std::borrow::Cow;

/// Rows held in memory at a time: sixty columns of sixteen bytes are 4 MB.
const CHUNK_ROWS: usize = 4096;

/// Where the rows of one table go.
pub trait TableSink {
    /// Takes the chunk's rows and leaves it empty.
    ///
    /// # Errors
    /// If they cannot be written.
    fn write(&mut self, chunk: &mut Chunk) -> Result<(), WriteRecordError>;

    /// Ends the table. Without it nothing is left behind.
    ///
    /// # Errors
    /// If the table cannot be written to its end.
    fn finish(self: Box<Self>) -> Result<(), WriteRecordError>;
}

/// A column's name, type and whether it may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Known when Paceline is built, except in a study's table.
    name: Cow<'static, str>,
    kind: FieldKind,
    required: bool,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
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

impl Field {
    /// The column's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    #[must_use]
    pub fn kind(&self) -> FieldKind {
        self.kind
    }

    /// Whether every cell has a value.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required
    }

    /// A column of words that says whose a row is.
    #[must_use]
    pub const fn label(name: &'static str) -> Self {
        Self::required(name, FieldKind::Text)
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
pub enum Column {
    /// Times, integers and naturals; the last bit for bit.
    Integers(Vec<Option<i64>>),
    /// Doubles.
    Numbers(Vec<Option<f64>>),
    /// Words.
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
pub struct Chunk {
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

    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Its columns, in the order of the table's fields.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The same rows behind columns that say whose they are; the chunk is left
    /// empty.
    #[must_use]
    pub fn labelled(&mut self, labels: &[String]) -> Self {
        let label = |text: &String| Column::Texts(vec![Some(text.clone()); self.rows]);
        let mut columns: Vec<Column> = labels.iter().map(label).collect();
        for column in &mut self.columns {
            let empty = match column {
                Column::Integers(_) => Column::Integers(Vec::new()),
                Column::Numbers(_) => Column::Numbers(Vec::new()),
                Column::Texts(_) => Column::Texts(Vec::new()),
            };
            columns.push(std::mem::replace(column, empty));
        }
        Self {
            columns,
            rows: std::mem::take(&mut self.rows),
        }
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

    /// Takes its rows away.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.rows = 0;
    }
}
