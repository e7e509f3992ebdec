//! A table of finite numbers: one row per observation, one column per feature.

use thiserror::Error;

/// A table of finite numbers, one row per observation and one column per
/// feature. A value of this type holds no NaN and no infinity.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    values: Vec<f64>,
    columns: usize,
}

/// Why numbers do not form a table.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum FeaturesError {
    /// A table has no columns.
    #[error("a table of features needs at least one column")]
    NoColumns,
    /// A row is longer or shorter than the first one.
    #[error("row {row} has {found} values where {expected} are expected")]
    Ragged {
        /// The row, counted from zero.
        row: usize,
        /// How many values the first row has.
        expected: usize,
        /// How many values this row has.
        found: usize,
    },
    /// A value is NaN or infinite.
    #[error("row {row}, column {column} is {value}; features must be finite")]
    NotFinite {
        /// The row, counted from zero.
        row: usize,
        /// The column, counted from zero.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// More rows than the trees can number.
    #[error("{rows} rows are too many; at most {} are supported", u32::MAX)]
    TooManyRows {
        /// How many rows were given.
        rows: usize,
    },
}

impl Features {
    /// Checks rows of equal length.
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self, FeaturesError> {
        let Some(first) = rows.first() else {
            return Err(FeaturesError::NoColumns);
        };
        let columns = first.as_ref().len();
        let mut values = Vec::with_capacity(rows.len() * columns);
        for (row, cells) in rows.iter().enumerate() {
            let cells = cells.as_ref();
            if cells.len() != columns {
                return Err(FeaturesError::Ragged {
                    row,
                    expected: columns,
                    found: cells.len(),
                });
            }
            values.extend_from_slice(cells);
        }
        Self::from_flat(values, columns)
    }

    /// Checks values that are given row after row.
    pub fn from_flat(values: Vec<f64>, columns: usize) -> Result<Self, FeaturesError> {
        if columns == 0 {
            return Err(FeaturesError::NoColumns);
        }
        let rows = values.len() / columns;
        let rest = values.len() % columns;
        if rest != 0 {
            return Err(FeaturesError::Ragged {
                row: rows,
                expected: columns,
                found: rest,
            });
        }
        if u32::try_from(rows).is_err() {
            return Err(FeaturesError::TooManyRows { rows });
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(FeaturesError::NotFinite {
                row: at / columns,
                column: at % columns,
                value: values[at],
            }),
            None => Ok(Self { values, columns }),
        }
    }

    /// How many observations there are.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    /// How many features there are; at least one.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One observation.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// All observations in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns)
    }

    /// One feature of every observation.
    pub fn column(&self, column: usize) -> impl Iterator<Item = f64> {
        self.values
            .iter()
            .skip(column)
            .step_by(self.columns)
            .copied()
    }

    /// The named rows in the named order; a row may be named more than once.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        for &row in rows {
            values.extend_from_slice(self.row(row));
        }
        Self {
            values,
            columns: self.columns,
        }
    }

    /// The values row after row.
    pub fn as_flat(&self) -> &[f64] {
        &self.values
    }

    /// A table computed from finite numbers by finite arithmetic.
    pub(crate) fn from_finite(values: Vec<f64>, columns: usize) -> Self {
        debug_assert!(values.iter().all(|value| value.is_finite()));
        Self { values, columns }
    }

    /// The same table with one column replaced by its values in another order.
    pub(crate) fn with_column_permuted(&self, column: usize, order: &[u32]) -> Self {
        let mut values = self.values.clone();
        for (row, &from) in order.iter().enumerate() {
            values[row * self.columns + column] = self.row(from as usize)[column];
        }
        Self {
            values,
            columns: self.columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_finite_is_refused_with_its_position() {
        let rows = [[1.0, 2.0], [3.0, f64::INFINITY]];
        let error = Features::from_rows(&rows).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 1, column 1 is inf; features must be finite"
        );
    }

    #[test]
    fn ragged_and_empty_tables_are_refused() {
        let ragged: [&[f64]; 2] = [&[1.0, 2.0], &[3.0]];
        assert!(matches!(
            Features::from_rows(&ragged),
            Err(FeaturesError::Ragged {
                row: 1,
                expected: 2,
                found: 1
            })
        ));
        assert_eq!(
            Features::from_flat(vec![1.0; 5], 2),
            Err(FeaturesError::Ragged {
                row: 2,
                expected: 2,
                found: 1
            })
        );
        assert_eq!(
            Features::from_rows::<[f64; 0]>(&[]),
            Err(FeaturesError::NoColumns)
        );
    }

    #[test]
    fn selected_rows_come_in_the_named_order() {
        let table = Features::from_flat(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 2).unwrap();
        let picked = table.select(&[2, 0, 2]);
        assert_eq!(picked.as_flat(), [4.0, 5.0, 0.0, 1.0, 4.0, 5.0]);
        assert_eq!(table.column(1).collect::<Vec<_>>(), [1.0, 3.0, 5.0]);
    }
}
