//! Do the means of groups differ?

use super::outcome::FTest;
use super::sample::{Groups, Moments, SampleError, between};

/// The one-way analysis of variance: equal means, if the groups are normal with
/// equal variances.
///
/// # Errors
///
/// If every group has one value, or the values do not vary within groups.
pub fn one_way_anova(groups: &Groups<'_>) -> Result<FTest, SampleError> {
    let moments: Vec<Moments> = groups.iter().map(Moments::of).collect();
    let df1 = groups.count() as f64 - 1.0;
    let df2 = groups.total() as f64 - groups.count() as f64;
    if df2 < 1.0 {
        return Err(SampleError::TooFew {
            needed: groups.count() + 1,
            found: groups.total(),
        });
    }
    let within: f64 = moments.iter().map(|group| group.square).sum();
    if within <= 0.0 {
        return Err(SampleError::Constant);
    }
    let counts: Vec<f64> = moments.iter().map(|group| group.count).collect();
    let between = between(&moments, &counts);
    Ok(FTest::new((between / df1) / (within / df2), df1, df2))
}

/// Welch's analysis of variance: equal means, if the groups are normal, whatever
/// their variances (Welch, Biometrika 38, 1951).
///
/// # Errors
///
/// If a group has fewer than two values, or values that are all equal.
pub fn welch_anova(groups: &Groups<'_>) -> Result<FTest, SampleError> {
    let moments = groups.varying_moments()?;
    let weights: Vec<f64> = moments
        .iter()
        .map(|group| group.count / group.variance())
        .collect();
    let total: f64 = weights.iter().sum();
    let df1 = moments.len() as f64 - 1.0;
    let between = between(&moments, &weights) / df1;
    let k = moments.len() as f64;
    let imbalance = weights
        .iter()
        .zip(&moments)
        .map(|(weight, group)| (1.0 - weight / total).powi(2) / (group.count - 1.0))
        .sum::<f64>()
        / (k * k - 1.0);
    let statistic = between / (1.0 + 2.0 * (k - 2.0) * imbalance);
    Ok(FTest::new(statistic, df1, 1.0 / (3.0 * imbalance)))
}

/// The standard error of a difference of means and its degrees of freedom by
/// Welch and Satterthwaite. Both groups vary.
pub(super) fn welch_error(first: &Moments, second: &Moments) -> (f64, f64) {
    let share = |group: &Moments| group.variance() / group.count;
    let (a, b) = (share(first), share(second));
    // Relative shares cannot overflow or underflow when squared.
    let (u, v) = (a / (a + b), b / (a + b));
    let df = 1.0 / (u * u / (first.count - 1.0) + v * v / (second.count - 1.0));
    // Never below the smaller group's, but for rounding.
    let least = first.count.min(second.count) - 1.0;
    ((a + b).sqrt(), df.max(least))
}

/// One minus a confidence level.
pub(super) fn error_rate(level: f64) -> Result<f64, SampleError> {
    if level > 0.0 && level < 1.0 {
        Ok(1.0 - level)
    } else {
        Err(SampleError::Level { level })
    }
}
