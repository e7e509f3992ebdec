//! The assumption panel: each check with its numbers, its meaning and advice.

use super::wording::{p_value, percent, short};
use crate::cells::Cells;
use crate::checks::{
    Groups, anderson_darling, bartlett, breusch_pagan, brown_forsythe, durbin_watson, levene,
    shapiro_wilk,
};
use crate::collinearity::{VarianceInflation, variance_inflation};
use crate::fit::{Fit, FitOptions, fit};
use crate::influence::{Influence, Outlier};
use crate::lack_of_fit::LackOfFit;
use crate::matrix::{Contrast, ModelMatrix};

/// One line of the assumption panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// What is assumed.
    pub kind: AssumptionKind,
    /// The tests behind the verdict.
    pub results: Vec<CheckResult>,
    /// Whether the assumption can be relied on.
    pub verdict: Verdict,
    /// What the numbers mean for this analysis.
    pub meaning: String,
    /// What to do about it; empty if nothing needs doing.
    pub advice: String,
}

/// What a linear model assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssumptionKind {
    /// Residuals follow a normal distribution.
    Normality,
    /// The response varies as much in every cell of the design.
    EqualVariances,
    /// The residuals' spread does not follow the model's columns.
    ConstantSpread,
    /// Runs do not influence each other.
    Independence,
    /// Columns are not nearly combinations of each other.
    Collinearity,
    /// No single run decides the result.
    Influence,
    /// The model's form is right.
    Form,
}

/// The outcome of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckResult {
    /// The test's name.
    pub test: &'static str,
    /// Its statistic.
    pub statistic: f64,
    /// Its p-value, for tests that have one.
    pub p: Option<f64>,
}

/// Whether an assumption can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Holds,
    /// It is not quite right, but the conclusions hardly suffer.
    Doubtful,
    /// It is wrong enough to change the method.
    Violated,
    /// It could not be checked.
    NotChecked,
}

/// What the panel looks at.
pub(super) struct Evidence<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) cells: &'a Cells,
    /// The run order of every row of the table.
    pub(super) run_order: Option<&'a [f64]>,
    pub(super) variance_inflation: &'a [VarianceInflation],
    pub(super) influence: Option<&'a Influence>,
    pub(super) outliers: &'a [Outlier],
    pub(super) lack_of_fit: Option<&'a LackOfFit>,
    pub(super) level: f64,
}

pub(super) fn panel(evidence: &Evidence<'_>) -> Vec<Assumption> {
    if evidence.fit.is_exact() {
        let without_error = [
            AssumptionKind::Normality,
            AssumptionKind::EqualVariances,
            AssumptionKind::ConstantSpread,
            AssumptionKind::Independence,
            AssumptionKind::Influence,
            AssumptionKind::Form,
        ];
        let why = "not checked: the model reproduces every row, so there is no error to look at";
        return without_error
            .into_iter()
            .map(|kind| not_checked(kind, why.to_owned(), ""))
            .chain([collinearity(evidence)])
            .collect();
    }
    vec![
        normality(evidence.fit.residuals(), evidence.level),
        equal_variances(evidence.fit, evidence.cells, evidence.level),
        constant_spread(evidence.fit, evidence.level),
        independence(evidence),
        collinearity(evidence),
        influence(evidence),
        form(evidence),
    ]
}

/// A p-value this small counts as a violation; between it and the level the
/// assumption is doubtful.
const CLEAR: f64 = 0.01;
/// Shapiro and Wilk's W above this is a departure no F test of this many runs
/// would notice.
const MILD_W: f64 = 0.95;
const MANY_RUNS: usize = 50;
/// Tests that build an orthonormal basis are run up to this much work.
const BASIS_WORK: usize = 100_000_000;

/// The verdict of a p-value.
fn judged(p: f64, level: f64) -> Verdict {
    match p {
        p if p >= level => Verdict::Holds,
        p if p >= CLEAR => Verdict::Doubtful,
        _ => Verdict::Violated,
    }
}

fn not_checked(kind: AssumptionKind, why: String, advice: &str) -> Assumption {
    Assumption {
        kind,
        results: Vec::new(),
        verdict: Verdict::NotChecked,
        meaning: why,
        advice: advice.to_owned(),
    }
}

/// Shapiro–Wilk and Anderson–Darling on the residuals.
pub(super) fn normality(residuals: &[f64], level: f64) -> Assumption {
    let kind = AssumptionKind::Normality;
    let mut results = Vec::new();
    let shapiro = shapiro_wilk(residuals);
    if let Ok(test) = &shapiro {
        results.push(CheckResult {
            test: "Shapiro–Wilk",
            statistic: test.statistic,
            p: Some(test.p),
        });
    }
    let anderson = anderson_darling(residuals);
    if let Ok(test) = &anderson {
        results.push(CheckResult {
            test: "Anderson–Darling",
            statistic: test.statistic,
            p: Some(test.p),
        });
    }
    let (p, w) = match (&shapiro, &anderson) {
        (Ok(test), _) => (test.p, Some(test.statistic)),
        (Err(_), Ok(test)) => (test.p, None),
        (Err(error), Err(_)) => {
            return not_checked(
                kind,
                format!("normality of the residuals was not checked: {error}"),
                "",
            );
        }
    };
    let n = residuals.len();
    let mut verdict = judged(p, level);
    let mild = n >= MANY_RUNS && w.is_some_and(|w| w >= MILD_W) || n > 5_000;
    if verdict == Verdict::Violated && mild {
        verdict = Verdict::Doubtful;
    }
    let (meaning, advice) = match verdict {
        Verdict::Violated => (
            format!(
                "the residuals are not normal ({}); p-values and intervals of the plain fit \
                 cannot be taken at face value",
                p_value(p)
            ),
            "transform the response or use a method that does not assume normality",
        ),
        Verdict::Doubtful => (
            format!(
                "the residuals depart from normality ({}), but with {n} runs the F tests hardly \
                 suffer",
                p_value(p)
            ),
            "look at the Q–Q plot before relying on a borderline p-value",
        ),
        Verdict::Holds | Verdict::NotChecked => (
            format!("nothing speaks against normal residuals ({})", p_value(p)),
            "",
        ),
    };
    Assumption {
        kind,
        results,
        verdict,
        meaning,
        advice: advice.to_owned(),
    }
}

/// Bartlett, Levene and Brown–Forsythe on the response between cells.
pub(super) fn equal_variances(fit: &Fit<'_>, cells: &Cells, level: f64) -> Assumption {
    let kind = AssumptionKind::EqualVariances;
    let unreplicated = || {
        not_checked(
            kind,
            "equal variances between cells were not checked: too few settings are replicated"
                .to_owned(),
            "replicate runs to learn how much the response varies at equal settings",
        )
    };
    let frame = fit.matrix().frame();
    if cells.len() == frame.len() {
        return unreplicated();
    }
    let groups: Vec<Vec<f64>> = cells
        .groups(frame.response_values())
        .into_iter()
        .filter(|group| group.len() > 1)
        .collect();
    let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
    let checked = Groups::new(&slices).and_then(|groups| Ok((groups, brown_forsythe(&groups)?)));
    let (groups, decisive) = match checked {
        Ok(checked) => checked,
        Err(_) => return unreplicated(),
    };
    let mut results = vec![CheckResult {
        test: "Brown–Forsythe",
        statistic: decisive.statistic,
        p: Some(decisive.p),
    }];
    if let Ok(test) = levene(&groups) {
        results.push(CheckResult {
            test: "Levene",
            statistic: test.statistic,
            p: Some(test.p),
        });
    }
    if let Ok(test) = bartlett(&groups) {
        results.push(CheckResult {
            test: "Bartlett",
            statistic: test.statistic,
            p: Some(test.p),
        });
    }
    let verdict = judged(decisive.p, level);
    let p = p_value(decisive.p);
    let (meaning, advice) = match verdict {
        Verdict::Violated => (
            format!(
                "the response varies much more at some settings than at others ({p}), so one \
                 error estimate for all is wrong"
            ),
            "transform the response, or compare settings without pooling their variances",
        ),
        Verdict::Doubtful => (
            format!("the response may vary more at some settings than at others ({p})"),
            "compare the residuals' spread between settings before relying on narrow intervals",
        ),
        Verdict::Holds | Verdict::NotChecked => (
            format!("the response varies about as much at every setting ({p})"),
            "",
        ),
    };
    Assumption {
        kind,
        results,
        verdict,
        meaning,
        advice: advice.to_owned(),
    }
}

/// Breusch–Pagan on the model's columns, or on the fitted values where those are
/// too many to look at.
fn constant_spread(fit: &Fit<'_>, level: f64) -> Assumption {
    let kind = AssumptionKind::ConstantSpread;
    let work = fit.observations().saturating_mul(fit.rank().pow(2));
    let outcome = match work <= BASIS_WORK {
        true => {
            let columns = estimated_columns(fit);
            let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            breusch_pagan(fit.residuals(), &slices)
        }
        false => breusch_pagan(fit.residuals(), &[&fit.fitted()]),
    };
    let test = match outcome {
        Ok(test) => test,
        Err(error) => {
            return not_checked(
                kind,
                format!("whether the spread follows the model was not checked: {error}"),
                "",
            );
        }
    };
    let p = test.lagrange.p;
    let verdict = judged(p, level);
    let (meaning, advice) = match verdict {
        Verdict::Violated | Verdict::Doubtful => (
            format!(
                "the residuals' spread changes with the factors ({}); standard errors are too \
                 small where the spread is large",
                p_value(p)
            ),
            "transform the response; a logarithm often evens out spread that grows with the mean",
        ),
        Verdict::Holds | Verdict::NotChecked => (
            format!(
                "the residuals' spread does not follow the factors ({})",
                p_value(p)
            ),
            "",
        ),
    };
    Assumption {
        kind,
        results: vec![CheckResult {
            test: "Breusch–Pagan",
            statistic: test.lagrange.statistic,
            p: Some(p),
        }],
        verdict,
        meaning,
        advice: advice.to_owned(),
    }
}

fn estimated_columns(fit: &Fit<'_>) -> Vec<Vec<f64>> {
    fit.solution
        .independent
        .iter()
        .map(|&column| fit.matrix().column_values(column))
        .collect()
}

/// Durbin–Watson in the order the runs were made.
fn independence(evidence: &Evidence<'_>) -> Assumption {
    let kind = AssumptionKind::Independence;
    let Some(order) = evidence.run_order else {
        return not_checked(
            kind,
            "independence of the runs was not checked: the order in which they were made is not \
             known"
                .to_owned(),
            "name the column of the run order; a drifting machine is otherwise invisible",
        );
    };
    let fit = evidence.fit;
    let rows = fit.matrix().frame().table_rows();
    let mut sequence: Vec<usize> = (0..rows.len()).collect();
    sequence.sort_by(|&a, &b| order[rows[a] as usize].total_cmp(&order[rows[b] as usize]));
    let sorted = |values: &[f64]| -> Vec<f64> { sequence.iter().map(|&k| values[k]).collect() };
    let work = fit.observations().saturating_mul(fit.rank().pow(2));
    let columns: Vec<Vec<f64>> = match work <= BASIS_WORK {
        true => estimated_columns(fit).iter().map(|c| sorted(c)).collect(),
        // In so many runs the model's columns do not move the statistic.
        false => vec![vec![1.0; fit.observations()]],
    };
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let test = match durbin_watson(&sorted(fit.residuals()), &slices) {
        Ok(test) => test,
        Err(error) => {
            return not_checked(
                kind,
                format!("independence of the runs was not checked: {error}"),
                "",
            );
        }
    };
    let p = test.p();
    let verdict = judged(p, evidence.level);
    let d = short(test.statistic);
    let (meaning, advice) = match (verdict, test.statistic < 2.0) {
        (Verdict::Holds | Verdict::NotChecked, _) => (
            format!("neighbouring runs are no more alike than distant ones (d = {d})"),
            "",
        ),
        (_, true) => (
            format!(
                "runs made after each other resemble each other (d = {d}, {}); something drifts, \
                 and the runs count for less than their number",
                p_value(p)
            ),
            "look for warm-up or drift, randomise the order, or add the run order to the model",
        ),
        (_, false) => (
            format!(
                "runs made after each other alternate (d = {d}, {})",
                p_value(p)
            ),
            "look for something that switches between runs",
        ),
    };
    Assumption {
        kind,
        results: vec![CheckResult {
            test: "Durbin–Watson",
            statistic: test.statistic,
            p: Some(p),
        }],
        verdict,
        meaning,
        advice: advice.to_owned(),
    }
}

/// A variance inflation above this is commonly called severe.
const SEVERE_INFLATION: f64 = 10.0;

fn largest_inflation(factors: &[VarianceInflation]) -> Option<&VarianceInflation> {
    factors
        .iter()
        .filter(|factor| factor.column != "Intercept")
        .max_by(|a, b| a.factor.total_cmp(&b.factor))
}

fn collinearity(evidence: &Evidence<'_>) -> Assumption {
    let kind = AssumptionKind::Collinearity;
    let Some(largest) = largest_inflation(evidence.variance_inflation) else {
        return not_checked(kind, "the model has no columns to compare".to_owned(), "");
    };
    let result = CheckResult {
        test: "largest variance inflation",
        statistic: largest.factor,
        p: None,
    };
    let factor = short(largest.factor);
    let column = &largest.column;
    if largest.factor < SEVERE_INFLATION {
        return Assumption {
            kind,
            results: vec![result],
            verdict: Verdict::Holds,
            meaning: format!(
                "the columns are distinct enough (the largest variance inflation is {factor}, \
                 of `{column}`)"
            ),
            advice: String::new(),
        };
    }
    // Products of uncentred factors are collinear with the factors themselves;
    // that is a matter of units, not of the design.
    let centred = evidence.fit.matrix().frame().sample().centred();
    let matrix = ModelMatrix::new(&centred, Contrast::Sum);
    let centred = fit(&matrix, &FitOptions::default()).ok().and_then(|fit| {
        let factors = variance_inflation(&fit);
        largest_inflation(&factors).map(|factor| factor.factor)
    });
    match centred {
        Some(inflation) if inflation < SEVERE_INFLATION => Assumption {
            kind,
            results: vec![
                result,
                CheckResult {
                    test: "largest variance inflation, centred",
                    statistic: inflation,
                    p: None,
                },
            ],
            verdict: Verdict::Holds,
            meaning: format!(
                "the variance inflation of {factor} of `{column}` comes from multiplying factors \
                 in their natural units; centred it is {}, so the design itself is sound",
                short(inflation)
            ),
            advice: "read coefficients of main effects together with their interactions, or use \
                     coded units; the sums of squares of types I and II are not affected"
                .to_owned(),
        },
        _ => Assumption {
            kind,
            results: vec![result],
            verdict: Verdict::Violated,
            meaning: format!(
                "`{column}` is nearly a combination of other columns (variance inflation \
                 {factor}); its effect cannot be separated well from theirs"
            ),
            advice: "drop one of the columns or add runs that vary them apart".to_owned(),
        },
    }
}

fn influence(evidence: &Evidence<'_>) -> Assumption {
    let kind = AssumptionKind::Influence;
    let Some(influence) = evidence.influence else {
        return not_checked(
            kind,
            "single runs were not examined: there are too many for one to matter".to_owned(),
            "",
        );
    };
    let rows = evidence.fit.matrix().frame().table_rows();
    let largest = influence
        .cooks_distance
        .iter()
        .enumerate()
        .filter(|(_, distance)| distance.is_finite())
        .max_by(|a, b| a.1.total_cmp(b.1));
    let Some((row, &distance)) = largest else {
        return not_checked(
            kind,
            "single runs were not examined: every run has a parameter of its own".to_owned(),
            "",
        );
    };
    let mut results = vec![CheckResult {
        test: "largest Cook's distance",
        statistic: distance,
        p: None,
    }];
    if let Some(outlier) = evidence.outliers.first() {
        results.push(CheckResult {
            test: "largest studentised residual",
            statistic: outlier.studentized,
            p: Some(outlier.p),
        });
    }
    let place = rows[row] as usize + 1;
    let count = evidence.outliers.len();
    // A distance of one moves the fit to the edge of its 50% confidence region
    // (Cook 1977).
    let (verdict, meaning, advice) = if distance >= 1.0 {
        (
            Verdict::Violated,
            format!(
                "row {place} alone decides the result (Cook's distance {})",
                short(distance)
            ),
            "repeat that run, and analyse with and without it",
        )
    } else if let Some(outlier) = evidence.outliers.first() {
        let place = rows[outlier.row] as usize + 1;
        let share = percent(100.0 * count as f64 / rows.len() as f64);
        (
            Verdict::Doubtful,
            match count {
                1 => format!(
                    "row {place} is an outlier (studentised residual {}), though it does not \
                     decide the result",
                    short(outlier.studentized)
                ),
                _ => format!(
                    "{count} rows ({share}) are outliers, the largest in row {place} (studentised \
                     residual {})",
                    short(outlier.studentized)
                ),
            },
            "look at these runs for a cause; do not drop them without one",
        )
    } else {
        (
            Verdict::Holds,
            format!(
                "no single run decides the result (largest Cook's distance {}, row {place})",
                short(distance)
            ),
            "",
        )
    };
    Assumption {
        kind,
        results,
        verdict,
        meaning,
        advice: advice.to_owned(),
    }
}

fn form(evidence: &Evidence<'_>) -> Assumption {
    let kind = AssumptionKind::Form;
    let Some(test) = evidence.lack_of_fit else {
        return not_checked(
            kind,
            "the form of the model was not checked: no settings are replicated beyond its \
             parameters"
                .to_owned(),
            "",
        );
    };
    let verdict = match judged(test.p, evidence.level) {
        // A missing term biases no test of the terms that are there when the
        // design is balanced; it is a reason to look further, not to stop.
        Verdict::Violated => Verdict::Doubtful,
        verdict => verdict,
    };
    let total = evidence.fit.total_sum_of_squares();
    let missed = percent(100.0 * test.sum_of_squares / total);
    let (meaning, advice) = match verdict {
        Verdict::Holds | Verdict::NotChecked => (
            format!(
                "the model misses nothing that replicates would show ({})",
                p_value(test.p)
            ),
            "",
        ),
        Verdict::Doubtful | Verdict::Violated => (
            format!(
                "the model misses something systematic: {missed} of the variation lies between \
                 settings but in no term ({})",
                p_value(test.p)
            ),
            "add interactions, or treat factors with more than two levels as categories",
        ),
    };
    Assumption {
        kind,
        results: vec![CheckResult {
            test: "lack of fit",
            statistic: test.f,
            p: Some(test.p),
        }],
        verdict,
        meaning,
        advice: advice.to_owned(),
    }
}
