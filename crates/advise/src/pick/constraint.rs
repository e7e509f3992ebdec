//! Limits that a run must keep.

use std::fmt;

/// A limit on a response.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    /// The response that is limited.
    pub response: String,
    /// Its limit.
    pub limit: Limit,
}

/// An upper or a lower limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Constraint {
    /// `response <= value`.
    pub fn at_most(response: &str, value: f64) -> Self {
        Self {
            response: response.to_owned(),
            limit: Limit::AtMost(value),
        }
    }

    /// `response >= value`.
    pub fn at_least(response: &str, value: f64) -> Self {
        Self {
            response: response.to_owned(),
            limit: Limit::AtLeast(value),
        }
    }
}

impl Limit {
    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Self::AtMost(value) | Self::AtLeast(value) => value,
        }
    }

    pub(crate) fn is_met(self, response: f64) -> bool {
        match self {
            Self::AtMost(value) => response <= value,
            Self::AtLeast(value) => response >= value,
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Limit::AtMost(value) => write!(f, "{} <= {value}", self.response),
            Limit::AtLeast(value) => write!(f, "{} >= {value}", self.response),
        }
    }
}
