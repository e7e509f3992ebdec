//! Do groups, or fitted values, differ in spread?

use super::column_space::ColumnSpace;
use super::means::one_way_anova;
use super::outcome::{ChiSquaredTest, FTest};
use super::sample::{Centre, Groups, Moments, SampleError, finite};
use crate::lstsq::sum_of_squares;

/// Bartlett's test: equal variances, if the groups are normal (Proceedings of
/// the Royal Society A 160, 1937). It mistakes heavy tails for unequal
/// variances; [`brown_forsythe`] does not.
///
/// # Errors
///
/// If a group has fewer than two values, or values that are all equal.
pub fn bartlett(groups: &Groups<'_>) -> Result<ChiSquaredTest, SampleError> {
    let moments = groups.varying_moments()?;
    let k = moments.len() as f64;
    let df = |group: &Moments| group.count - 1.0;
    let total: f64 = moments.iter().map(df).sum();
    let pooled = moments.iter().map(|group| group.square).sum::<f64>() / total;
    // The logarithm of a ratio near one keeps digits that the difference of two
    // logarithms of large or small variances would lose.
    let divergence: f64 = moments
        .iter()
        .map(|group| df(group) * (pooled / group.variance()).ln())
        .sum();
    let inverse: f64 = moments.iter().map(|group| 1.0 / df(group)).sum();
    let correction = 1.0 + (inverse - 1.0 / total) / (3.0 * (k - 1.0));
    Ok(ChiSquaredTest::new(divergence / correction, k - 1.0))
}

/// Levene's test: equal mean deviations from the group means.
///
/// # Errors
///
/// If every group has one value, or the deviations do not vary within groups.
pub fn levene(groups: &Groups<'_>) -> Result<FTest, SampleError> {
    deviations(groups, Centre::mean)
}

/// The test of Brown and Forsythe: equal mean deviations from the group
/// medians (Journal of the American Statistical Association 69, 1974). It is
/// robust against values that are not normal.
///
/// # Errors
///
/// If every group has one value, or the deviations do not vary within groups.
pub fn brown_forsythe(groups: &Groups<'_>) -> Result<FTest, SampleError> {
    deviations(groups, Centre::median)
}

/// The analysis of variance of the distances from a centre of each group.
fn deviations(groups: &Groups<'_>, centre: fn(&[f64]) -> Centre) -> Result<FTest, SampleError> {
    let distances: Vec<Vec<f64>> = groups
        .iter()
        .map(|values| {
            let centre = centre(values);
            values
                .iter()
                .map(|value| centre.deviation(*value).abs())
                .collect()
        })
        .collect();
    let slices: Vec<&[f64]> = distances.iter().map(Vec::as_slice).collect();
    one_way_anova(&Groups::new(&slices)?)
}

/// The two forms of the test of Breusch and Pagan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreuschPagan {
    /// The Lagrange multiplier, `n R²` of the auxiliary regression.
    pub lagrange: ChiSquaredTest,
    /// The F test of the auxiliary regression, better in small samples.
    pub f: FTest,
}

/// The test of Breusch and Pagan, studentised by Koenker (Journal of
/// Econometrics 17, 1981): the variance of the residuals does not depend
/// linearly on the columns. A constant column is implied.
///
/// # Errors
///
/// If lengths differ, if a number is not finite, if all squared residuals are
/// equal, if the columns do not vary, or if there are too few residuals for the
/// auxiliary regression.
pub fn breusch_pagan(residuals: &[f64], columns: &[&[f64]]) -> Result<BreuschPagan, SampleError> {
    let n = residuals.len();
    finite(residuals.iter().copied())?;
    let space = ColumnSpace::with_constant(n, columns)?;
    let df1 = space.rank() as f64 - 1.0;
    if df1 < 1.0 {
        return Err(SampleError::NothingAdded);
    }
    let df2 = n as f64 - df1 - 1.0;
    if df2 < 1.0 {
        return Err(SampleError::TooFew {
            needed: space.rank() + 1,
            found: n,
        });
    }
    let squares: Vec<f64> = residuals.iter().map(|e| e * e).collect();
    let total = Moments::of(&squares).square;
    if total <= 0.0 {
        return Err(SampleError::Constant);
    }
    let unexplained = sum_of_squares(space.residuals(&squares)?.into_iter());
    let explained = (total - unexplained).max(0.0);
    Ok(BreuschPagan {
        lagrange: ChiSquaredTest::new(n as f64 * explained / total, df1),
        f: FTest::new((explained / df1) / (unexplained / df2), df1, df2),
    })
}
