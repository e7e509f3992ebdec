//! Tests on ranks, which ask nothing of the distribution of the values.

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
