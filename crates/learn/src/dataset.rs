//! Features together with what is to be learned from them.

use crate::Features;
use thiserror::Error;

/// Features and, for each row, the number to be predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    features: Features,
    target: Vec<f64>,
}

/// Why features and targets do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum DatasetError {
    /// There are more or fewer targets than rows.
    #[error("{targets} targets for {rows} rows of features")]
    LengthMismatch {
        /// How many rows of features there are.
        rows: usize,
        /// How many targets were given.
        targets: usize,
    },
    /// A target is NaN or infinite.
    #[error("the target of row {row} is {value}; targets must be finite")]
    NotFinite {
        /// The row, counted from zero.
        row: usize,
        /// The value found.
        value: f64,
    },
}

impl Dataset {
    /// Checks that every row has a finite target.
    pub fn new(features: Features, target: Vec<f64>) -> Result<Self, DatasetError> {
        if features.rows() != target.len() {
            return Err(DatasetError::LengthMismatch {
                rows: features.rows(),
                targets: target.len(),
            });
        }
        match target.iter().position(|value| !value.is_finite()) {
            Some(row) => Err(DatasetError::NotFinite {
                row,
                value: target[row],
            }),
            None => Ok(Self { features, target }),
        }
    }

    /// The features.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The number to be predicted for each row.
    pub fn target(&self) -> &[f64] {
        &self.target
    }

    /// How many observations there are.
    pub fn rows(&self) -> usize {
        self.target.len()
    }

    /// How many features there are.
    pub fn columns(&self) -> usize {
        self.features.columns()
    }

    /// The named rows in the named order.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            features: self.features.select(rows),
            target: rows.iter().map(|&row| self.target[row]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_rows() -> Features {
        Features::from_rows(&[[1.0], [2.0]]).unwrap()
    }

    #[test]
    fn a_target_that_is_not_a_number_is_refused_with_its_row() {
        let error = Dataset::new(two_rows(), vec![1.0, f64::NAN]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the target of row 1 is NaN; targets must be finite"
        );
    }

    #[test]
    fn targets_must_match_the_rows() {
        assert_eq!(
            Dataset::new(two_rows(), vec![1.0]).unwrap_err().to_string(),
            "1 targets for 2 rows of features"
        );
    }
}
