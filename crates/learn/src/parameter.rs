//! The one check that turns hyper-parameters as typed into checked ones.

use thiserror::Error;

/// A hyper-parameter outside its range.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("{parameter} is {value}; it must be {requirement}")]
pub struct ParameterError {
    /// The field of the parameters.
    pub parameter: &'static str,
    /// The value found.
    pub value: f64,
    /// What the value must be.
    pub requirement: &'static str,
}

/// Accepts a number that meets its requirement. NaN meets none, because every
/// requirement is a comparison.
pub(crate) fn require(
    parameter: &'static str,
    value: f64,
    holds: bool,
    requirement: &'static str,
) -> Result<(), ParameterError> {
    if holds && value.is_finite() {
        Ok(())
    } else {
        Err(ParameterError {
            parameter,
            value,
            requirement,
        })
    }
}

/// Accepts a count of at least `least`, which is one or two.
pub(crate) fn require_count(
    parameter: &'static str,
    value: usize,
    least: usize,
) -> Result<(), ParameterError> {
    let requirement = match least {
        1 => "at least 1",
        _ => "at least 2",
    };
    require(parameter, value as f64, value >= least, requirement)
}
