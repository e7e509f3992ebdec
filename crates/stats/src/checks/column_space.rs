//! The space spanned by some columns, as an orthonormal basis.

use super::sample::{SampleError, finite, same_length};

/// An orthonormal basis of the columns of a design.
///
/// Built by modified Gram–Schmidt with every projection done twice, which keeps
/// the basis orthogonal to the last digits (Giraud, Langou and Rozložník 2005).
#[derive(Debug, Clone)]
pub(super) struct ColumnSpace {
    rows: usize,
    basis: Vec<Vec<f64>>,
}

/// A column whose part outside the space so far is smaller than this, relative
/// to the column, adds no dimension.
const DEPENDENT: f64 = 1e-10;

impl ColumnSpace {
    pub(super) fn of(rows: usize, columns: &[&[f64]]) -> Result<Self, SampleError> {
        let mut space = Self {
            rows,
            basis: Vec::new(),
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
            // The space does not depend on a column's scale; this one keeps the
            // squares in range.
            let largest = column
                .iter()
                .fold(0.0_f64, |max, value| max.max(value.abs()));
            if largest == 0.0 {
                continue;
            }
            let mut rest: Vec<f64> = column.iter().map(|value| value / largest).collect();
            let before = norm(&rest);
            self.remove_from(&mut rest);
            let after = norm(&rest);
            if after > DEPENDENT * before {
                rest.iter_mut().for_each(|value| *value /= after);
                self.basis.push(rest);
            }
        }
        Ok(())
    }

    /// The number of independent columns.
    pub(super) fn rank(&self) -> usize {
        self.basis.len()
    }

    pub(super) fn basis(&self) -> &[Vec<f64>] {
        &self.basis
    }

    /// What the space does not explain of `values`.
    pub(super) fn residuals(&self, values: &[f64]) -> Result<Vec<f64>, SampleError> {
        same_length(self.rows, values.len())?;
        let mut rest = values.to_vec();
        self.remove_from(&mut rest);
        Ok(rest)
    }

    fn remove_from(&self, rest: &mut [f64]) {
        for _ in 0..2 {
            for direction in &self.basis {
                let share = dot(direction, rest);
                for (value, d) in rest.iter_mut().zip(direction) {
                    *value -= share * d;
                }
            }
        }
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}
