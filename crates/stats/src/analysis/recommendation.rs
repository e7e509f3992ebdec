//! Which method to trust when an assumption fails, and its result.

use super::assumptions::{Assumption, AssumptionKind, Verdict, equal_variances, normality};
use super::curvature::{Curvature, residuals_with_squares};
use super::design::CodedDesign;
use super::wording::{list, quoted};
use super::{AnalysisOptions, fit_options};
use crate::anova::Anova;
use crate::box_cox::{BoxCox, Transformation};
use crate::cells::Cells;
use crate::checks::{ChiSquaredTest, FTest, Groups, freedman_lane, kruskal_wallis, welch_anova};
use crate::effects::Effects;
use crate::fit::{Coefficient, Fit, FitOptions, fit};
use crate::formula::{Coding, ModelFrame};
use crate::influence::Influence;
use crate::marginal::Covariance;
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
    /// Least squares with errors that allow for unequal spread (HC3).
    Robust,
    /// Effects of a design without replicates, judged against each other.
    Lenth,
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
    /// Of Wald's tests with errors that allow for unequal spread.
    Robust(Vec<RobustTest>),
}

/// Wald's test of one term, with errors that allow for unequal spread.
#[derive(Clone, Debug, PartialEq)]
pub struct RobustTest {
    /// The term as the formula writes it.
    pub term: String,
    /// The term in people's words.
    pub name: String,
    /// The F statistic.
    pub f: f64,
    /// Its p-value.
    pub p: f64,
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
    /// Permutation tests, where even the transformed response is not normal.
    pub permutation: Option<Vec<PermutationResult>>,
    /// Tests that allow for unequal spread, where even the transformed response
    /// is not equally spread.
    pub robust: Option<Vec<RobustTest>>,
}

/// The permutation test of one term.
#[derive(Clone, Debug, PartialEq)]
pub struct PermutationResult {
    /// The term as the formula writes it.
    pub term: String,
    /// The term in people's words.
    pub name: String,
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
    pub(super) curvature: Option<&'a Curvature>,
    pub(super) influence: &'a Influence,
    /// Whether effects of a design without replicates are judged by Lenth's
    /// method.
    pub(super) by_lenth: bool,
    pub(super) options: &'a AnalysisOptions<'a>,
}

impl Recommendation {
    /// The p-value of a term's permutation test, if one was made.
    pub(super) fn permutation_p(&self, term: &str) -> Option<f64> {
        let tests = match &self.result {
            Some(RobustResult::Permutation(tests)) => tests,
            Some(RobustResult::Transformed(result)) => result.permutation.as_ref()?,
            _ => return None,
        };
        tests.iter().find(|test| test.term == term).map(|t| t.p)
    }

    /// Whether the errors of what is said must allow for unequal spread.
    pub(super) fn is_robust(&self) -> bool {
        match &self.result {
            Some(RobustResult::Robust(_) | RobustResult::Welch(_)) => true,
            Some(RobustResult::Transformed(result)) => result.robust.is_some(),
            _ => false,
        }
    }

    fn least_squares(reason: String) -> Recommendation {
        Recommendation {
            method: Method::LeastSquares,
            reason,
            result: None,
        }
    }
}

pub(super) fn recommend(case: &Case<'_>) -> Recommendation {
    if case.fit.is_saturated() {
        return Recommendation {
            method: Method::Lenth,
            reason: "the model has as many parameters as there are runs, so effects are judged \
                     against each other"
                .to_owned(),
            result: None,
        };
    }
    let violated = |kind| {
        case.assumptions
            .iter()
            .any(|a| a.kind == kind && a.verdict == Verdict::Violated)
    };
    let not_normal = violated(AssumptionKind::Normality);
    let uneven =
        violated(AssumptionKind::EqualVariances) || violated(AssumptionKind::ConstantSpread);
    if !not_normal && !uneven {
        return met(case);
    }
    let broken = match (not_normal, uneven) {
        (true, true) => "the residuals are neither normal nor equally spread",
        (true, false) => "the residuals are not normal",
        (false, _) => "the residuals are not equally spread",
    };
    // A line through a bend leaves residuals that look like everything else that
    // can be wrong; the bend comes first.
    let bent = bent_columns(case);
    let broken = match bent.as_slice() {
        [] => broken.to_owned(),
        columns => {
            let names = list(&quoted(columns));
            let squares: Vec<String> = columns.iter().map(|name| format!("I({name}^2)")).collect();
            let squares = squares.join(" + ");
            let straight = residuals_with_squares(case.fit, columns, case.options);
            let mended = straight.is_some_and(|residuals| {
                let normal = normality(&residuals, case.options.level());
                normal.verdict != Verdict::Violated && !uneven
            });
            if mended {
                return Recommendation::least_squares(format!(
                    "{broken} because the response bends along {names}; add {squares} to the \
                     formula before anything else: with it the residuals are normal, and no \
                     transformation is needed"
                ));
            }
            format!(
                "the response bends along {names}, so add {squares} to the formula first; as the \
                 model stands, {broken}"
            )
        }
    };
    if let Some(transformed) = transformed(case) {
        return transformed.recommendation(&broken);
    }
    if case.by_lenth {
        return Recommendation {
            method: Method::Lenth,
            reason: format!(
                "{broken}, and no run is repeated, so effects are judged against each other"
            ),
            result: None,
        };
    }
    if let Some(groups) = one_way(case.fit.matrix().frame(), case.cells) {
        let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        if let Some(recommendation) = compare_groups(&slices, uneven, &broken) {
            return recommendation;
        }
    }
    if uneven && let Some(tests) = robust_tests(case.fit, case.influence) {
        return Recommendation {
            method: Method::Robust,
            reason: format!(
                "{broken}, so tests and intervals use errors that allow for unequal spread (HC3)"
            ),
            result: Some(RobustResult::Robust(tests)),
        };
    }
    match permuted(case.fit, case.options).filter(|_| !uneven) {
        Some(tests) => Recommendation {
            method: Method::Permutation,
            reason: format!(
                "{broken}, so each term was tested by {} permutations, which do not assume that",
                case.options.permutations
            ),
            result: Some(RobustResult::Permutation(tests)),
        },
        None => Recommendation::least_squares(format!(
            "{broken}; p-values and intervals of these {} runs are only approximate",
            case.fit.observations()
        )),
    }
}

/// The columns along which the response clearly bends.
fn bent_columns<'a>(case: &Case<'a>) -> Vec<&'a str> {
    let level = case.options.level();
    let clear = case.curvature.map_or_else(Vec::new, |c| c.clear(level));
    clear
        .into_iter()
        .flat_map(|bend| bend.columns.iter().map(String::as_str))
        .collect()
}

/// What to say where nothing is violated.
fn met(case: &Case<'_>) -> Recommendation {
    if case.by_lenth {
        return Recommendation {
            method: Method::Lenth,
            reason: "no run is repeated, so effects are judged against each other".to_owned(),
            result: None,
        };
    }
    let unchecked = case.assumptions.iter().all(|a| {
        a.verdict == Verdict::NotChecked
            || !matches!(
                a.kind,
                AssumptionKind::Normality
                    | AssumptionKind::EqualVariances
                    | AssumptionKind::ConstantSpread
            )
    });
    Recommendation::least_squares(match unchecked {
        true => "the assumptions of least squares could not be checked".to_owned(),
        false => "nothing that was checked speaks against least squares".to_owned(),
    })
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
    let level = case.options.level();
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
    let lacks = |kind| {
        assumptions
            .iter()
            .any(|a: &Assumption| a.kind == kind && a.verdict == Verdict::Violated)
    };
    // With unequal spread shuffled residuals are no fair comparison either.
    let robust = (lacks(AssumptionKind::EqualVariances) && !case.by_lenth)
        .then(|| robust_tests(&fitted, &Influence::of(&fitted)))
        .flatten();
    let permutation = (lacks(AssumptionKind::Normality) && robust.is_none() && !case.by_lenth)
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
        robust,
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
        let done = match (&self.robust, &self.permutation) {
            (Some(_), _) => {
                ", so tests and intervals use errors that allow for unequal spread (HC3)"
            }
            (None, Some(_)) => ", so its terms were also tested by permutation",
            (None, None) => "",
        };
        let reason = match left.as_slice() {
            [] => format!("{broken}; those of `{response}` are, or nearly so"),
            left => format!(
                "{broken}; `{response}` comes closer but still lacks {}{done}",
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

fn compare_groups(groups: &[&[f64]], uneven: bool, broken: &str) -> Option<Recommendation> {
    let groups = Groups::new(groups).ok()?;
    if !uneven {
        let test = kruskal_wallis(&groups).ok()?;
        return Some(Recommendation {
            method: Method::KruskalWallis,
            reason: format!(
                "{broken}, so the groups were compared by ranks; the intervals of their means are \
                 only approximate"
            ),
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

/// Wald's test of each term after all others, with errors that allow for unequal
/// spread; factors are centred and coded to sum to zero so that a main effect
/// keeps its meaning beside its interactions.
fn robust_tests(fit_: &Fit<'_>, influence: &Influence) -> Option<Vec<RobustTest>> {
    let centred = fit_.matrix().frame().centred();
    let matrix = ModelMatrix::marginal(&centred, Contrast::Sum);
    let options = FitOptions {
        confidence: fit_.confidence(),
        ..FitOptions::default()
    };
    let coded = fit(&matrix, &options).ok()?;
    // Leverages are those of the column space, whatever its coding.
    let Covariance::Robust(covariance) = Covariance::robust(&coded, influence)? else {
        return None;
    };
    let frame = fit_.matrix().frame();
    let terms = frame.terms();
    let tests: Vec<RobustTest> = (0..terms.len())
        .filter_map(|term| {
            let positions: Vec<usize> = (0..coded.coefficients().len())
                .filter(|&k| coded.coefficients()[k].term == Some(term))
                .collect();
            let (f, p) = match positions.is_empty() {
                true => return None,
                false => covariance.wald(&coded, &positions)?,
            };
            Some(RobustTest {
                term: terms[term].label.clone(),
                name: frame.term_name(term),
                f,
                p,
            })
        })
        .collect();
    (!tests.is_empty()).then_some(tests)
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
                name: frame.term_name(term),
                f: test.statistic,
                p: test.p,
            })
        })
        .collect();
    Some(tests)
}
