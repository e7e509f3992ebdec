//! The space spanned by the columns of a design.

use paceline_numeric::OrthonormalBasis;

use super::sample::{SampleError, finite, same_length};

/// The space of columns of one length and of finite numbers.
#[derive(Debug, Clone)]
pub(super) struct ColumnSpace {
    rows: usize,
    basis: OrthonormalBasis,
}

impl ColumnSpace {
    pub(super) fn of(rows: usize, columns: &[&[f64]]) -> Result<Self, SampleError> {
        let mut space = Self {
            rows,
            basis: OrthonormalBasis::new(),
        };
        space.extend(columns)?;
        Ok(space)
    }

    /// The space of the columns and a column of ones.
    pub(super) fn with_constant(rows: usize, columns: &[&[f64]]) -> Result<Self, SampleError> {
        let ones = vec![1.0; rows];
        let mut space = Self::of(rows, &[&ones])?;
        space.extend(columns)?;
        Ok(space)
    }

    /// Adds the dimensions of further columns.
    pub(super) fn extend(&mut self, columns: &[&[f64]]) -> Result<(), SampleError> {
        for column in columns {
            same_length(self.rows, column.len())?;
            finite(column.iter().copied())?;
            self.basis.extend(column);
        }
        Ok(())
    }

    /// The number of independent columns.
    pub(super) fn rank(&self) -> usize {
        self.basis().len()
    }

    pub(super) fn basis(&self) -> &[Vec<f64>] {
        self.basis.vectors()
    }

    /// What the space does not explain of `values`.
    pub(super) fn residuals(&self, values: &[f64]) -> Result<Vec<f64>, SampleError> {
        same_length(self.rows, values.len())?;
        let mut rest = values.to_vec();
        self.basis.remove_from(&mut rest);
        Ok(rest)
    }
}
