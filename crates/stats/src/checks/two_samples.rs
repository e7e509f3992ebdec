//! Is one of two samples larger, and by how much?

use paceline_dist::{Normal, StudentT};

use super::means::{error_rate, welch_error};
use super::ranks::Ranks;
use super::sample::{Groups, Moments, SampleError};

/// Two means compared without the assumption of equal variances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WelchTest {
    /// The mean of the second sample minus that of the first.
    pub difference: f64,
    /// The lower end of the difference's confidence interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The mean of the second sample as a multiple of that of the first;
    /// nothing where that divides by what could be zero.
    pub ratio: Option<Ratio>,
    /// Degrees of freedom by Welch and Satterthwaite.
    pub df: f64,
    /// The difference in units of its standard error.
    pub statistic: f64,
    /// The two-sided p-value.
    pub p: f64,
}

/// A ratio of means with its interval. At the same level it contains one if and
/// only if the interval of the difference contains zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub estimate: f64,
    /// The lower end of its interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// Welch's t test (Biometrika 34, 1947) with the interval of the difference, and
/// that of the ratio by Fieller's theorem (JRSS B 16, 1954). `level` is the
/// confidence of the intervals, usually 0.95. The values are taken to be
/// independent, and the means to be about normal.
///
/// # Errors
///
/// If a sample has fewer than two values, if neither varies, if a value is not
/// finite, or if the level is not between zero and one.
pub fn welch(first: &[f64], second: &[f64], level: f64) -> Result<WelchTest, SampleError> {
    let samples = [first, second];
    Groups::new(&samples)?.at_least(2)?;
    let alpha = error_rate(level)?;
    let (a, b) = (Moments::of(first), Moments::of(second));
    if a.square + b.square <= 0.0 {
        return Err(SampleError::Constant);
    }
    let (error, df) = welch_error(&a, &b);
    let t = StudentT::new(df).map_err(|_| SampleError::ErrorDf { df })?;
    let critical = t.upper_quantile(alpha / 2.0);
    let difference = b.mean.minus(a.mean);
    let statistic = difference / error;
    Ok(WelchTest {
        difference,
        lower: difference - critical * error,
        upper: difference + critical * error,
        ratio: fieller(&a, &b, critical),
        df,
        statistic,
        p: t.two_sided(statistic),
    })
}

/// All ratios r for which mean(b) − r·mean(a) is within `critical` of its
/// standard errors from zero: the roots of a quadratic in r.
fn fieller(a: &Moments, b: &Moments, critical: f64) -> Option<Ratio> {
    let (mean_a, mean_b) = (a.mean.value(), b.mean.value());
    let error = |group: &Moments| critical * critical * group.variance() / group.count;
    let (error_a, error_b) = (error(a), error(b));
    let square = mean_a * mean_a - error_a;
    // A mean that may be zero bounds no ratio.
    if square <= 0.0 {
        return None;
    }
    let product = mean_a * mean_b;
    let rest = mean_b * mean_b - error_b;
    // product² − square·rest, without the cancellation.
    let discriminant = mean_b * mean_b * error_a + mean_a * mean_a * error_b - error_a * error_b;
    let root = discriminant.max(0.0).sqrt();
    // The root of larger size is computed directly, the other from their product.
    let far = product + root.copysign(product);
    let (one, other) = match far == 0.0 {
        true => (root / square, -root / square),
        false => (far / square, rest / far),
    };
    Some(Ratio {
        estimate: mean_b / mean_a,
        lower: one.min(other),
        upper: one.max(other),
    })
}

/// The rank sum test of Wilcoxon, Mann and Whitney.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankSumTest {
    /// In how many of all pairs the second value is the larger, equal ones
    /// counting one half (Mann and Whitney's U of the second sample).
    pub statistic: f64,
    /// The same as a share of all pairs: the chance that a value of the second
    /// sample is larger than one of the first.
    pub superiority: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// Whether that is exact, by all arrangements of the ranks, or by the normal
    /// approximation with corrections for ties and continuity.
    pub exact: bool,
}

/// Up to this many values in all the p-value is exact.
const EXACT: usize = 100;

/// No sample tends to larger values than the other, whatever their
/// distribution. Exact, with ties as well, up to a hundred values in all: twice the
/// smaller of both tails, over all arrangements of the ranks.
///
/// # Errors
///
/// If a sample is empty, or a value is not finite.
pub fn rank_sum(first: &[f64], second: &[f64]) -> Result<RankSumTest, SampleError> {
    let samples = [first, second];
    let groups = Groups::new(&samples)?;
    let (n, m) = (first.len(), second.len());
    let ranks = Ranks::of(&groups.pooled());
    let own: f64 = ranks.of_value[n..].iter().sum();
    let statistic = own - 0.5 * (m * (m + 1)) as f64;
    let pairs = (n * m) as f64;
    let exact = n + m <= EXACT;
    let p = match exact {
        true => exact_tails(&ranks.of_value, own, m),
        false => approximate_tails(&ranks, statistic, n as f64, m as f64),
    };
    Ok(RankSumTest {
        statistic,
        superiority: statistic / pairs,
        p,
        exact,
    })
}

/// The least p-value that samples of these sizes can have, without ties: below it
/// no difference can be shown by ranks, however large.
#[must_use]
pub fn least_rank_sum_p(first: usize, second: usize) -> f64 {
    let (few, many) = (first.min(second), first.max(second));
    let arrangements: f64 = (0..few)
        .map(|k| (many + few - k) as f64 / (few - k) as f64)
        .product();
    (2.0 / arrangements).min(1.0)
}

/// Twice the smaller tail of the sum of `chosen` of the ranks.
fn exact_tails(ranks: &[f64], observed: f64, chosen: usize) -> f64 {
    // Mean ranks are multiples of one half.
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank) as usize).collect();
    let largest: usize = doubled.iter().sum();
    // In how many ways so many ranks give a sum.
    let mut ways = vec![vec![0.0_f64; largest + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &rank in &doubled {
        for count in (1..=chosen).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            let (fewer, more) = (&fewer[count - 1], &mut more[0]);
            for sum in rank..=largest {
                more[sum] += fewer[sum - rank];
            }
        }
    }
    let ways = &ways[chosen];
    let all: f64 = ways.iter().sum();
    let at = (2.0 * observed).round() as usize;
    let below: f64 = ways[..=at].iter().sum();
    let above: f64 = ways[at..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

fn approximate_tails(ranks: &Ranks, statistic: f64, n: f64, m: f64) -> f64 {
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ranks.ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let away = ((statistic - 0.5 * n * m).abs() - 0.5).max(0.0);
    let z = away / variance.sqrt();
    (2.0 * Normal.sf(z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_contains_one_exactly_where_the_difference_contains_zero() {
        let first = [10.0, 11.0, 9.5, 10.4, 10.2];
        for shift in -40..=40 {
            let second: Vec<f64> = first
                .iter()
                .map(|x| x * 1.1 + f64::from(shift) / 20.0)
                .collect();
            let test = welch(&first, &second, 0.95).unwrap();
            let ratio = test.ratio.unwrap();
            let by_difference = test.lower <= 0.0 && test.upper >= 0.0;
            let by_ratio = ratio.lower <= 1.0 && ratio.upper >= 1.0;
            assert_eq!(by_difference, by_ratio, "{shift}");
            assert_eq!(by_difference, test.p >= 0.05, "{shift}");
            assert!(ratio.lower <= ratio.estimate && ratio.estimate <= ratio.upper);
        }
    }

    #[test]
    fn a_mean_that_may_be_zero_bounds_no_ratio() {
        let test = welch(&[-1.0, 1.2, 0.4], &[5.0, 6.0, 5.5], 0.95).unwrap();
        assert_eq!(test.ratio, None);
    }

    #[test]
    fn what_does_not_vary_has_no_test_and_the_ranks_still_tell() {
        assert_eq!(
            welch(&[1.0, 1.0], &[2.0, 2.0], 0.95),
            Err(SampleError::Constant)
        );
        assert!(welch(&[1.0], &[2.0, 2.5], 0.95).is_err());
        assert_eq!(rank_sum(&[3.0; 4], &[3.0; 4]).unwrap().p, 1.0);
        let apart = rank_sum(&[1.0; 4], &[2.0; 4]).unwrap();
        assert!((apart.p - 2.0 / 70.0).abs() < 1e-12);
        assert!((apart.superiority - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_least_p_value_is_that_of_samples_without_overlap() {
        for (n, m) in [(1, 1), (3, 3), (4, 4), (2, 9), (10, 10)] {
            let first: Vec<f64> = (0..n).map(f64::from).collect();
            let second: Vec<f64> = (0..m).map(|i| 100.0 + f64::from(i)).collect();
            let found = rank_sum(&first, &second).unwrap().p;
            let least = least_rank_sum_p(n as usize, m as usize);
            assert!((found - least).abs() < 1e-12, "{n} {m}: {found} {least}");
        }
    }

    #[test]
    fn swapping_the_samples_changes_only_the_direction() {
        let (first, second) = ([3.1, 2.0, 5.5, 4.0], [4.0, 6.0, 7.5]);
        let (one, other) = (
            rank_sum(&first, &second).unwrap(),
            rank_sum(&second, &first).unwrap(),
        );
        assert!((one.p - other.p).abs() < 1e-12);
        assert!((one.superiority + other.superiority - 1.0).abs() < 1e-12);
    }
}
