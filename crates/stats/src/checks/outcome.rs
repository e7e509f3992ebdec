//! Results that several tests share.

use paceline_dist::{ChiSquared, FisherF};

/// A statistic with a chi-squared distribution under the null hypothesis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquaredTest {
    /// The statistic.
    pub statistic: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// The probability of a statistic at least as large.
    pub p: f64,
}

impl ChiSquaredTest {
    pub(super) fn new(statistic: f64, df: f64) -> Self {
        let chi_squared = ChiSquared::new(df).expect("the test has degrees of freedom");
        // Rounding can leave a statistic of equal groups just below zero.
        let statistic = if statistic < 0.0 { 0.0 } else { statistic };
        Self {
            statistic,
            df,
            p: chi_squared.sf(statistic),
        }
    }
}

/// A statistic with an F distribution under the null hypothesis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FTest {
    /// The statistic.
    pub statistic: f64,
    /// The degrees of freedom of the numerator.
    pub df1: f64,
    /// The degrees of freedom of the denominator.
    pub df2: f64,
    /// The probability of a statistic at least as large.
    pub p: f64,
}

impl FTest {
    pub(super) fn new(statistic: f64, df1: f64, df2: f64) -> Self {
        let f = FisherF::new(df1, df2).expect("the test has degrees of freedom");
        let statistic = if statistic < 0.0 { 0.0 } else { statistic };
        Self {
            statistic,
            df1,
            df2,
            p: f.sf(statistic),
        }
    }
}
