//! Rows together with their classes.

use super::Rows;
use thiserror::Error;

/// Rows of features and, for each, the class it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labelled<'a> {
    rows: Rows<'a>,
    labels: &'a [u32],
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

impl<'a> Labelled<'a> {
    /// Checks that every row has a label below `classes`.
    pub fn new(
        rows: impl Into<Rows<'a>>,
        labels: &'a [u32],
        classes: usize,
    ) -> Result<Self, LabelledError> {
        let rows = rows.into();
        if classes < 2 {
            return Err(LabelledError::TooFewClasses { classes });
        }
        if rows.rows() != labels.len() {
            return Err(LabelledError::LengthMismatch {
                rows: rows.rows(),
                labels: labels.len(),
            });
        }
        match labels.iter().position(|&label| label as usize >= classes) {
            Some(row) => Err(LabelledError::UnknownClass {
                row,
                label: labels[row],
                classes,
            }),
            None => Ok(Self {
                rows,
                labels,
                classes,
            }),
        }
    }

    /// The features.
    pub fn features(&self) -> Rows<'a> {
        self.rows
    }

    /// The class of each row.
    pub fn labels(&self) -> &'a [u32] {
        self.labels
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How many observations there are.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// How many features there are.
    pub fn columns(&self) -> usize {
        self.rows.columns()
    }

    /// How many rows each class has.
    pub(crate) fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.classes];
        for &label in self.labels {
            sizes[label as usize] += 1;
        }
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DenseRows;

    #[test]
    fn labels_must_match_the_rows_and_name_a_class() {
        let rows = DenseRows::new(&[1.0, 2.0], 1).unwrap();
        let text = |labels: &[u32], classes| {
            let error = Labelled::new(rows, labels, classes).unwrap_err();
            error.to_string()
        };
        assert_eq!(text(&[0], 2), "1 labels for 2 rows of features");
        assert_eq!(
            text(&[0, 3], 3),
            "row 1 has label 3; with 3 classes labels end at 2"
        );
        assert_eq!(text(&[0, 0], 1), "1 classes; at least two are needed");
    }
}
