//! Checked views of single-precision features.

use thiserror::Error;

/// Rows of features, dense or sparse. All values are finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rows<'a> {
    /// Every value is stored.
    Dense(DenseRows<'a>),
    /// Only values other than zero are stored.
    Sparse(SparseRows<'a>),
}

/// Rows whose values are all stored, row after row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DenseRows<'a> {
    values: &'a [f32],
    columns: usize,
}

/// Rows of which only the values other than zero are stored (compressed sparse
/// rows): row `i` holds `values[starts[i]..starts[i + 1]]` in the columns
/// `places[starts[i]..starts[i + 1]]`, which ascend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseRows<'a> {
    starts: &'a [usize],
    places: &'a [u32],
    values: &'a [f32],
    columns: usize,
}

/// Why numbers do not form rows of features.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RowsError {
    /// Rows have no columns.
    #[error("rows of features need at least one column")]
    NoColumns,
    /// More columns than can be numbered.
    #[error("{columns} columns are too many; at most {} are supported", u32::MAX)]
    TooManyColumns {
        /// How many columns were announced.
        columns: usize,
    },
    /// More rows than can be numbered.
    #[error("{rows} rows are too many; at most {} are supported", u32::MAX)]
    TooManyRows {
        /// How many rows were given.
        rows: usize,
    },
    /// The last row is not complete.
    #[error("row {row} has {found} values where {expected} are expected")]
    Ragged {
        /// The row, counted from zero.
        row: usize,
        /// How many columns there are.
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
        value: f32,
    },
    /// The places and values of sparse rows are not of one length.
    #[error("{places} places for {values} values")]
    PlacesMismatch {
        /// How many places were given.
        places: usize,
        /// How many values were given.
        values: usize,
    },
    /// The starts of sparse rows do not ascend from zero to the number of values.
    #[error("the starts of sparse rows must ascend from 0 to {values}; entry {entry} does not")]
    Starts {
        /// The entry of `starts`, counted from zero.
        entry: usize,
        /// How many values were given.
        values: usize,
    },
    /// The places of a sparse row do not ascend or name a column that is not there.
    #[error("row {row} names column {place}; places must ascend and be below {columns}")]
    Place {
        /// The row, counted from zero.
        row: usize,
        /// The place found.
        place: u32,
        /// How many columns there are.
        columns: usize,
    },
}

fn check_columns(columns: usize) -> Result<(), RowsError> {
    if columns == 0 {
        return Err(RowsError::NoColumns);
    }
    if u32::try_from(columns).is_err() {
        return Err(RowsError::TooManyColumns { columns });
    }
    Ok(())
}

impl<'a> DenseRows<'a> {
    /// Checks values that are given row after row.
    pub fn new(values: &'a [f32], columns: usize) -> Result<Self, RowsError> {
        check_columns(columns)?;
        let rows = values.len() / columns;
        let rest = values.len() % columns;
        if rest != 0 {
            return Err(RowsError::Ragged {
                row: rows,
                expected: columns,
                found: rest,
            });
        }
        if u32::try_from(rows).is_err() {
            return Err(RowsError::TooManyRows { rows });
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(RowsError::NotFinite {
                row: at / columns,
                column: at % columns,
                value: values[at],
            }),
            None => Ok(Self { values, columns }),
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    /// How many features there are; at least one.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// All values, row after row.
    pub fn as_flat(&self) -> &'a [f32] {
        self.values
    }
}

impl<'a> SparseRows<'a> {
    /// Checks rows in compressed form. `starts` has one entry more than there
    /// are rows.
    pub fn new(
        starts: &'a [usize],
        places: &'a [u32],
        values: &'a [f32],
        columns: usize,
    ) -> Result<Self, RowsError> {
        check_columns(columns)?;
        if places.len() != values.len() {
            return Err(RowsError::PlacesMismatch {
                places: places.len(),
                values: values.len(),
            });
        }
        let wrong = |entry| RowsError::Starts {
            entry,
            values: values.len(),
        };
        let (first, last) = match starts {
            [] => return Err(wrong(0)),
            [only] => (*only, *only),
            [first, .., last] => (*first, *last),
        };
        if first != 0 {
            return Err(wrong(0));
        }
        if let Some(row) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(wrong(row + 1));
        }
        if last != values.len() {
            return Err(wrong(starts.len() - 1));
        }
        let rows = starts.len() - 1;
        if u32::try_from(rows).is_err() {
            return Err(RowsError::TooManyRows { rows });
        }
        let checked = Self {
            starts,
            places,
            values,
            columns,
        };
        for row in 0..rows {
            checked.check_row(row)?;
        }
        Ok(checked)
    }

    fn check_row(&self, row: usize) -> Result<(), RowsError> {
        let (places, values) = self.row(row);
        let mut least = 0;
        for (&place, &value) in places.iter().zip(values) {
            if (place as usize) < least || place as usize >= self.columns {
                return Err(RowsError::Place {
                    row,
                    place,
                    columns: self.columns,
                });
            }
            least = place as usize + 1;
            if !value.is_finite() {
                return Err(RowsError::NotFinite {
                    row,
                    column: place as usize,
                    value,
                });
            }
        }
        Ok(())
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many features there are; at least one.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The columns and values of one row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, row: usize) -> (&'a [u32], &'a [f32]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// How many values are stored.
    pub fn stored(&self) -> usize {
        self.values.len()
    }
}

impl Rows<'_> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.rows(),
            Self::Sparse(rows) => rows.rows(),
        }
    }

    /// How many features there are; at least one.
    pub fn columns(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.columns(),
            Self::Sparse(rows) => rows.columns(),
        }
    }
}

impl<'a> From<DenseRows<'a>> for Rows<'a> {
    fn from(rows: DenseRows<'a>) -> Self {
        Self::Dense(rows)
    }
}

impl<'a> From<SparseRows<'a>> for Rows<'a> {
    fn from(rows: SparseRows<'a>) -> Self {
        Self::Sparse(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused<T: std::fmt::Debug>(result: Result<T, RowsError>, text: &str) {
        assert_eq!(result.unwrap_err().to_string(), text);
    }

    #[test]
    fn dense_rows_that_are_ragged_or_not_finite_are_refused() {
        refused(
            DenseRows::new(&[1.0, 2.0, 3.0], 2),
            "row 1 has 1 values where 2 are expected",
        );
        refused(
            DenseRows::new(&[1.0, f32::NAN], 1),
            "row 1, column 0 is NaN; features must be finite",
        );
        refused(
            DenseRows::new(&[], 0),
            "rows of features need at least one column",
        );
    }

    #[test]
    fn sparse_rows_with_a_wrong_structure_are_refused_with_the_place() {
        let starts = "the starts of sparse rows must ascend from 0 to 2; entry";
        let refuse = |starts: &[usize], places: &[u32], values: &[f32], text: &str| {
            refused(SparseRows::new(starts, places, values, 3), text);
        };
        refuse(&[], &[0, 1], &[1.0; 2], &format!("{starts} 0 does not"));
        refuse(&[1, 2], &[0, 1], &[1.0; 2], &format!("{starts} 0 does not"));
        refuse(
            &[0, 2, 1, 2],
            &[0, 1],
            &[1.0; 2],
            &format!("{starts} 2 does not"),
        );
        refuse(&[0, 3], &[0, 1], &[1.0; 2], &format!("{starts} 1 does not"));
        refuse(&[0, 2], &[0], &[1.0; 2], "1 places for 2 values");
        refuse(
            &[0, 2],
            &[1, 1],
            &[1.0; 2],
            "row 0 names column 1; places must ascend and be below 3",
        );
        refuse(
            &[0, 0, 1],
            &[3],
            &[1.0],
            "row 1 names column 3; places must ascend and be below 3",
        );
        refuse(
            &[0, 1],
            &[2],
            &[f32::INFINITY],
            "row 0, column 2 is inf; features must be finite",
        );
    }

    #[test]
    fn a_sparse_row_gives_back_what_was_stored() {
        let rows = SparseRows::new(&[0, 2, 2, 3], &[0, 4, 1], &[1.0, -2.0, 3.0], 5).unwrap();
        assert_eq!((rows.rows(), rows.columns(), rows.stored()), (3, 5, 3));
        assert_eq!(rows.row(0), (&[0, 4][..], &[1.0, -2.0][..]));
        assert_eq!(rows.row(1), (&[][..], &[][..]));
    }
}
