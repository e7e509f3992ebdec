//! Do the means of groups differ?

use paceline_dist::StudentT;

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

/// The difference of two means, with unequal variances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanDifference {
    /// The mean of the second group minus that of the first.
    pub difference: f64,
    /// The standard error of the difference.
    pub standard_error: f64,
    /// The difference over its standard error.
    pub statistic: f64,
    /// Welch's approximate degrees of freedom.
    pub df: f64,
    /// The two-sided p-value.
    pub p: f64,
}

impl MeanDifference {
    /// The ends of the confidence interval of the difference.
    ///
    /// # Errors
    ///
    /// If the level is not between zero and one.
    pub fn interval(&self, level: f64) -> Result<(f64, f64), SampleError> {
        let alpha = error_rate(level)?;
        let t = StudentT::new(self.df).expect("Welch's degrees of freedom are positive");
        let margin = t.upper_quantile(0.5 * alpha) * self.standard_error;
        Ok((self.difference - margin, self.difference + margin))
    }
}

/// Welch's t test: equal means of two groups, if they are normal, whatever their
/// variances.
///
/// # Errors
///
/// If a group has fewer than two values, if a value is not finite, or if a
/// group does not vary.
pub fn welch_t(first: &[f64], second: &[f64]) -> Result<MeanDifference, SampleError> {
    let moments = Groups::new(&[first, second])?.varying_moments()?;
    let (standard_error, df) = welch_error(&moments[0], &moments[1]);
    let difference = moments[1].mean.minus(moments[0].mean);
    let statistic = difference / standard_error;
    let t = StudentT::new(df).expect("Welch's degrees of freedom are positive");
    Ok(MeanDifference {
        difference,
        standard_error,
        statistic,
        df,
        p: t.two_sided(statistic),
    })
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
