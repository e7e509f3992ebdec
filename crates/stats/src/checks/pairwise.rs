//! Which groups differ from which?

use paceline_dist::StudentizedRange;

use super::means::{error_rate, welch_error};
use super::sample::{Groups, Moments, SampleError};

/// The comparison of one pair of groups, corrected for all pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairwiseComparison {
    /// The index of the first group.
    pub first: usize,
    /// The index of the second group, which is the larger one.
    pub second: usize,
    /// The mean of the second group minus that of the first.
    pub difference: f64,
    /// The lower end of the simultaneous confidence interval.
    pub lower: f64,
    /// The upper end of the simultaneous confidence interval.
    pub upper: f64,
    /// The difference in units of the studentised range.
    pub statistic: f64,
    /// The degrees of freedom of the error.
    pub df: f64,
    /// The p-value, corrected for all pairs.
    pub p: f64,
}

/// What Tukey's test needs to know of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupMean {
    /// The mean of the response.
    pub mean: f64,
    /// The number of values behind it.
    pub count: usize,
}

/// Tukey's honest significant differences for groups of any size (Tukey–Kramer),
/// if the groups are normal with equal variances. `level` is the simultaneous
/// confidence of the intervals, usually 0.95.
///
/// # Errors
///
/// If every group has one value, if the values do not vary within groups, or if
/// the level is not between zero and one.
pub fn tukey_hsd(groups: &Groups<'_>, level: f64) -> Result<Vec<PairwiseComparison>, SampleError> {
    let moments: Vec<Moments> = groups.iter().map(Moments::of).collect();
    let means: Vec<GroupMean> = groups
        .iter()
        .zip(&moments)
        .map(|(values, group)| GroupMean {
            // Only differences count; relative to one group they keep more digits.
            mean: group.mean.minus(moments[0].mean),
            count: values.len(),
        })
        .collect();
    let found = groups.total();
    if found <= groups.count() {
        return Err(SampleError::TooFew {
            needed: groups.count() + 1,
            found,
        });
    }
    let df = (found - groups.count()) as f64;
    let within: f64 = moments.iter().map(|group| group.square).sum();
    if within <= 0.0 {
        return Err(SampleError::Constant);
    }
    tukey_kramer(&means, within / df, df, level)
}

/// Tukey's test with the error of a larger model: its mean square and degrees
/// of freedom.
///
/// # Errors
///
/// If there are fewer than two groups, one is empty or its mean not finite, if
/// the mean square is not positive and finite, if `df` is below one, or if the
/// level is not between zero and one.
pub fn tukey_kramer(
    means: &[GroupMean],
    mean_square: f64,
    df: f64,
    level: f64,
) -> Result<Vec<PairwiseComparison>, SampleError> {
    if means.len() < 2 {
        return Err(SampleError::TooFewGroups { found: means.len() });
    }
    for (index, group) in means.iter().enumerate() {
        if group.count == 0 {
            return Err(SampleError::SmallGroup {
                group: index,
                needed: 1,
                found: 0,
            });
        }
        if !group.mean.is_finite() {
            return Err(SampleError::NotFinite {
                index,
                value: group.mean,
            });
        }
    }
    if !(mean_square > 0.0 && mean_square.is_finite()) {
        return Err(SampleError::ErrorMeanSquare { value: mean_square });
    }
    compare(means.len(), level, |first, second| {
        let (a, b) = (means[first], means[second]);
        Pair {
            difference: b.mean - a.mean,
            // The range is in units of one mean: a half of the variance.
            error: (0.5 * mean_square * (1.0 / a.count as f64 + 1.0 / b.count as f64)).sqrt(),
            df,
        }
    })
}

/// Tukey's test of differences of `groups` adjusted means, each given with its
/// standard error: first and second index, difference, error.
///
/// # Errors
///
/// If there are fewer than two groups, if `df` is below one, or if the level is
/// not between zero and one.
pub fn tukey_contrasts(
    groups: usize,
    contrasts: impl IntoIterator<Item = (usize, usize, f64, f64)>,
    df: f64,
    level: f64,
) -> Result<Vec<PairwiseComparison>, SampleError> {
    if groups < 2 {
        return Err(SampleError::TooFewGroups { found: groups });
    }
    let mut scale = RangeScale::new(groups, level)?;
    contrasts
        .into_iter()
        .map(|(first, second, difference, standard_error)| {
            let pair = Pair {
                difference,
                error: standard_error / 2_f64.sqrt(),
                df,
            };
            scale.judge(first, second, &pair)
        })
        .collect()
}

/// The test of Games and Howell (Journal of Educational Statistics 1, 1976):
/// like Tukey's, whatever the variances of the groups.
///
/// # Errors
///
/// If a group has fewer than two values, or values that are all equal, or if
/// the level is not between zero and one.
pub fn games_howell(
    groups: &Groups<'_>,
    level: f64,
) -> Result<Vec<PairwiseComparison>, SampleError> {
    let moments = groups.varying_moments()?;
    compare(moments.len(), level, |first, second| {
        let (a, b) = (&moments[first], &moments[second]);
        let (standard_error, df) = welch_error(a, b);
        Pair {
            difference: b.mean.minus(a.mean),
            error: standard_error / 2_f64.sqrt(),
            df,
        }
    })
}

/// One difference and its error in units of the studentised range.
struct Pair {
    difference: f64,
    error: f64,
    df: f64,
}

/// All pairs of `groups` groups, in lexicographic order.
fn compare(
    groups: usize,
    level: f64,
    pair: impl Fn(usize, usize) -> Pair,
) -> Result<Vec<PairwiseComparison>, SampleError> {
    let mut scale = RangeScale::new(groups, level)?;
    let mut comparisons = Vec::with_capacity(groups * (groups - 1) / 2);
    for first in 0..groups {
        for second in first + 1..groups {
            comparisons.push(scale.judge(first, second, &pair(first, second))?);
        }
    }
    Ok(comparisons)
}

/// The studentised range of so many groups.
struct RangeScale {
    groups: u32,
    alpha: f64,
    /// Pairs with the same error share the critical value, which is the
    /// expensive part.
    known: Option<(f64, f64)>,
}

impl RangeScale {
    fn new(groups: usize, level: f64) -> Result<RangeScale, SampleError> {
        let alpha = error_rate(level)?;
        let groups = u32::try_from(groups).map_err(|_| SampleError::TooMany {
            limit: u32::MAX as usize,
            found: groups,
        })?;
        Ok(RangeScale {
            groups,
            alpha,
            known: None,
        })
    }

    fn judge(
        &mut self,
        first: usize,
        second: usize,
        pair: &Pair,
    ) -> Result<PairwiseComparison, SampleError> {
        let Pair {
            difference,
            error,
            df,
        } = *pair;
        let range =
            StudentizedRange::new(self.groups, df).map_err(|_| SampleError::ErrorDf { df })?;
        let critical = match self.known {
            Some((at, value)) if at == df => value,
            _ => range.upper_quantile(self.alpha),
        };
        self.known = Some((df, critical));
        let statistic = difference.abs() / error;
        Ok(PairwiseComparison {
            first,
            second,
            difference,
            lower: difference - critical * error,
            upper: difference + critical * error,
            statistic,
            df,
            p: range.sf(statistic),
        })
    }
}
