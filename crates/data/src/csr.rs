//! Sparse rows.

use std::ops::Range;

use crate::shared::{Floats, Ids, Offsets};

/// A matrix in compressed sparse rows: the entries of row `i` lie at
/// `indptr[i]..indptr[i + 1]` of the column indexes and of the values. Columns
/// ascend strictly within a row and are below the width.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    indptr: Offsets,
    indices: Ids,
    values: Floats,
    width: usize,
}

/// Why arrays are not a matrix in compressed sparse rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CsrError {
    /// The row bounds are empty, do not begin at zero, descend or do not end
    /// at the number of entries.
    #[error("row bounds must ascend from 0 to the number of entries, {entries}")]
    Bounds {
        /// How many entries there are.
        entries: usize,
    },
    /// There are not as many values as column indexes.
    #[error("{indices} column indexes but {values} values")]
    Lengths {
        /// How many column indexes there are.
        indices: usize,
        /// How many values there are.
        values: usize,
    },
    /// A row's columns do not ascend or reach beyond the width.
    #[error("the columns of row {row} do not ascend strictly below {width}")]
    Columns {
        /// The row, counted from zero.
        row: usize,
        /// The number of columns.
        width: usize,
    },
}

impl Csr {
    /// Checks and takes the arrays.
    pub fn new(
        indptr: impl Into<Offsets>,
        indices: impl Into<Ids>,
        values: impl Into<Floats>,
        width: usize,
    ) -> Result<Self, CsrError> {
        let (indptr, indices, values) = (indptr.into(), indices.into(), values.into());
        let entries = indices.len();
        if values.len() != entries {
            return Err(CsrError::Lengths {
                indices: entries,
                values: values.len(),
            });
        }
        let ascends = indptr.first() == Some(&0)
            && indptr.last() == Some(&(entries as u64))
            && indptr.is_sorted();
        if !ascends {
            return Err(CsrError::Bounds { entries });
        }
        for (row, bounds) in indptr.windows(2).enumerate() {
            let columns = &indices[bounds[0] as usize..bounds[1] as usize];
            let ascends = columns.windows(2).all(|pair| pair[0] < pair[1]);
            let inside = columns.last().is_none_or(|last| (*last as usize) < width);
            if !(ascends && inside) {
                return Err(CsrError::Columns { row, width });
            }
        }
        Ok(Self {
            indptr,
            indices,
            values,
            width,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where each row begins, and where the last one ends.
    pub fn indptr(&self) -> &[u64] {
        &self.indptr
    }

    /// The columns of all entries, row after row.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values of all entries, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The columns and values of one row's entries.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.indptr[row] as usize..self.indptr[row + 1] as usize;
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The rows `range`, sharing the memory of the entries.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the rows.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let bounds = &self.indptr[range.start..=range.end];
        let base = bounds[0];
        let entries = base as usize..bounds[bounds.len() - 1] as usize;
        let indptr: Vec<u64> = bounds.iter().map(|bound| bound - base).collect();
        Self {
            indptr: indptr.into(),
            indices: self.indices.slice(entries.clone()),
            values: self.values.slice(entries),
            width: self.width,
        }
    }

    /// A copy of the given rows, in the given order.
    ///
    /// # Panics
    ///
    /// If a row does not exist.
    pub fn select(&self, rows: &[u32]) -> Self {
        let entries = rows.iter().map(|row| self.row(*row as usize).0.len()).sum();
        let mut indptr = Vec::with_capacity(rows.len() + 1);
        let mut indices = Vec::with_capacity(entries);
        let mut values = Vec::with_capacity(entries);
        indptr.push(0);
        for row in rows {
            let (columns, numbers) = self.row(*row as usize);
            indices.extend_from_slice(columns);
            values.extend_from_slice(numbers);
            indptr.push(indices.len() as u64);
        }
        Self {
            indptr: indptr.into(),
            indices: indices.into(),
            values: values.into(),
            width: self.width,
        }
    }

    /// The same rows with more columns, which have no entries.
    pub(crate) fn widened(mut self, width: usize) -> Self {
        self.width = self.width.max(width);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Csr {
        Csr::new(vec![0, 2, 2, 3], vec![0, 4, 1], vec![1.0, 2.0, 3.0], 5).unwrap()
    }

    #[test]
    fn a_slice_begins_at_zero_again() {
        let part = example().slice(1..3);
        assert_eq!(part.indptr(), [0, 0, 1]);
        assert_eq!(part.row(1), (&[1][..], &[3.0][..]));
    }

    #[test]
    fn selected_rows_come_in_the_asked_order() {
        let part = example().select(&[2, 0, 0]);
        assert_eq!(part.indptr(), [0, 1, 3, 5]);
        assert_eq!(part.indices(), [1, 0, 4, 0, 4]);
    }

    #[test]
    fn bounds_that_descend_and_columns_that_repeat_are_refused() {
        let bounds = Csr::new(vec![0, 2, 1], vec![0], vec![1.0], 2);
        assert_eq!(bounds.unwrap_err(), CsrError::Bounds { entries: 1 });
        let repeated = Csr::new(vec![0, 2], vec![1, 1], vec![1.0, 1.0], 2);
        assert_eq!(
            repeated.unwrap_err(),
            CsrError::Columns { row: 0, width: 2 }
        );
        let beyond = Csr::new(vec![0, 1], vec![2], vec![1.0], 2);
        assert_eq!(beyond.unwrap_err(), CsrError::Columns { row: 0, width: 2 });
    }
}
