//! Data that a test can be applied to, and why other data cannot.

use thiserror::Error;

use crate::lstsq::{DoubleDouble, sum_of_squares};

/// Why a test cannot be applied to the data. Indices count from zero.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum SampleError {
    /// The test needs more values.
    #[error("the test needs at least {needed} values, not {found}")]
    TooFew {
        /// The least number of values.
        needed: usize,
        /// The number given.
        found: usize,
    },
    /// The test is not defined for so many values.
    #[error("the test is defined for at most {limit} values, not {found}")]
    TooMany {
        /// The greatest number of values.
        limit: usize,
        /// The number given.
        found: usize,
    },
    /// There is nothing to compare.
    #[error("the test compares at least two groups, not {found}")]
    TooFewGroups {
        /// The number given.
        found: usize,
    },
    /// A group needs more values.
    #[error("group {group} needs at least {needed} values, not {found}")]
    SmallGroup {
        /// The index of the group.
        group: usize,
        /// The least number of values.
        needed: usize,
        /// The number given.
        found: usize,
    },
    /// A value is NaN or infinite.
    #[error("value {index} is {value}; the test needs finite numbers")]
    NotFinite {
        /// The index of the value, counted through all groups in order.
        index: usize,
        /// The value.
        value: f64,
    },
    /// The square of a value, or a sum of squares, could overflow.
    #[error("value {index} is {value:e}; the test needs values within ±{LARGEST:e}")]
    TooLarge {
        /// The index of the value, counted through all groups in order.
        index: usize,
        /// The value.
        value: f64,
    },
    /// All values are equal, within the groups where there are groups, so that
    /// there is no variation to measure anything against.
    #[error("the values do not vary")]
    Constant,
    /// The test divides by the variance of each group.
    #[error("the values of group {group} do not vary")]
    ConstantGroup {
        /// The index of the group.
        group: usize,
    },
    /// Two sequences that belong together differ in length.
    #[error("{found} values do not match {expected}")]
    LengthMismatch {
        /// The length of the first sequence.
        expected: usize,
        /// The length of the other.
        found: usize,
    },
    /// The terms under test add nothing to the model: they are zero, or
    /// combinations of the terms that it has already.
    #[error("the tested terms add nothing to the model")]
    NothingAdded,
    /// The error is estimated too poorly to compare with.
    #[error("the error has {df} degrees of freedom, but at least one is needed")]
    ErrorDf {
        /// The degrees of freedom given.
        df: f64,
    },
    /// The error mean square of a model cannot be compared with.
    #[error("the error mean square is {value}, but it must be positive and finite")]
    ErrorMeanSquare {
        /// The value given.
        value: f64,
    },
    /// The confidence level is not between zero and one.
    #[error("confidence level {level} is not between 0 and 1")]
    Level {
        /// The level given.
        level: f64,
    },
}

/// At least two groups of finite values, none of them empty.
#[derive(Debug, Clone, Copy)]
pub struct Groups<'a> {
    groups: &'a [&'a [f64]],
}

impl<'a> Groups<'a> {
    /// Checks the groups.
    ///
    /// # Errors
    ///
    /// If there are fewer than two groups, or one is empty, or a value is not
    /// finite.
    pub fn new(groups: &'a [&'a [f64]]) -> Result<Self, SampleError> {
        if groups.len() < 2 {
            return Err(SampleError::TooFewGroups {
                found: groups.len(),
            });
        }
        let checked = Self { groups };
        checked.at_least(1)?;
        finite(groups.iter().copied().flatten().copied())?;
        Ok(checked)
    }

    /// The groups, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [f64]> + Clone {
        self.groups.iter().copied()
    }

    pub(super) fn count(&self) -> usize {
        self.groups.len()
    }

    pub(super) fn total(&self) -> usize {
        self.iter().map(<[f64]>::len).sum()
    }

    pub(super) fn pooled(&self) -> Vec<f64> {
        self.iter().flatten().copied().collect()
    }

    /// Refuses groups with fewer values than a test needs.
    pub(super) fn at_least(&self, needed: usize) -> Result<(), SampleError> {
        match self.iter().position(|values| values.len() < needed) {
            None => Ok(()),
            Some(group) => Err(SampleError::SmallGroup {
                group,
                needed,
                found: self.groups[group].len(),
            }),
        }
    }

    /// Size, mean and variance of every group, for tests that divide by the
    /// variance of each.
    pub(super) fn varying_moments(&self) -> Result<Vec<Moments>, SampleError> {
        self.at_least(2)?;
        let moments: Vec<Moments> = self.iter().map(Moments::of).collect();
        match moments.iter().position(|group| group.variance() <= 0.0) {
            None => Ok(moments),
            Some(group) => Err(SampleError::ConstantGroup { group }),
        }
    }
}

/// The middle of some values, in two parts: values far from zero that differ
/// little would lose their differences in a middle rounded to one number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Centre {
    high: f64,
    low: f64,
}

impl Centre {
    pub(super) fn mean(values: &[f64]) -> Self {
        let sum = values.iter().fold(DoubleDouble::ZERO, |sum, &value| {
            sum + DoubleDouble::from(value)
        });
        let mean = sum / DoubleDouble::from(values.len() as f64);
        Self {
            high: mean.high(),
            low: mean.low(),
        }
    }

    /// The value in the middle, or half-way between the two in the middle.
    pub(super) fn median(values: &[f64]) -> Self {
        let sorted = sorted(values);
        let upper = sorted.len() / 2;
        if sorted.len() % 2 == 1 {
            return Self {
                high: sorted[upper],
                low: 0.0,
            };
        }
        let (below, above) = (sorted[upper - 1], sorted[upper]);
        // Halves first: the difference of two large numbers may overflow.
        Self {
            high: below,
            low: 0.5 * above - 0.5 * below,
        }
    }

    pub(super) fn value(self) -> f64 {
        self.high + self.low
    }

    /// The value minus the centre.
    pub(super) fn deviation(self, value: f64) -> f64 {
        (value - self.high) - self.low
    }

    /// This centre minus another.
    pub(super) fn minus(self, other: Self) -> f64 {
        (self.high - other.high) + (self.low - other.low)
    }
}

/// The size, mean and spread of some values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) count: f64,
    pub(super) mean: Centre,
    /// Sum of squared deviations from the mean.
    pub(super) square: f64,
}

impl Moments {
    pub(super) fn of(values: &[f64]) -> Self {
        let mean = Centre::mean(values);
        // Values that are all equal must have no spread at all, even where
        // their mean is rounded.
        let constant = values.iter().all(|value| *value == values[0]);
        let square = if constant {
            0.0
        } else {
            sum_of_squares(values.iter().map(|&value| mean.deviation(value)))
        };
        Self {
            count: values.len() as f64,
            mean,
            square,
        }
    }

    pub(super) fn variance(&self) -> f64 {
        self.square / (self.count - 1.0)
    }
}

/// `Σ w (mean - grand)²` where `grand` is the mean weighted by `w`.
pub(super) fn between(moments: &[Moments], weights: &[f64]) -> f64 {
    // Relative to one of the means, the others keep the digits that differ.
    let origin = moments[0].mean;
    let offsets: Vec<f64> = moments
        .iter()
        .map(|group| group.mean.minus(origin))
        .collect();
    let weighted = || weights.iter().zip(&offsets);
    let grand = weighted().map(|(w, offset)| w * offset).sum::<f64>() / weights.iter().sum::<f64>();
    weighted()
        .map(|(w, offset)| w * (offset - grand).powi(2))
        .sum()
}

/// Sums of squares of up to 10^8 such values are finite.
const LARGEST: f64 = 1e150;

/// Refuses NaN, infinities and values whose squares overflow.
pub(super) fn finite(values: impl Iterator<Item = f64>) -> Result<(), SampleError> {
    for (index, value) in values.enumerate() {
        if !value.is_finite() {
            return Err(SampleError::NotFinite { index, value });
        }
        if value.abs() > LARGEST {
            return Err(SampleError::TooLarge { index, value });
        }
    }
    Ok(())
}

/// Refuses sequences that do not belong together.
pub(super) fn same_length(expected: usize, found: usize) -> Result<(), SampleError> {
    if expected == found {
        Ok(())
    } else {
        Err(SampleError::LengthMismatch { expected, found })
    }
}

/// The values in ascending order; they are finite.
pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}
