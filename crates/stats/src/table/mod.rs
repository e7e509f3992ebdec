//! Named columns in memory: what an analysis reads.

mod builder;
mod column;

pub use builder::{BuildTableError, TableBuilder};
pub use column::{Column, ColumnData, FirstText, MISSING_CODE};

use paceline_model::spelling::nearest;

/// A frame of named columns of equal length.
///
/// Row numbers in errors count data rows from one, so that a reader can add the
/// header line. A missing value is kept here and handled where a formula uses
/// it: only rows missing a *used* value are left out of a fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: usize,
}

/// Why columns do not make a table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MakeTableError {
    /// Two columns share a name.
    #[error("column `{name}` appears twice")]
    DuplicateColumn {
        /// The repeated name.
        name: String,
    },
    /// A column is longer or shorter than the first.
    #[error("column `{name}` has {rows} rows where the others have {expected}")]
    UnequalLength {
        /// The column.
        name: String,
        /// Its rows.
        rows: usize,
        /// The rows of the first column.
        expected: usize,
    },
    /// A categorical cell names a level that does not exist.
    #[error("column `{name}`, row {row}: level code {code} of {levels} levels")]
    UnknownLevel {
        /// The column.
        name: String,
        /// The data row, counted from one.
        row: usize,
        /// The code found.
        code: u32,
        /// How many levels the column has.
        levels: usize,
    },
}

impl Table {
    /// Checks and joins columns.
    ///
    /// # Errors
    ///
    /// When names repeat, lengths differ, or a categorical code has no level.
    pub fn new(columns: Vec<Column>) -> Result<Table, MakeTableError> {
        let rows = columns.first().map_or(0, Column::len);
        for (index, column) in columns.iter().enumerate() {
            let name = column.name();
            if columns[..index].iter().any(|other| other.name() == name) {
                return Err(MakeTableError::DuplicateColumn {
                    name: name.to_owned(),
                });
            }
            if column.len() != rows {
                return Err(MakeTableError::UnequalLength {
                    name: name.to_owned(),
                    rows: column.len(),
                    expected: rows,
                });
            }
            if let ColumnData::Categorical { levels, codes, .. } = column.data() {
                let wrong = |&(_, &code): &(usize, &u32)| {
                    code != MISSING_CODE && code as usize >= levels.len()
                };
                if let Some((row, &code)) = codes.iter().enumerate().find(wrong) {
                    return Err(MakeTableError::UnknownLevel {
                        name: name.to_owned(),
                        row: row + 1,
                        code,
                        levels: levels.len(),
                    });
                }
            }
        }
        Ok(Table { columns, rows })
    }

    /// A table to be fed row by row or column chunk by column chunk.
    pub fn builder<N: Into<String>>(names: impl IntoIterator<Item = N>) -> TableBuilder {
        TableBuilder::new(names.into_iter().map(Into::into).collect())
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name() == name)
    }

    /// The position of the column of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name() == name)
    }

    /// The column name closest to a mistyped one, if any is close.
    pub fn nearest_name(&self, name: &str) -> Option<&str> {
        nearest(name, self.columns.iter().map(Column::name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_unequal_length_are_refused() {
        let result = Table::new(vec![
            Column::numeric("a", vec![1.0]),
            Column::numeric("b", vec![1.0, 2.0]),
        ]);
        assert_eq!(
            result.unwrap_err().to_string(),
            "column `b` has 2 rows where the others have 1"
        );
    }

    #[test]
    fn a_code_without_a_level_is_refused_with_its_row() {
        let result = Table::new(vec![Column::categorical(
            "a",
            vec!["x".into()],
            vec![0, MISSING_CODE, 1],
        )]);
        assert_eq!(
            result.unwrap_err().to_string(),
            "column `a`, row 3: level code 1 of 1 levels"
        );
    }

    #[test]
    fn a_mistyped_name_finds_its_neighbour() {
        let table = Table::new(vec![
            Column::numeric("epochs", vec![]),
            Column::numeric("nodes", vec![]),
        ])
        .unwrap();
        assert_eq!(table.nearest_name("epoch"), Some("epochs"));
        assert_eq!(table.nearest_name("zzzzzz"), None);
    }
}
