//! What a model trains on: rows of features and a class for each.

use std::ops::Range;
use std::sync::Arc;

use crate::csr::Csr;
use crate::shared::{Bytes, Floats, Ids};
use crate::text::TextEncoder;

/// Rows of features with a class for each. Clones share their memory.
#[derive(Debug, Clone)]
pub struct DataSet {
    name: String,
    features: Features,
    labels: Labels,
    encoder: Option<Arc<TextEncoder>>,
}

/// The features of all rows, in the form that suits them.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// One byte per value, row after row; a value is its byte times `scale`.
    /// Grey images have scale 1/255.
    Bytes {
        /// The bytes of all rows.
        values: Bytes,
        /// Values per row.
        width: usize,
        /// What a byte is multiplied by.
        scale: f32,
    },
    /// Single-precision values, row after row.
    Dense {
        /// The values of all rows.
        values: Floats,
        /// Values per row.
        width: usize,
    },
    /// Rows that are mostly zero.
    Sparse(Csr),
    /// Sequences of words as dictionary indexes, row after row. Index 0 is the
    /// null word that pads short rows on the left.
    Tokens {
        /// The indexes of all rows.
        ids: Ids,
        /// Words per row.
        length: usize,
        /// Every index is below this.
        vocabulary: usize,
    },
}

/// A class per row, as an index into the names of the classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    values: Ids,
    names: Arc<[String]>,
}

/// The rows to learn from and the rows to judge by.
#[derive(Debug, Clone)]
pub struct Split {
    /// What a model learns from.
    pub train: DataSet,
    /// What it is judged by; no row of it is in `train`.
    pub test: DataSet,
}

/// Why features and labels are not a data set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The number of values is not a multiple of the row's width.
    #[error("{values} values do not divide into rows of {width}")]
    Ragged {
        /// How many values there are.
        values: usize,
        /// How many a row should have.
        width: usize,
    },
    /// There are not as many labels as rows.
    #[error("{rows} rows of features but {labels} labels")]
    Rows {
        /// Rows of features.
        rows: usize,
        /// Labels.
        labels: usize,
    },
    /// A label or word index is not below its bound.
    #[error("{what} {value} is not below {bound}")]
    Index {
        /// What the index means.
        what: &'static str,
        /// The offending index.
        value: u32,
        /// What it should be below.
        bound: usize,
    },
    /// Rows are numbered with 32 bits.
    #[error("{rows} rows are more than the 4,294,967,295 a data set can have")]
    TooManyRows {
        /// How many there are.
        rows: usize,
    },
}

impl DataSet {
    /// Puts features and labels together; they must have as many rows.
    pub fn new(
        name: impl Into<String>,
        features: Features,
        labels: Labels,
    ) -> Result<Self, ShapeError> {
        let rows = features.checked_rows()?;
        if rows != labels.len() {
            return Err(ShapeError::Rows {
                rows,
                labels: labels.len(),
            });
        }
        if u32::try_from(rows).is_err() {
            return Err(ShapeError::TooManyRows { rows });
        }
        Ok(Self {
            name: name.into(),
            features,
            labels,
            encoder: None,
        })
    }

    /// Keeps what turned texts into these features, so that other texts can
    /// be encoded in the same way.
    pub(crate) fn with_encoder(mut self, encoder: Arc<TextEncoder>) -> Self {
        self.encoder = Some(encoder);
        self
    }

    /// The same data under another name.
    pub(crate) fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// What the data set is called in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The features of all rows.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The class of each row.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// What turned texts into these features; nothing for data that never was
    /// text.
    pub fn encoder(&self) -> Option<&Arc<TextEncoder>> {
        self.encoder.as_ref()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// The number of features of a row: columns, or words of a sequence.
    pub fn width(&self) -> usize {
        self.features.width()
    }

    /// The number of classes, those without a row included.
    pub fn classes(&self) -> usize {
        self.labels.names.len()
    }

    /// How many rows each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes()];
        for label in self.labels.iter() {
            counts[*label as usize] += 1;
        }
        counts
    }

    /// The rows `range`, sharing this data set's memory.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the rows.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let per_row = |width: usize| range.start * width..range.end * width;
        let features = match &self.features {
            Features::Bytes {
                values,
                width,
                scale,
            } => Features::Bytes {
                values: values.slice(per_row(*width)),
                width: *width,
                scale: *scale,
            },
            Features::Dense { values, width } => Features::Dense {
                values: values.slice(per_row(*width)),
                width: *width,
            },
            Features::Sparse(csr) => Features::Sparse(csr.slice(range.clone())),
            Features::Tokens {
                ids,
                length,
                vocabulary,
            } => Features::Tokens {
                ids: ids.slice(per_row(*length)),
                length: *length,
                vocabulary: *vocabulary,
            },
        };
        Self {
            name: self.name.clone(),
            features,
            labels: Labels {
                values: self.labels.values.slice(range),
                names: Arc::clone(&self.labels.names),
            },
            encoder: self.encoder.clone(),
        }
    }

    /// A copy of the given rows, in the given order.
    ///
    /// # Panics
    ///
    /// If a row does not exist.
    pub fn select(&self, rows: &[u32]) -> Self {
        let features = match &self.features {
            Features::Bytes {
                values,
                width,
                scale,
            } => Features::Bytes {
                values: gather(values, *width, rows).into(),
                width: *width,
                scale: *scale,
            },
            Features::Dense { values, width } => Features::Dense {
                values: gather(values, *width, rows).into(),
                width: *width,
            },
            Features::Sparse(csr) => Features::Sparse(csr.select(rows)),
            Features::Tokens {
                ids,
                length,
                vocabulary,
            } => Features::Tokens {
                ids: gather(ids, *length, rows).into(),
                length: *length,
                vocabulary: *vocabulary,
            },
        };
        Self {
            name: self.name.clone(),
            features,
            labels: Labels {
                values: gather(&self.labels.values, 1, rows).into(),
                names: Arc::clone(&self.labels.names),
            },
            encoder: self.encoder.clone(),
        }
    }
}

impl Features {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Bytes { values, width, .. } => values.len() / width,
            Self::Dense { values, width } => values.len() / width,
            Self::Sparse(csr) => csr.rows(),
            Self::Tokens { ids, length, .. } => ids.len() / length,
        }
    }

    /// The number of features of a row: columns, or words of a sequence.
    pub fn width(&self) -> usize {
        match self {
            Self::Bytes { width, .. } | Self::Dense { width, .. } => *width,
            Self::Sparse(csr) => csr.width(),
            Self::Tokens { length, .. } => *length,
        }
    }

    fn checked_rows(&self) -> Result<usize, ShapeError> {
        let (values, width) = match self {
            Self::Bytes { values, width, .. } => (values.len(), *width),
            Self::Dense { values, width } => (values.len(), *width),
            Self::Sparse(csr) => return Ok(csr.rows()),
            Self::Tokens {
                ids,
                length,
                vocabulary,
            } => {
                check_below("the word index", ids, *vocabulary)?;
                (ids.len(), *length)
            }
        };
        if width == 0 || values % width != 0 {
            return Err(ShapeError::Ragged { values, width });
        }
        Ok(values / width)
    }
}

impl Labels {
    /// Takes a class per row; each must be below the number of names.
    pub fn new(values: impl Into<Ids>, names: Vec<String>) -> Result<Self, ShapeError> {
        let values = values.into();
        check_below("the class", &values, names.len())?;
        Ok(Self {
            values,
            names: names.into(),
        })
    }

    /// The names of the classes, in the order of their indexes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The class of each row, in memory that can be shared.
    pub fn ids(&self) -> &Ids {
        &self.values
    }
}

impl std::ops::Deref for Labels {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.values
    }
}

fn check_below(what: &'static str, ids: &[u32], bound: usize) -> Result<(), ShapeError> {
    match ids.iter().max() {
        Some(largest) if *largest as usize >= bound => Err(ShapeError::Index {
            what,
            value: *largest,
            bound,
        }),
        _ => Ok(()),
    }
}

fn gather<T: Copy>(values: &[T], width: usize, rows: &[u32]) -> Vec<T> {
    let mut gathered = Vec::with_capacity(rows.len() * width);
    for row in rows {
        let start = *row as usize * width;
        gathered.extend_from_slice(&values[start..start + width]);
    }
    gathered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[u32]) -> Labels {
        Labels::new(values.to_vec(), vec!["no".into(), "yes".into()]).unwrap()
    }

    fn dense(rows: &[u32]) -> Result<DataSet, ShapeError> {
        let values: Vec<f32> = (0_u8..6).map(f32::from).collect();
        let features = Features::Dense {
            values: values.into(),
            width: 2,
        };
        DataSet::new("example", features, labels(rows))
    }

    #[test]
    fn features_and_labels_must_have_as_many_rows() {
        assert_eq!(
            dense(&[0, 1]).unwrap_err(),
            ShapeError::Rows { rows: 3, labels: 2 }
        );
    }

    #[test]
    fn a_label_without_a_class_is_refused() {
        let error = Labels::new(vec![0, 2], vec!["a".into(), "b".into()]).unwrap_err();
        assert_eq!(error.to_string(), "the class 2 is not below 2");
    }

    #[test]
    fn values_must_fill_whole_rows() {
        let features = Features::Bytes {
            values: vec![1; 5].into(),
            width: 2,
            scale: 1.0,
        };
        assert_eq!(
            DataSet::new("ragged", features, labels(&[0, 1])).unwrap_err(),
            ShapeError::Ragged {
                values: 5,
                width: 2
            }
        );
    }

    #[test]
    fn slices_and_selections_keep_features_and_labels_together() {
        let set = dense(&[0, 1, 1]).unwrap();
        let expected = Features::Dense {
            values: vec![2.0, 3.0, 4.0, 5.0].into(),
            width: 2,
        };
        for part in [set.slice(1..3), set.select(&[1, 2])] {
            assert_eq!(part.features(), &expected);
            assert_eq!(&**part.labels(), [1, 1]);
            assert_eq!(part.class_counts(), [0, 2]);
        }
    }
}
