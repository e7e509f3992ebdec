//! The scale on which a response is modelled.

/// The scale on which a response is modelled and its errors are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scale {
    /// As it is.
    Identity,
    /// By its logarithm: errors are relative, as those of times are.
    Log,
}

impl Scale {
    /// Logarithmic if all values are above zero and span a factor of two.
    pub(crate) fn of(values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low > 0.0 && high >= 2.0 * low {
            Self::Log
        } else {
            Self::Identity
        }
    }

    /// To the scale. Values that have no logarithm are below all others.
    pub(crate) fn to(self, value: f64) -> f64 {
        match self {
            Self::Identity => value,
            Self::Log if value > 0.0 => value.ln(),
            Self::Log => f64::NEG_INFINITY,
        }
    }

    /// Back to the response.
    pub(crate) fn back(self, value: f64) -> f64 {
        match self {
            Self::Identity => value,
            Self::Log => value.exp(),
        }
    }
}
