//! What all learners of a number have in common.

use crate::{Dataset, Features, Threads};
use thiserror::Error;

/// A learner with checked hyper-parameters.
///
/// It is an object, not a type parameter, so that one grid may hold learners of
/// different kinds.
pub trait Learner: Send + Sync {
    /// Learns from data. The same data and seed give the same model, whatever
    /// the number of threads; learners without randomness ignore the seed.
    fn learn(
        &self,
        data: &Dataset,
        seed: u64,
        threads: Threads,
    ) -> Result<Box<dyn Model>, FitError>;
}

/// Something learned: it predicts a number from a row of features.
pub trait Model: Send + Sync {
    /// How many features a row has.
    fn columns(&self) -> usize;

    /// Predicts from a row that is known to be finite and of the right length.
    fn predict_checked(&self, row: &[f64]) -> f64;

    /// Predicts from many rows that are known to be of the right length.
    fn predict_all_checked(&self, features: &Features, _threads: Threads) -> Vec<f64> {
        features
            .iter()
            .map(|row| self.predict_checked(row))
            .collect()
    }

    /// Predicts from one row.
    fn predict_row(&self, row: &[f64]) -> Result<f64, PredictError> {
        check_row(row, self.columns())?;
        Ok(self.predict_checked(row))
    }

    /// Predicts from every row.
    fn predict(&self, features: &Features, threads: Threads) -> Result<Vec<f64>, PredictError> {
        check_columns(features.columns(), self.columns())?;
        Ok(self.predict_all_checked(features, threads))
    }
}

/// Why a learner cannot learn from the data.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum FitError {
    /// There are fewer rows than the learner needs.
    #[error("{found} rows are too few; this learner needs at least {needed}")]
    TooFewRows {
        /// The least number of rows.
        needed: usize,
        /// How many rows there are.
        found: usize,
    },
    /// A count of parameters does not match the features.
    #[error("{parameter} has {found} entries for {columns} features")]
    WrongLength {
        /// The field of the parameters.
        parameter: &'static str,
        /// How many features the data have.
        columns: usize,
        /// How many entries the parameter has.
        found: usize,
    },
    /// Without a penalty the coefficients are not determined.
    #[error(
        "feature {column} is a combination of the others, so its coefficient is not determined \
         without a penalty"
    )]
    Collinear {
        /// The feature, counted from zero.
        column: usize,
    },
    /// The kernel matrix is singular even with jitter on its diagonal.
    #[error(
        "the kernel matrix of {rows} rows is not positive definite; repeated rows need noise \
         above zero"
    )]
    SingularKernel {
        /// How many rows there are.
        rows: usize,
    },
    /// Fewer than two classes have rows.
    #[error("only one class has rows; a classifier needs at least two")]
    OneClass,
    /// The magnitudes in the data overflow the arithmetic of the learner.
    #[error("the data are too large in magnitude for this learner; rescale them")]
    Overflow,
}

/// Why a row cannot be predicted from.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum PredictError {
    /// The row has more or fewer features than the model was learned from.
    #[error("{found} features where the model expects {expected}")]
    WrongColumns {
        /// How many features the model was learned from.
        expected: usize,
        /// How many features were given.
        found: usize,
    },
    /// A feature is NaN or infinite.
    #[error("feature {column} is {value}; features must be finite")]
    NotFinite {
        /// The feature, counted from zero.
        column: usize,
        /// The value found.
        value: f64,
    },
}

pub(crate) fn require_rows(found: usize, needed: usize) -> Result<(), FitError> {
    if found < needed {
        return Err(FitError::TooFewRows { needed, found });
    }
    Ok(())
}

/// Refuses numbers whose squares could overflow when they are added up.
pub(crate) fn require_moderate(values: &[f64]) -> Result<(), FitError> {
    const LARGEST: f64 = 1e140;
    if values.iter().any(|value| value.abs() > LARGEST) {
        return Err(FitError::Overflow);
    }
    Ok(())
}

pub(crate) fn check_columns(found: usize, expected: usize) -> Result<(), PredictError> {
    if found != expected {
        return Err(PredictError::WrongColumns { expected, found });
    }
    Ok(())
}

pub(crate) fn check_row(row: &[f64], columns: usize) -> Result<(), PredictError> {
    check_columns(row.len(), columns)?;
    match row.iter().position(|value| !value.is_finite()) {
        Some(column) => Err(PredictError::NotFinite {
            column,
            value: row[column],
        }),
        None => Ok(()),
    }
}
