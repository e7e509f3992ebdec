//! The rows of a data set as `learn` reads them.

use std::borrow::Cow;

use paceline_data::{DataSet, Features};
use paceline_kernels::Kernels;
use paceline_learn::{DenseRows, Rows, RowsError, SparseRows};

/// Rows in the memory of the data set, or copied where its form differs.
pub(super) enum Held<'a> {
    Dense {
        values: Cow<'a, [f32]>,
        width: usize,
    },
    Sparse {
        starts: Vec<usize>,
        places: &'a [u32],
        values: &'a [f32],
        width: usize,
    },
}

impl<'a> Held<'a> {
    /// Nothing for sequences of words, which have no columns.
    pub(super) fn of(data: &'a DataSet) -> Option<Self> {
        Some(match data.features() {
            Features::Bytes {
                values,
                width,
                scale,
            } => {
                let mut wide = vec![0.0; values.len()];
                Kernels::detect().widen(values, *scale, &mut wide);
                Self::Dense {
                    values: wide.into(),
                    width: *width,
                }
            }
            Features::Dense { values, width } => Self::Dense {
                values: Cow::Borrowed(values),
                width: *width,
            },
            Features::Sparse(matrix) => Self::Sparse {
                starts: matrix
                    .indptr()
                    .iter()
                    .map(|start| *start as usize)
                    .collect(),
                places: matrix.indices(),
                values: matrix.values(),
                width: matrix.width(),
            },
            Features::Tokens { .. } => return None,
        })
    }

    /// The rows, checked.
    pub(super) fn rows(&self) -> Result<Rows<'_>, RowsError> {
        Ok(match self {
            Self::Dense { values, width } => DenseRows::new(values, *width)?.into(),
            Self::Sparse {
                starts,
                places,
                values,
                width,
            } => SparseRows::new(starts, places, values, *width)?.into(),
        })
    }

    /// One over the width times the variance of all values, zeros included; one
    /// over the width if they do not vary. scikit-learn calls it
    /// `gamma="scale"`.
    pub(super) fn usual_gamma(&self) -> f64 {
        let (values, width, count) = match self {
            Self::Dense { values, width } => (&values[..], *width, values.len()),
            Self::Sparse {
                starts,
                values,
                width,
                ..
            } => (*values, *width, (starts.len() - 1) * width),
        };
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in values {
            let value = f64::from(*value);
            sum += value;
            squares += value * value;
        }
        let mean = sum / count as f64;
        let variance = squares / count as f64 - mean * mean;
        // Rounding may leave a little of a variance that is zero.
        let varies = variance > 1e-12 * (squares / count as f64);
        1.0 / (width as f64 * if varies { variance } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_data::{Csr, Labels};

    fn set(features: Features) -> DataSet {
        let labels = Labels::new(vec![0, 1], vec!["a".into(), "b".into()]).unwrap();
        DataSet::new("two rows", features, labels).unwrap()
    }

    #[test]
    fn dense_bytes_and_sparse_rows_have_the_same_usual_gamma() {
        let dense = set(Features::Dense {
            values: vec![0.0, 0.5, 0.0, 1.0].into(),
            width: 2,
        });
        let bytes = set(Features::Bytes {
            values: vec![0, 1, 0, 2].into(),
            width: 2,
            scale: 0.5,
        });
        let csr = Csr::new(vec![0, 1, 2], vec![1, 1], vec![0.5, 1.0], 2).unwrap();
        let sparse = set(Features::Sparse(csr));
        // Mean 0.375, mean square 0.3125.
        let expected = 1.0 / (2.0 * (0.3125 - 0.375 * 0.375));
        for set in [&dense, &bytes, &sparse] {
            let found = Held::of(set).unwrap().usual_gamma();
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
    }

    #[test]
    fn constant_values_have_a_gamma_too() {
        let constant = set(Features::Dense {
            values: vec![3.0; 4].into(),
            width: 2,
        });
        assert_eq!(Held::of(&constant).unwrap().usual_gamma(), 0.5);
    }
}
