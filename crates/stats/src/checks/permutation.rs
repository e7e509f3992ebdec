//! Tests whose p-value comes from shuffling, not from a distribution.

use paceline_numeric::Chance;

use super::column_space::ColumnSpace;
use super::sample::{SampleError, finite};
use crate::lstsq::sum_of_squares;

/// The result of a permutation test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PermutationTest {
    /// The F statistic of the data as they are.
    pub statistic: f64,
    /// The degrees of freedom of the numerator.
    pub df1: f64,
    /// The degrees of freedom of the denominator.
    pub df2: f64,
    /// How many shuffles were made.
    pub permutations: u32,
    /// How many of them had a statistic at least as large.
    pub as_extreme: u32,
    /// `(as_extreme + 1) / (permutations + 1)`. The data as they are count as one
    /// of the arrangements, so the p-value is never zero and the test never
    /// rejects too often (Phipson and Smyth 2010).
    pub p: f64,
}

/// Shares that differ by less, relatively, are the same arrangement computed in
/// another order.
const SAME: f64 = 1e-10;

impl PermutationTest {
    /// Compares the share of the variation that is explained with the shares
    /// after `permutations` shuffles. F rises with the share, which unlike F
    /// stays accurate when everything is explained.
    fn run(
        share: f64,
        (df1, df2): (f64, f64),
        permutations: u32,
        mut shuffled_share: impl FnMut() -> f64,
    ) -> Self {
        let threshold = share * (1.0 - SAME);
        let as_extreme = (0..permutations)
            .filter(|_| shuffled_share() >= threshold)
            .count() as u32;
        Self {
            statistic: (share / df1) / ((1.0 - share) / df2),
            df1,
            df2,
            permutations,
            as_extreme,
            p: (f64::from(as_extreme) + 1.0) / (f64::from(permutations) + 1.0),
        }
    }
}

/// The test of Freedman and Lane (Journal of Business and Economic Statistics 1,
/// 1983): do `added` columns improve a model that has the columns `kept`?
///
/// The residuals of the smaller model are shuffled, not the response, so the
/// effects that are kept stay what they are. `kept` contains the constant if the
/// model has one.
///
/// # Errors
///
/// If lengths differ, if a number is not finite, if the added columns depend on
/// the kept ones, if no residual is left over, or if the response is explained
/// without residuals.
pub fn freedman_lane(
    response: &[f64],
    kept: &[&[f64]],
    added: &[&[f64]],
    permutations: u32,
    seed: u64,
) -> Result<PermutationTest, SampleError> {
    finite(response.iter().copied())?;
    let n = response.len();
    let smaller = ColumnSpace::of(n, kept)?;
    let mut larger = smaller.clone();
    larger.extend(added)?;
    if larger.rank() == smaller.rank() {
        return Err(SampleError::NothingAdded);
    }
    if n <= larger.rank() {
        return Err(SampleError::TooFew {
            needed: larger.rank() + 1,
            found: n,
        });
    }
    let df1 = (larger.rank() - smaller.rank()) as f64;
    let df2 = (n - larger.rank()) as f64;
    let mut residuals = smaller.residuals(response)?;
    let noise = f64::EPSILON * f64::EPSILON * sum_of_squares(response.iter().copied());
    if sum_of_squares(residuals.iter().copied()) <= noise * n as f64 {
        return Err(SampleError::Constant);
    }
    // The fit of the smaller model lies in both spaces, so adding it back to the
    // shuffled residuals would change neither sum of squares.
    let share = |shuffled: &[f64]| -> Result<f64, SampleError> {
        let rest = smaller.residuals(shuffled)?;
        let without = sum_of_squares(rest.iter().copied());
        let with = sum_of_squares(larger.residuals(&rest)?.into_iter());
        Ok((1.0 - with / without).max(0.0))
    };
    let observed = share(&residuals)?;
    let mut chance = Chance::new(seed, 0);
    Ok(PermutationTest::run(
        observed,
        (df1, df2),
        permutations,
        || {
            chance.shuffle(&mut residuals);
            share(&residuals).expect("a shuffle keeps the length")
        },
    ))
}
