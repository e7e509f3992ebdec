//! Which effects of an unreplicated two-level design are more than noise?

use paceline_dist::{Normal, StudentT};

use super::means::error_rate;
use super::sample::{Centre, SampleError, finite};

/// Lenth's analysis of effects without an independent estimate of error.
#[derive(Debug, Clone, PartialEq)]
pub struct Lenth {
    /// The pseudo standard error of an effect.
    pub pseudo_standard_error: f64,
    /// The degrees of freedom, a third of the number of effects.
    pub df: f64,
    /// Effects beyond the margin of error are significant one at a time.
    pub margin: f64,
    /// Effects beyond the simultaneous margin of error are significant
    /// together, as if all had been tested at once.
    pub simultaneous_margin: f64,
    /// The effects, in the order given.
    pub effects: Vec<LenthEffect>,
}

/// One effect over the pseudo standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LenthEffect {
    /// The effect.
    pub effect: f64,
    /// The effect over the pseudo standard error.
    pub statistic: f64,
    /// The two-sided p-value by Lenth's t approximation.
    pub p: f64,
}

/// The fewest effects whose median says something about noise.
const FEWEST: usize = 3;

/// Lenth, "Quick and easy analysis of unreplicated factorials" (Technometrics
/// 31, 1989). It assumes that most effects are zero. `level` is the confidence
/// of the margins, usually 0.95.
///
/// # Errors
///
/// If there are fewer than three effects, if one is not finite, if more than
/// half of them are zero, or if the level is not between zero and one.
pub fn lenth(effects: &[f64], level: f64) -> Result<Lenth, SampleError> {
    if effects.len() < FEWEST {
        return Err(SampleError::TooFew {
            needed: FEWEST,
            found: effects.len(),
        });
    }
    finite(effects.iter().copied())?;
    let alpha = error_rate(level)?;
    let sizes: Vec<f64> = effects.iter().map(|effect| effect.abs()).collect();
    let initial = 1.5 * Centre::median(&sizes).value();
    let inert: Vec<f64> = sizes
        .iter()
        .copied()
        .filter(|size| *size < 2.5 * initial)
        .collect();
    if inert.is_empty() {
        return Err(SampleError::Constant);
    }
    let pseudo_standard_error = 1.5 * Centre::median(&inert).value();
    if pseudo_standard_error <= 0.0 {
        return Err(SampleError::Constant);
    }
    let count = effects.len() as f64;
    let df = count / 3.0;
    let t = StudentT::new(df).expect("there are effects");
    // 1 - (1 + level^(1/m)) / 2, without cancellation.
    let simultaneous = -0.5 * ((-alpha).ln_1p() / count).exp_m1();
    Ok(Lenth {
        pseudo_standard_error,
        df,
        margin: t.upper_quantile(0.5 * alpha) * pseudo_standard_error,
        simultaneous_margin: t.upper_quantile(simultaneous) * pseudo_standard_error,
        effects: effects
            .iter()
            .map(|&effect| {
                let statistic = effect / pseudo_standard_error;
                LenthEffect {
                    effect,
                    statistic,
                    p: t.two_sided(statistic),
                }
            })
            .collect(),
    })
}

/// The positions on the half-normal axis of Daniel's plot (Technometrics 1,
/// 1959) for the effects sorted by size: the `(i - 1/2) / m` quantiles of the
/// absolute value of a normal variable.
pub fn half_normal_quantiles(count: usize) -> Vec<f64> {
    (0..count)
        .map(|i| {
            let share = (i as f64 + 0.5) / count as f64;
            Normal.upper_quantile(0.5 * (1.0 - share))
        })
        .collect()
}
