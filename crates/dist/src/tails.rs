//! The two tails of a distribution at a point.

/// The probabilities of a value up to a point and above it. The smaller one is
/// computed; the other is one minus it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tails {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Tails {
    /// At a point below all values.
    pub(crate) const START: Self = Self {
        lower: 0.0,
        upper: 1.0,
    };
    /// At a point above all values.
    pub(crate) const END: Self = Self {
        lower: 1.0,
        upper: 0.0,
    };
    /// At a point that is not a number.
    pub(crate) const NAN: Self = Self {
        lower: f64::NAN,
        upper: f64::NAN,
    };

    /// From the lower tail, which rounding may leave just above one.
    pub(crate) fn from_lower(lower: f64) -> Self {
        let lower = lower.min(1.0);
        Self {
            lower,
            upper: 1.0 - lower,
        }
    }

    /// From the upper tail, which rounding may leave just above one.
    pub(crate) fn from_upper(upper: f64) -> Self {
        let upper = upper.min(1.0);
        Self {
            lower: 1.0 - upper,
            upper,
        }
    }
}
