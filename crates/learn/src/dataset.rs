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

/// Features and, for each row, the class it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    features: Features,
    labels: Vec<u32>,
    classes: usize,
}

/// Why features and labels do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LabelledError {
    /// There are more or fewer labels than rows.
    #[error("{labels} labels for {rows} rows of features")]
    LengthMismatch {
        /// How many rows of features there are.
        rows: usize,
        /// How many labels were given.
        labels: usize,
    },
    /// A label does not name one of the classes.
    #[error("row {row} has label {label}; with {classes} classes labels end at {}", classes - 1)]
    UnknownClass {
        /// The row, counted from zero.
        row: usize,
        /// The label found.
        label: u32,
        /// How many classes there are.
        classes: usize,
    },
    /// There is nothing to tell apart.
    #[error("{classes} classes; at least two are needed")]
    TooFewClasses {
        /// How many classes were announced.
        classes: usize,
    },
}

impl Labelled {
    /// Checks that every row has a label below `classes`.
    pub fn new(
        features: Features,
        labels: Vec<u32>,
        classes: usize,
    ) -> Result<Self, LabelledError> {
        if classes < 2 {
            return Err(LabelledError::TooFewClasses { classes });
        }
        if features.rows() != labels.len() {
            return Err(LabelledError::LengthMismatch {
                rows: features.rows(),
                labels: labels.len(),
            });
        }
        let unknown = labels.iter().position(|&label| label as usize >= classes);
        match unknown {
            Some(row) => Err(LabelledError::UnknownClass {
                row,
                label: labels[row],
                classes,
            }),
            None => Ok(Self {
                features,
                labels,
                classes,
            }),
        }
    }

    /// The features.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The class of each row.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How many observations there are.
    pub fn rows(&self) -> usize {
        self.labels.len()
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
    fn targets_and_labels_must_match_the_rows() {
        assert_eq!(
            Dataset::new(two_rows(), vec![1.0]).unwrap_err().to_string(),
            "1 targets for 2 rows of features"
        );
        assert_eq!(
            Labelled::new(two_rows(), vec![0, 3], 3)
                .unwrap_err()
                .to_string(),
            "row 1 has label 3; with 3 classes labels end at 2"
        );
        assert!(Labelled::new(two_rows(), vec![0, 0], 1).is_err());
    }
}
