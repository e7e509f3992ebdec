//! `table.csv` and `table.parquet`: one row per run.

use crate::disk::WriteRecordError;
use crate::table::{Chunk, CsvWriter, Field, ParquetWriter, TableSink};
use std::path::Path;

/// What a column of a study's table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// Words.
    Text,
}

/// One cell; nothing is a missing value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A missing value.
    Missing,
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
}

/// A table in memory. Rows have as many cells as there are columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StudyTable {
    columns: Vec<(String, ColumnKind)>,
    rows: Vec<Vec<Cell>>,
}

impl StudyTable {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: Vec<(String, ColumnKind)>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the row has not as many cells as there are columns.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "a row has a cell per column");
        self.rows.push(row);
    }

    /// The columns' names and kinds.
    #[must_use]
    pub fn columns(&self) -> &[(String, ColumnKind)] {
        &self.columns
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Writes the table as CSV, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_csv(&self, path: &Path) -> Result<(), WriteRecordError> {
        self.write(Box::new(CsvWriter::create(path, self.fields())?))
    }

    /// Writes the table as Parquet, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_parquet(&self, path: &Path) -> Result<(), WriteRecordError> {
        self.write(Box::new(ParquetWriter::create(path, self.fields())?))
    }

    /// Writes the table into a sink made for its fields, to the end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, mut sink: Box<dyn TableSink>) -> Result<(), WriteRecordError> {
        self.chunks(|chunk| sink.write(chunk))?;
        sink.finish()
    }

    /// The columns as a file's fields.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        let kind = |kind: &ColumnKind| match kind {
            ColumnKind::Integer => Field::integer,
            ColumnKind::Number => Field::number,
            ColumnKind::Text => Field::text,
        };
        let fields = self.columns.iter();
        fields.map(|(name, of)| kind(of)(name.clone())).collect()
    }

    fn chunks(
        &self,
        mut write: impl FnMut(&mut Chunk) -> Result<(), WriteRecordError>,
    ) -> Result<(), WriteRecordError> {
        let mut chunk = Chunk::new(&self.fields());
        for row in &self.rows {
            for (i, cell) in row.iter().enumerate() {
                chunk.push_cell(i, cell);
            }
            chunk.end_row();
            if chunk.is_full() {
                write(&mut chunk)?;
            }
        }
        write(&mut chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words_are_quoted_where_they_must_be() {
        let dir = tempfile::tempdir().unwrap();
        let columns = [
            ("batch_size", ColumnKind::Integer),
            ("odd, name", ColumnKind::Number),
            ("sync", ColumnKind::Text),
        ];
        let mut table =
            StudyTable::new(columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec());
        table.push(vec![
            Cell::Integer(64),
            Cell::Number(0.1),
            Cell::Text("a \"b\"".into()),
        ]);
        table.push(vec![Cell::Missing, Cell::Missing, Cell::Missing]);
        let path = dir.path().join("table.csv");
        table.write_csv(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "batch_size,\"odd, name\",sync\r\n64,0.1,\"a \"\"b\"\"\"\r\n,,\r\n"
        );
        table
            .write_parquet(&dir.path().join("table.parquet"))
            .unwrap();
    }
}
