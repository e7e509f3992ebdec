//! What a response can be at all, and how far data say anything about it.

use super::region::Outside;
use super::scale::Scale;
use std::fmt;

/// The values that a response can take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Support {
    /// Any number.
    Any,
    /// Zero and above, as times and sizes.
    NotNegative,
    /// From zero to this: one for a share, a hundred for a percentage.
    UpTo(f64),
}

/// Words in the names of shares.
const SHARES: [&str; 14] = [
    "accuracy",
    "acc",
    "auc",
    "f1",
    "precision",
    "recall",
    "share",
    "fraction",
    "probability",
    "utilisation",
    "utilization",
    "percent",
    "pct",
    "coverage",
];
/// Words in the names of amounts.
const AMOUNTS: [&str; 14] = [
    "time",
    "duration",
    "latency",
    "seconds",
    "s",
    "ms",
    "us",
    "cost",
    "energy",
    "memory",
    "bytes",
    "throughput",
    "joules",
    "price",
];

impl Support {
    /// What the name of a response and its values say: `accuracy` within 0 and 1
    /// is a share, within 0 and 100 a percentage.
    pub fn of(response: &str, values: &[f64]) -> Self {
        let name = response.to_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let is = |known: &[&str]| words.iter().any(|word| known.contains(word));
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low < 0.0 {
            return Self::Any;
        }
        match (is(&SHARES), is(&AMOUNTS)) {
            (true, _) if high <= 1.0 => Self::UpTo(1.0),
            (true, _) if high <= 100.0 => Self::UpTo(100.0),
            (_, true) => Self::NotNegative,
            _ => Self::Any,
        }
    }

    pub(crate) fn clamp(self, value: f64) -> f64 {
        match self {
            Self::Any => value,
            Self::NotNegative => value.max(0.0),
            Self::UpTo(most) => value.clamp(0.0, most),
        }
    }

    /// The probability of keeping `response <= limit` if that needs no data.
    pub(crate) fn at_most(self, limit: f64) -> Option<f64> {
        match self {
            Self::UpTo(most) if limit >= most => Some(1.0),
            Self::UpTo(_) | Self::NotNegative if limit < 0.0 => Some(0.0),
            _ => None,
        }
    }

    /// The probability of keeping `response >= limit` if that needs no data.
    pub(crate) fn at_least(self, limit: f64) -> Option<f64> {
        match self {
            Self::UpTo(most) if limit > most => Some(0.0),
            Self::UpTo(_) | Self::NotNegative if limit <= 0.0 => Some(1.0),
            _ => None,
        }
    }
}

/// An interval, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Interval {
    /// From here to there.
    Known {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// The runs do not say.
    NotKnown(NotKnown),
}

/// Why the runs do not bound a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotKnown {
    /// What was observed scatters too much for so few runs.
    TooFewRuns,
    /// The configuration is too far outside what was run.
    FarOutside,
}

impl NotKnown {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooFewRuns => "too_few_runs",
            Self::FarOutside => "far_outside",
        }
    }
}

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooFewRuns => "not known, too few runs",
            Self::FarOutside => "not known, too far outside what was run",
        })
    }
}

impl Interval {
    /// Both ends, if they are known.
    pub fn ends(self) -> Option<(f64, f64)> {
        match self {
            Self::Known { low, high } => Some((low, high)),
            Self::NotKnown(_) => None,
        }
    }
}

/// How far the observed values reach, on the model's scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reach {
    low: f64,
    high: f64,
}

/// Data say something as far as this many of their own ranges beyond themselves.
const RANGES: f64 = 3.0;
/// The range of a response that hardly varies, on a logarithmic scale.
const LEAST_LOG_RANGE: f64 = std::f64::consts::LN_2;

impl Reach {
    pub(crate) fn of(values: &[f64], scale: Scale) -> Self {
        let on_scale = || values.iter().map(|&value| scale.to(value));
        let low = on_scale().fold(f64::INFINITY, f64::min);
        let high = on_scale().fold(f64::NEG_INFINITY, f64::max);
        let range = match scale {
            Scale::Log => (high - low).max(LEAST_LOG_RANGE),
            Scale::Identity if high > low => high - low,
            Scale::Identity => high.abs(),
        };
        Self {
            low: low - RANGES * range,
            high: high + RANGES * range,
        }
    }

    /// Whether the runs bound a response by these ends.
    pub(crate) fn supports(&self, low: f64, high: f64) -> bool {
        low >= self.low && high <= self.high
    }

    pub(crate) fn clamp(&self, value: f64) -> f64 {
        if value.is_nan() {
            return self.low;
        }
        value.clamp(self.low, self.high)
    }
}

/// Why an interval that the runs do not support is not known.
pub(crate) fn reason(outside: &[Outside]) -> NotKnown {
    if outside.is_empty() {
        NotKnown::TooFewRuns
    } else {
        NotKnown::FarOutside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_amounts_are_known_by_name_and_value() {
        let check = |name: &str, values: &[f64], expected: Support| {
            assert_eq!(Support::of(name, values), expected, "{name}");
        };
        check("test_accuracy", &[0.2, 1.0], Support::UpTo(1.0));
        check("accuracy", &[93.4, 12.0], Support::UpTo(100.0));
        check("accuracy", &[930.0], Support::Any);
        check("time", &[0.2, 0.9], Support::NotNegative);
        check("drift_s", &[-0.2, 0.9], Support::Any);
        check("timeline", &[0.2], Support::Any);
    }
}
