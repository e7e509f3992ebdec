//! Tests on ranks, which ask nothing of the distribution of the values.

use paceline_dist::Normal;

use super::outcome::ChiSquaredTest;
use super::sample::{Groups, SampleError};

/// The ranks of some values, from one; equal values share the mean of theirs.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    pub(super) of_value: Vec<f64>,
    /// `Σ t³ - t` over the sets of `t` equal values; zero without ties.
    pub(super) ties: f64,
}

impl Ranks {
    pub(super) fn of(values: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut of_value = vec![0.0; values.len()];
        let mut ties = 0.0;
        let mut passed = 0.0;
        // Zero and minus zero are equal, so equality decides, not the order.
        for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let count = equal.len() as f64;
            for &index in equal {
                of_value[index] = passed + 0.5 * (count + 1.0);
            }
            passed += count;
            ties += (count - 1.0) * count * (count + 1.0);
        }
        Self { of_value, ties }
    }
}

/// The test of Kruskal and Wallis, corrected for ties: no group tends to larger
/// values than another. The chi-squared approximation wants at least five
/// values per group.
///
/// # Errors
///
/// If all values are equal.
pub fn kruskal_wallis(groups: &Groups<'_>) -> Result<ChiSquaredTest, SampleError> {
    let ranks = Ranks::of(&groups.pooled());
    let n = groups.total() as f64;
    let correction = 1.0 - ranks.ties / (n * n * n - n);
    if correction <= 0.0 {
        return Err(SampleError::Constant);
    }
    let mut rest = ranks.of_value.as_slice();
    let mut between = 0.0;
    for group in groups.iter() {
        let (own, others) = rest.split_at(group.len());
        rest = others;
        let count = own.len() as f64;
        let mean = own.iter().sum::<f64>() / count;
        between += count * (mean - 0.5 * (n + 1.0)).powi(2);
    }
    let statistic = 12.0 * between / (n * (n + 1.0)) / correction;
    Ok(ChiSquaredTest::new(statistic, groups.count() as f64 - 1.0))
}

/// How a p-value of Mann and Whitney was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MannWhitneyMethod {
    /// By counting all arrangements of the ranks.
    Exact,
    /// By a normal approximation with corrections for ties and continuity.
    Normal,
}

/// The result of the test of Mann and Whitney.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// U: in how many pairs the value of the first group is the larger one;
    /// equal values count one half.
    pub statistic: f64,
    /// The probability that a value of the first group is larger than one of
    /// the second, estimated by `U / (n₁ n₂)`.
    pub superiority: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// How the p-value was found.
    pub method: MannWhitneyMethod,
}

/// The greatest size of the smaller group for which arrangements are counted.
const EXACT_SMALLER: usize = 8;
/// The greatest number of pairs for which arrangements are counted.
const EXACT_PAIRS: usize = 1_000_000;

/// The test of Mann and Whitney: neither group tends to larger values.
///
/// Exact if the smaller group has at most 8 values, none of them tied, and there
/// are at most a million pairs; approximate otherwise.
///
/// # Errors
///
/// If a group is empty, if a value is not finite, or if all are equal.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Result<MannWhitney, SampleError> {
    let pooled = Groups::new(&[first, second])?.pooled();
    let ranks = Ranks::of(&pooled);
    let (n1, n2) = (first.len() as f64, second.len() as f64);
    let n = n1 + n2;
    let rank_sum: f64 = ranks.of_value[..first.len()].iter().sum();
    let statistic = rank_sum - 0.5 * n1 * (n1 + 1.0);
    let pairs = n1 * n2;
    let larger = statistic.max(pairs - statistic);
    let smaller_group = first.len().min(second.len());
    let few = first
        .len()
        .checked_mul(second.len())
        .is_some_and(|pairs| pairs <= EXACT_PAIRS);
    let (p, method) = if ranks.ties == 0.0 && smaller_group <= EXACT_SMALLER && few {
        let larger_group = first.len().max(second.len());
        // Without ties U is a whole number.
        let tail = exact_tail(smaller_group, larger_group, (pairs - larger) as usize);
        (2.0 * tail, MannWhitneyMethod::Exact)
    } else {
        let variance = pairs / 12.0 * (n + 1.0 - ranks.ties / (n * (n - 1.0)));
        if variance <= 0.0 {
            return Err(SampleError::Constant);
        }
        let z = (larger - 0.5 * pairs - 0.5) / variance.sqrt();
        (2.0 * Normal.sf(z), MannWhitneyMethod::Normal)
    };
    Ok(MannWhitney {
        statistic,
        superiority: statistic / pairs,
        p: p.min(1.0),
        method,
    })
}

/// The probability that U is at most `u`, all arrangements of `small + large`
/// distinct values being equally likely.
///
/// The number of arrangements with a given U is a coefficient of the Gaussian
/// binomial `Π (1 - q^(large+i)) / (1 - q^i)`, built factor by factor. Each
/// factor is also divided by the number of arrangements so far, so the
/// coefficients are probabilities and cannot overflow.
fn exact_tail(small: usize, large: usize, u: usize) -> f64 {
    let mut probability = vec![0.0; u + 1];
    probability[0] = 1.0;
    for i in 1..=small {
        let (shift, scale) = (large + i, i as f64 / (large + i) as f64);
        for j in (shift..=u).rev() {
            probability[j] -= probability[j - shift];
        }
        for j in i..=u {
            probability[j] += probability[j - i];
        }
        probability.iter_mut().for_each(|value| *value *= scale);
    }
    probability.iter().sum::<f64>().clamp(0.0, 1.0)
}
