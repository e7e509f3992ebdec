//! Which method to trust when an assumption fails, and its result.

use super::assumptions::{Assumption, AssumptionKind, Verdict, equal_variances, normality};
use super::{AnalysisOptions, CodedDesign, fit_options};
use crate::anova::Anova;
use crate::box_cox::{BoxCox, Transformation};
use crate::cells::Cells;
use crate::checks::{ChiSquaredTest, FTest, Groups, freedman_lane, kruskal_wallis, welch_anova};
use crate::effects::Effects;
use crate::fit::{Coefficient, Fit, fit};
use crate::formula::{Coding, ModelFrame};
use crate::matrix::{Contrast, ModelMatrix};

/// The method whose result the findings state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The model as it was fitted.
    LeastSquares,
    /// The same model of a transformed response.
    Transformed(Transformation),
    /// Welch's analysis of variance, for groups of unequal variance.
    Welch,
    /// Kruskal and Wallis' test on ranks.
    KruskalWallis,
    /// Permutation of residuals, term by term.
    Permutation,
}

/// The method to trust, why, and what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// The method.
    pub method: Method,
    /// Why, in a sentence.
    pub reason: String,
    /// The result, unless it is that of the fit itself.
    pub result: Option<RobustResult>,
}

/// The result of a method other than the plain fit.
#[derive(Clone, Debug, PartialEq)]
pub enum RobustResult {
    /// Of a transformed response.
    Transformed(Box<TransformedResult>),
    /// Of Welch's test.
    Welch(FTest),
    /// Of Kruskal and Wallis' test.
    KruskalWallis(ChiSquaredTest),
    /// Of permutation tests.
    Permutation(Vec<PermutationResult>),
}

/// The model of a transformed response.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformedResult {
    /// The transformed response, such as `log(cost)`.
    pub response: String,
    /// The transformation.
    pub transformation: Transformation,
    /// Its analysis of variance.
    pub anova: Anova,
    /// Its coefficients.
    pub coefficients: Vec<Coefficient>,
    /// Share of the variation explained.
    pub r_squared: f64,
    /// Effects in coded units, if every variable has two levels.
    pub effects: Option<Effects>,
    /// Normality and equal variances, checked again.
    pub assumptions: Vec<Assumption>,
    /// Permutation tests, where even the transformed response does not satisfy
    /// the assumptions.
    pub permutation: Option<Vec<PermutationResult>>,
}

/// The permutation test of one term.
#[derive(Clone, Debug, PartialEq)]
pub struct PermutationResult {
    /// The term.
    pub term: String,
    /// The F statistic of the data.
    pub f: f64,
    /// The share of shuffles with an F at least as large.
    pub p: f64,
}

pub(super) struct Case<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) cells: &'a Cells,
    pub(super) assumptions: &'a [Assumption],
    pub(super) box_cox: Option<&'a BoxCox>,
    pub(super) coded: Option<&'a CodedDesign>,
    pub(super) options: &'a AnalysisOptions<'a>,
}

pub(super) fn recommend(case: &Case<'_>) -> Recommendation {
    let violated = |kind| {
        case.assumptions
            .iter()
            .any(|a| a.kind == kind && a.verdict == Verdict::Violated)
    };
    let not_normal = violated(AssumptionKind::Normality);
    let uneven =
        violated(AssumptionKind::EqualVariances) || violated(AssumptionKind::ConstantSpread);
    if !not_normal && !uneven {
        return Recommendation {
            method: Method::LeastSquares,
            reason: "the assumptions of least squares are met well enough".to_owned(),
            result: None,
        };
    }
    let broken = match (not_normal, uneven) {
        (true, true) => "the residuals are neither normal nor equally spread",
        (true, false) => "the residuals are not normal",
        (false, _) => "the residuals are not equally spread",
    };
    if let Some(transformed) = transformed(case) {
        return transformed.recommendation(broken);
    }
    if let Some(groups) = one_way(case.fit.matrix().frame(), case.cells) {
        let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        if let Some(recommendation) = compare_groups(&slices, not_normal, broken) {
            return recommendation;
        }
    }
    match permuted(case.fit, case.options) {
        Some(tests) => Recommendation {
            method: Method::Permutation,
            reason: format!(
                "{broken}, so each term was tested by {} permutations, which assume neither",
                case.options.permutations
            ),
            result: Some(RobustResult::Permutation(tests)),
        },
        None => Recommendation {
            method: Method::LeastSquares,
            reason: format!(
                "{broken}; with {} runs the estimates are still about normal, but intervals are \
                 only approximate",
                case.fit.observations()
            ),
            result: None,
        },
    }
}

/// The model of the transformed response, if a transformation helps.
fn transformed(case: &Case<'_>) -> Option<TransformedResult> {
    let box_cox = case.box_cox?;
    let transformation = box_cox.suggestion;
    if transformation == Transformation::None {
        return None;
    }
    let frame = case.fit.matrix().frame();
    let values: Vec<f64> = frame
        .response_values()
        .iter()
        .map(|&y| transformation.apply(y))
        .collect();
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let label = transformation.written(frame.response().label());
    let frame = frame.with_response(&label, values);
    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
    let fitted = fit(&matrix, &fit_options(case.options)).ok()?;
    let level = 1.0 - case.options.confidence;
    let assumptions = vec![
        normality(fitted.residuals(), level),
        equal_variances(&fitted, case.cells, level),
    ];
    let statistic = |panel: &[Assumption], kind| {
        let assumption = panel.iter().find(|a| a.kind == kind)?;
        assumption.results.first().map(|result| result.statistic)
    };
    let (before, after) = (case.assumptions, assumptions.as_slice());
    // W grows towards one as residuals become normal; Brown and Forsythe's F
    // falls as variances become equal. A transformation must help one and not
    // spoil the other.
    let better = |kind, larger: bool| match (statistic(before, kind), statistic(after, kind)) {
        (Some(a), Some(b)) => Some(if larger { b > a } else { b < a }),
        _ => None,
    };
    let normal = better(AssumptionKind::Normality, true);
    let even = better(AssumptionKind::EqualVariances, false);
    let helps = normal.unwrap_or(false) || even.unwrap_or(false);
    let spoils = normal == Some(false) && even == Some(false);
    if !helps || spoils {
        return None;
    }
    let still_wrong = assumptions
        .iter()
        .any(|a| matches!(a.verdict, Verdict::Violated));
    let permutation = still_wrong
        .then(|| permuted(&fitted, case.options))
        .flatten();
    let effects = case
        .coded
        .and_then(|design| design.effects(frame.response_values(), case.options.confidence));
    Some(TransformedResult {
        response: label,
        transformation,
        anova: Anova::of(&fitted, case.options.kind).ok()?,
        coefficients: fitted.coefficients().to_vec(),
        r_squared: fitted.r_squared(),
        effects,
        assumptions,
        permutation,
    })
}

impl TransformedResult {
    fn recommendation(self, broken: &str) -> Recommendation {
        let verdict = |kind| {
            self.assumptions
                .iter()
                .find(|a| a.kind == kind)
                .map(|a| a.verdict)
        };
        let left: Vec<&str> = [
            (AssumptionKind::Normality, "normality"),
            (AssumptionKind::EqualVariances, "equal variances"),
        ]
        .into_iter()
        .filter(|&(kind, _)| verdict(kind) == Some(Verdict::Violated))
        .map(|(_, name)| name)
        .collect();
        let response = &self.response;
        let reason = match (left.as_slice(), &self.permutation) {
            ([], _) => format!("{broken}; those of `{response}` are, or nearly so"),
            (left, Some(_)) => format!(
                "{broken}; `{response}` comes closer but still lacks {}, so its terms were also \
                 tested by permutation",
                left.join(" and ")
            ),
            (left, None) => format!(
                "{broken}; `{response}` comes closer but still lacks {}",
                left.join(" and ")
            ),
        };
        Recommendation {
            method: Method::Transformed(self.transformation),
            reason,
            result: Some(RobustResult::Transformed(Box::new(self))),
        }
    }
}

/// The groups of a model with a single categorical factor.
fn one_way(frame: &ModelFrame, cells: &Cells) -> Option<Vec<Vec<f64>>> {
    match (frame.variables(), frame.terms()) {
        ([only], [_]) if only.coding() == Coding::Categorical && frame.has_intercept() => {
            Some(cells.groups(frame.response_values()))
        }
        _ => None,
    }
}

fn compare_groups(groups: &[&[f64]], not_normal: bool, broken: &str) -> Option<Recommendation> {
    let groups = Groups::new(groups).ok()?;
    if not_normal {
        let test = kruskal_wallis(&groups).ok()?;
        return Some(Recommendation {
            method: Method::KruskalWallis,
            reason: format!("{broken}, so the groups were compared by ranks"),
            result: Some(RobustResult::KruskalWallis(test)),
        });
    }
    let test = welch_anova(&groups).ok()?;
    Some(Recommendation {
        method: Method::Welch,
        reason: format!("{broken}, so the groups were compared without pooling their variances"),
        result: Some(RobustResult::Welch(test)),
    })
}

/// Permutations are made up to this much arithmetic.
const PERMUTATION_WORK: usize = 2_000_000_000;

/// Each term tested after all others (Freedman and Lane), factors centred and
/// coded to sum to zero so that a main effect keeps its meaning beside its
/// interactions.
fn permuted(fit: &Fit<'_>, options: &AnalysisOptions<'_>) -> Option<Vec<PermutationResult>> {
    let frame = fit.matrix().frame();
    let work = fit
        .observations()
        .saturating_mul(fit.rank())
        .saturating_mul(4 * frame.terms().len())
        .saturating_mul(options.permutations as usize);
    if work > PERMUTATION_WORK || frame.terms().is_empty() {
        return None;
    }
    let centred = frame.centred();
    let matrix = ModelMatrix::marginal(&centred, Contrast::Sum);
    let columns: Vec<Vec<f64>> = (0..matrix.columns().len())
        .map(|column| matrix.column_values(column))
        .collect();
    let pick = |keep: &dyn Fn(Option<usize>) -> bool| -> Vec<&[f64]> {
        matrix
            .columns()
            .iter()
            .zip(&columns)
            .filter(|(column, _)| keep(column.term()))
            .map(|(_, values)| values.as_slice())
            .collect()
    };
    let terms = frame.terms();
    let tests = (0..terms.len())
        .filter_map(|term| {
            let kept = pick(&|other| other != Some(term));
            let added = pick(&|other| other == Some(term));
            // Every term has a seed of its own, so that adding a term to the
            // model does not change the others' shuffles.
            let seed = options.seed.wrapping_add(term as u64);
            let values = frame.response_values();
            let test = freedman_lane(values, &kept, &added, options.permutations, seed).ok()?;
            Some(PermutationResult {
                term: terms[term].label.clone(),
                f: test.statistic,
                p: test.p,
            })
        })
        .collect();
    Some(tests)
}
