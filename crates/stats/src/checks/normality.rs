//! Are the values a sample of a normal distribution?

use std::f64::consts::PI;

use paceline_dist::Normal;

use super::sample::{Moments, SampleError, finite, sorted};

/// The result of a test for normality.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormalityTest {
    /// W of Shapiro and Wilk, or A² of Anderson and Darling.
    pub statistic: f64,
    /// The probability of a sample at least as far from normal, if the values
    /// are normal.
    pub p: f64,
}

/// Royston's approximations were fitted up to this size.
const SHAPIRO_LIMIT: usize = 5_000;

/// The test of Shapiro and Wilk, with the approximations of Royston, "Remark AS
/// R94" (Applied Statistics 44, 1995).
///
/// # Errors
///
/// If there are fewer than 3 values or more than 5000, if one is not finite, or
/// if all are equal. Royston's p-values are not fitted beyond 5000 values;
/// [`anderson_darling`] has no such limit.
pub fn shapiro_wilk(values: &[f64]) -> Result<NormalityTest, SampleError> {
    let n = values.len();
    if n > SHAPIRO_LIMIT {
        return Err(SampleError::TooMany {
            limit: SHAPIRO_LIMIT,
            found: n,
        });
    }
    let moments = testable(values, 3)?;
    let ordered = sorted(values);
    let weights = shapiro_weights(n);
    // Weights are antisymmetric: the k-th smallest is paired with the k-th largest.
    let scale = moments.square.sqrt();
    let contrast: f64 = weights
        .iter()
        .zip(ordered.iter().zip(ordered.iter().rev()))
        .map(|(weight, (low, high))| weight * ((high - low) / scale))
        .sum();
    let norm: f64 = 2.0 * weights.iter().map(|weight| weight * weight).sum::<f64>();
    // 1 - W as a product, which keeps its digits when W is close to one.
    let (root, contrast) = (norm.sqrt(), contrast.abs());
    let defect = ((root - contrast) * (root + contrast) / norm).clamp(0.0, 1.0);
    Ok(NormalityTest {
        statistic: 1.0 - defect,
        p: shapiro_p(n, defect),
    })
}

/// The weights of the `n / 2` largest values.
fn shapiro_weights(n: usize) -> Vec<f64> {
    const LARGEST: [f64; 6] = [0.0, 0.221_157, -0.147_981, -2.071_19, 4.434_685, -2.706_056];
    const SECOND: [f64; 6] = [
        0.0, 0.042_981, -0.293_762, -1.752_461, 5.682_633, -3.582_633,
    ];
    if n == 3 {
        return vec![0.5_f64.sqrt()];
    }
    let size = n as f64;
    let scores: Vec<f64> = (1..=n / 2)
        .map(|i| Normal.upper_quantile((i as f64 - 0.375) / (size + 0.25)))
        .collect();
    let square = 2.0 * scores.iter().map(|score| score * score).sum::<f64>();
    let inverse_root = 1.0 / size.sqrt();
    let fitted = |score: f64, correction: &[f64]| {
        score / square.sqrt() + polynomial(correction, inverse_root)
    };
    let mut head = vec![fitted(scores[0], &LARGEST)];
    if n > 5 {
        head.push(fitted(scores[1], &SECOND));
    }
    let sum_of_head = |values: &[f64]| 2.0 * values.iter().map(|v| v * v).sum::<f64>();
    let rest = ((square - sum_of_head(&scores[..head.len()])) / (1.0 - sum_of_head(&head))).sqrt();
    let tail = scores[head.len()..].iter().map(|score| score / rest);
    head.iter().copied().chain(tail).collect()
}

/// The p-value of `W = 1 - defect`.
fn shapiro_p(n: usize, defect: f64) -> f64 {
    const BOUND: [f64; 2] = [-2.273, 0.459];
    const SMALL_MEAN: [f64; 4] = [0.544, -0.399_78, 0.025_054, -6.714e-4];
    const SMALL_LN_DEVIATION: [f64; 4] = [1.382_2, -0.778_57, 0.062_767, -0.002_032_2];
    const MEAN: [f64; 4] = [-1.586_1, -0.310_82, -0.083_751, 0.003_891_5];
    const LN_DEVIATION: [f64; 3] = [-0.480_3, -0.082_676, 0.003_030_2];

    let size = n as f64;
    if n == 3 {
        // Exact: W lies between 3/4 and 1.
        let p = 6.0 / PI * ((1.0 - defect).sqrt().asin() - PI / 3.0);
        return p.clamp(0.0, 1.0);
    }
    if defect == 0.0 {
        return 1.0;
    }
    let (score, mean, ln_deviation) = if n <= 11 {
        let room = polynomial(&BOUND, size) - defect.ln();
        if room <= 0.0 {
            return 0.0;
        }
        (
            -room.ln(),
            polynomial(&SMALL_MEAN, size),
            polynomial(&SMALL_LN_DEVIATION, size),
        )
    } else {
        let ln_size = size.ln();
        (
            defect.ln(),
            polynomial(&MEAN, ln_size),
            polynomial(&LN_DEVIATION, ln_size),
        )
    };
    Normal.sf((score - mean) / ln_deviation.exp())
}

/// The test of Anderson and Darling with estimated mean and variance.
///
/// The p-value follows D'Agostino and Stephens, "Goodness-of-Fit Techniques"
/// (1986), table 4.9. Their fit ends at an adjusted A² of 13; beyond it the
/// p-value there, 5e-31, is returned as an upper bound.
///
/// # Errors
///
/// If there are fewer than 8 values, where the fit begins, if one is not
/// finite, or if all are equal.
pub fn anderson_darling(values: &[f64]) -> Result<NormalityTest, SampleError> {
    let moments = testable(values, 8)?;
    let deviation = moments.variance().sqrt();
    let scores: Vec<f64> = sorted(values)
        .iter()
        .map(|&value| moments.mean.deviation(value) / deviation)
        .collect();
    let n = moments.count;
    let sum: f64 = scores
        .iter()
        .zip(scores.iter().rev())
        .enumerate()
        .map(|(i, (low, high))| {
            (2.0 * i as f64 + 1.0) / n * (Normal.ln_sf(-low) + Normal.ln_sf(*high))
        })
        .sum();
    let statistic = -n - sum;
    let adjusted = statistic * (1.0 + 0.75 / n + 2.25 / (n * n));
    Ok(NormalityTest {
        statistic,
        p: anderson_p(adjusted),
    })
}

fn anderson_p(adjusted: f64) -> f64 {
    let a = adjusted.clamp(0.0, 13.0);
    let p = if a < 0.2 {
        -polynomial(&[-13.436, 101.14, -223.73], a).exp_m1()
    } else if a < 0.34 {
        -polynomial(&[-8.318, 42.796, -59.938], a).exp_m1()
    } else if a < 0.6 {
        polynomial(&[0.917_7, -4.279, -1.38], a).exp()
    } else {
        polynomial(&[1.293_7, -5.709, 0.018_6], a).exp()
    };
    p.clamp(0.0, 1.0)
}

/// The moments of values that are enough, finite and not all equal.
fn testable(values: &[f64], needed: usize) -> Result<Moments, SampleError> {
    if values.len() < needed {
        return Err(SampleError::TooFew {
            needed,
            found: values.len(),
        });
    }
    finite(values.iter().copied())?;
    let moments = Moments::of(values);
    if moments.square > 0.0 {
        Ok(moments)
    } else {
        Err(SampleError::Constant)
    }
}

/// Coefficients in ascending order of power.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}
