//! Which levels of a factor differ, after correction for all pairs.

use super::assumptions::{Assumption, AssumptionKind, Verdict};
use crate::cells::Cells;
use crate::checks::{GroupMean, Groups, PairwiseComparison, games_howell, tukey_kramer};
use crate::fit::Fit;
use crate::formula::{ModelFrame, VariableData};
use crate::lstsq::mean;

/// All pairs of levels of one factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparisons {
    /// The factor.
    pub factor: String,
    /// Its levels.
    pub levels: Vec<String>,
    /// How the pairs were compared.
    pub method: ComparisonMethod,
    /// The pairs, by index into `levels`.
    pub pairs: Vec<PairwiseComparison>,
}

/// How pairs of levels were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonMethod {
    /// Tukey and Kramer, with the error of the whole model.
    Tukey,
    /// Games and Howell, without pooling variances.
    GamesHowell,
}

/// More levels than this make more pairs than anyone reads.
const MOST_LEVELS: usize = 12;

/// The comparisons of every categorical main effect whose level means are not
/// mixed up with other factors: the only factor, or one of a balanced design.
pub(super) fn comparisons(
    fit: &Fit<'_>,
    cells: &Cells,
    assumptions: &[Assumption],
) -> Vec<Comparisons> {
    let frame = fit.matrix().frame();
    let only = frame.variables().len() == 1;
    if !only && !balanced(frame, cells) {
        return Vec::new();
    }
    let uneven = assumptions
        .iter()
        .any(|a| a.kind == AssumptionKind::EqualVariances && a.verdict == Verdict::Violated);
    let main = frame
        .terms()
        .iter()
        .filter_map(|term| match *term.variables {
            [variable] => Some(variable),
            _ => None,
        });
    main.filter_map(|variable| of_factor(fit, variable, only && uneven))
        .collect()
}

/// Whether every combination of values occurs, equally often.
fn balanced(frame: &ModelFrame, cells: &Cells) -> bool {
    let settings = frame.pick(&cells.first_row);
    let combinations = (0..frame.variables().len())
        .map(|variable| Cells::by_variables(&settings, &[variable]).len())
        .fold(1_usize, usize::saturating_mul);
    combinations == cells.len() && cells.counts.iter().all(|&count| count == cells.counts[0])
}

fn of_factor(fit: &Fit<'_>, variable: usize, uneven: bool) -> Option<Comparisons> {
    let frame = fit.matrix().frame();
    let VariableData::Categorical { levels, codes, .. } = frame.variables()[variable].data() else {
        return None;
    };
    if !(3..=MOST_LEVELS).contains(&levels.len()) {
        return None;
    }
    let mut groups = vec![Vec::new(); levels.len()];
    for (&code, &value) in codes.iter().zip(frame.response_values()) {
        groups[code as usize].push(value);
    }
    let (method, pairs) = match uneven {
        true => {
            let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
            let groups = Groups::new(&slices).ok()?;
            let pairs = games_howell(&groups, fit.confidence()).ok()?;
            (ComparisonMethod::GamesHowell, pairs)
        }
        false => {
            let means: Vec<GroupMean> = groups
                .iter()
                .map(|group| GroupMean {
                    mean: mean(group),
                    count: group.len(),
                })
                .collect();
            let error = fit.error_variance();
            let df = fit.residual_df() as f64;
            let pairs = tukey_kramer(&means, error, df, fit.confidence()).ok()?;
            (ComparisonMethod::Tukey, pairs)
        }
    };
    Some(Comparisons {
        factor: frame.variables()[variable].label().to_owned(),
        levels: levels.clone(),
        method,
        pairs,
    })
}
