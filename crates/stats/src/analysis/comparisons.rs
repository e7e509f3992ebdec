//! Which levels of a factor differ, after correction for all pairs.

use super::assumptions::{Assumption, AssumptionKind, Verdict};
use super::scale::{Scale, ScaleKind};
use crate::checks::{Groups, PairwiseComparison, games_howell, tukey_contrasts};
use crate::formula::VariableData;
use crate::marginal::{Estimate, Margins, Setting};

/// All pairs of levels of one factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparisons {
    /// The factor, in people's words.
    pub factor: String,
    /// Its levels.
    pub levels: Vec<String>,
    /// How the pairs were compared.
    pub method: ComparisonMethod,
    /// The pairs, by index into `levels`: differences of adjusted means on the
    /// scale of the fit. Pairs that the runs do not determine are missing.
    pub pairs: Vec<PairwiseComparison>,
    /// The response as it was fitted.
    pub response: String,
    /// The base of the logarithm where differences are logarithms of factors.
    pub log_base: Option<f64>,
    /// Factors that it interacts with in the model: the differences are averages
    /// over their levels.
    pub averaged_over: Vec<String>,
}

/// How pairs of levels were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonMethod {
    /// Tukey and Kramer, with the error of the whole model.
    Tukey,
    /// Tukey and Kramer, with errors that allow for unequal spread.
    RobustTukey,
    /// Games and Howell, without pooling variances.
    GamesHowell,
}

impl ComparisonMethod {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ComparisonMethod::Tukey => "Tukey–Kramer",
            ComparisonMethod::RobustTukey => "Tukey–Kramer, robust to unequal spread",
            ComparisonMethod::GamesHowell => "Games–Howell",
        }
    }
}

/// More levels than this make more pairs than anyone reads.
const MOST_LEVELS: usize = 12;

/// The comparisons of every categorical main effect with three levels or more.
pub(super) fn comparisons(
    margins: &Margins<'_>,
    scale: &Scale,
    assumptions: &[Assumption],
) -> Vec<Comparisons> {
    let frame = margins.fit().matrix().frame();
    let uneven = assumptions
        .iter()
        .any(|a| a.kind == AssumptionKind::EqualVariances && a.verdict == Verdict::Violated);
    // Variances of single groups are those of the error only where nothing else
    // moves the response.
    let alone = frame.variables().len() == 1 && frame.has_intercept();
    let main = frame
        .terms()
        .iter()
        .filter_map(|term| match *term.variables {
            [variable] => Some(variable),
            _ => None,
        });
    main.filter_map(|variable| of_factor(margins, scale, variable, alone && uneven))
        .collect()
}

fn of_factor(
    margins: &Margins<'_>,
    scale: &Scale,
    variable: usize,
    separate: bool,
) -> Option<Comparisons> {
    let frame = margins.fit().matrix().frame();
    let VariableData::Categorical { levels, codes, .. } = frame.variables()[variable].data() else {
        return None;
    };
    if !(3..=MOST_LEVELS).contains(&levels.len()) || margins.fit().is_exact() {
        return None;
    }
    let unpooled = separate.then(|| {
        let mut groups = vec![Vec::new(); levels.len()];
        for (&code, &value) in codes.iter().zip(frame.response_values()) {
            groups[code as usize].push(value);
        }
        let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        let groups = Groups::new(&slices).ok()?;
        games_howell(&groups, margins.fit().confidence()).ok()
    });
    let (method, pairs) = match unpooled.flatten() {
        Some(pairs) => (ComparisonMethod::GamesHowell, pairs),
        None => {
            let method = match margins.is_robust() {
                true => ComparisonMethod::RobustTukey,
                false => ComparisonMethod::Tukey,
            };
            (method, adjusted(margins, variable, levels.len())?)
        }
    };
    let partners = frame
        .terms()
        .iter()
        .filter(|term| term.variables.len() > 1 && term.variables.contains(&variable))
        .flat_map(|term| term.variables.iter().copied())
        .filter(|&other| other != variable);
    let mut averaged_over: Vec<String> = Vec::new();
    for name in partners.map(|other| frame.variable_name(other)) {
        if !averaged_over.contains(&name) {
            averaged_over.push(name);
        }
    }
    Some(Comparisons {
        factor: frame.variable_name(variable),
        levels: levels.clone(),
        method,
        pairs,
        response: scale.fitted.clone(),
        log_base: match scale.kind {
            ScaleKind::Log(base) => Some(base),
            ScaleKind::Plain | ScaleKind::Power(_) => None,
        },
        averaged_over,
    })
}

/// Differences of adjusted means, judged by the studentised range of as many
/// levels (R's `emmeans` does the same).
fn adjusted(
    margins: &Margins<'_>,
    variable: usize,
    levels: usize,
) -> Option<Vec<PairwiseComparison>> {
    let at = |level| [Setting::Level { variable, level }];
    let mut pairs: Vec<((usize, usize), Estimate)> = Vec::new();
    for first in 0..levels {
        for second in first + 1..levels {
            let difference = margins.difference(&at(first), &at(second));
            pairs.extend(difference.map(|difference| ((first, second), difference)));
        }
    }
    let contrasts = pairs.iter().map(|&((first, second), estimate)| {
        (first, second, estimate.estimate, estimate.standard_error)
    });
    let df = margins.fit().residual_df() as f64;
    let level = margins.fit().confidence();
    tukey_contrasts(levels, contrasts, df, level)
        .ok()
        .filter(|pairs| !pairs.is_empty())
}
