//! Checks shared by the constructors.

use thiserror::Error;

/// Why a distribution cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ParameterError {
    /// The parameter must be positive and finite.
    #[error("{name} is {value}; it must be positive and finite")]
    NotPositive {
        /// What the parameter is called in the constructor.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// The studentised range needs at least two groups.
    #[error("a range needs at least two groups, not {groups}")]
    TooFewGroups {
        /// The number of groups given.
        groups: u32,
    },
    /// The parameter must be at least one and finite.
    #[error("{name} is {value}; it must be at least one, and finite")]
    BelowOne {
        /// What the parameter is called in the constructor.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// A probability lies within zero and one.
    #[error("{value} is no probability")]
    NotAProbability {
        /// The value given.
        value: f64,
    },
    /// The parameter must be zero or positive, and finite.
    #[error("{name} is {value}; it must be zero or positive, and finite")]
    Negative {
        /// What the parameter is called in the constructor.
        name: &'static str,
        /// The value given.
        value: f64,
    },
}

pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64, ParameterError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(ParameterError::NotPositive { name, value })
    }
}

pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<f64, ParameterError> {
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(ParameterError::Negative { name, value })
    }
}
