//! The plain form in which kernel machines are stored.

use super::SvmKernel;
use super::model::KernelSvmModel;
use super::points::Points;
use crate::parts::{expect_finite, expect_length};
use crate::{DenseRows, PartsError, Rows, SparseRows};

/// The parts of a [`KernelSvmModel`] as plain numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSvmParts {
    /// The kernel.
    pub kernel: SvmKernel,
    /// How many features a row has.
    pub columns: usize,
    /// How many support vectors each class has, one entry per class.
    pub support_counts: Vec<u32>,
    /// The support vectors in order of class.
    pub vectors: SupportVectors,
    /// Signed weights: a line of all support vectors for each class but one. A
    /// vector of class `a` has its weight against class `b` in line `b`, or
    /// `b − 1` if `b` is above `a`.
    pub weights: Vec<f32>,
    /// The threshold of each pair of classes: 0 and 1, 0 and 2, …
    pub thresholds: Vec<f32>,
    /// Whether every machine reached its tolerance.
    pub converged: bool,
}

/// Support vectors as plain numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum SupportVectors {
    /// Every value, row after row.
    Dense(Vec<f32>),
    /// Compressed sparse rows; see [`SparseRows`].
    Sparse {
        /// Where each row begins, and the end of the last.
        starts: Vec<u64>,
        /// The column of each value.
        places: Vec<u32>,
        /// The values.
        values: Vec<f32>,
    },
}

impl KernelSvmModel {
    /// The model as plain numbers.
    pub fn to_parts(&self) -> KernelSvmParts {
        KernelSvmParts {
            kernel: self.kernel,
            columns: self.columns(),
            support_counts: self.counts.iter().map(|&count| count as u32).collect(),
            vectors: self.vectors.to_stored(),
            weights: self.weights.clone(),
            thresholds: self.thresholds.clone(),
            converged: self.converged,
        }
    }

    /// Checks plain numbers that [`KernelSvmModel::to_parts`] may have given.
    pub fn from_parts(parts: KernelSvmParts) -> Result<Self, PartsError> {
        parts.kernel.check()?;
        let classes = parts.support_counts.len();
        if classes < 2 {
            return Err(PartsError::Length {
                part: "support_counts",
                expected: 2,
                found: classes,
            });
        }
        let counts: Vec<usize> = parts.support_counts.iter().map(|&c| c as usize).collect();
        let support: usize = counts.iter().sum();
        let (rows, vectors) = match &parts.vectors {
            SupportVectors::Dense(values) => {
                let rows = DenseRows::new(values, parts.columns)?;
                (rows.rows(), Points::all(rows.into()))
            }
            SupportVectors::Sparse {
                starts,
                places,
                values,
            } => {
                let starts: Vec<usize> = starts.iter().map(|&start| start as usize).collect();
                let rows = SparseRows::new(&starts, places, values, parts.columns)?;
                (rows.rows(), Points::all(Rows::Sparse(rows)))
            }
        };
        expect_length("vectors", rows, support)?;
        expect_length("weights", parts.weights.len(), (classes - 1) * support)?;
        let pairs = classes * (classes - 1) / 2;
        expect_length("thresholds", parts.thresholds.len(), pairs)?;
        expect_finite("weights", &parts.weights)?;
        expect_finite("thresholds", &parts.thresholds)?;
        Ok(Self {
            kernel: parts.kernel,
            vectors,
            counts,
            weights: parts.weights,
            thresholds: parts.thresholds,
            converged: parts.converged,
        })
    }
}
