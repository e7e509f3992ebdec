//! Checks of the residuals: normal, and equally spread.

use super::super::wording::p_value;
use super::{
    Assumption, AssumptionKind, BASIS_WORK, CheckResult, Verdict, estimated_columns, judged,
    not_checked,
};
use crate::cells::Cells;
use crate::checks::{
    Groups, anderson_darling, bartlett, breusch_pagan, brown_forsythe, levene, shapiro_wilk,
};
use crate::fit::Fit;

/// Shapiro and Wilk's W above this is a departure no F test of this many runs
/// would notice.
const MILD_W: f64 = 0.95;
const MANY_RUNS: usize = 50;

/// Shapiro–Wilk and Anderson–Darling on the residuals.
pub(in crate::analysis) fn normality(residuals: &[f64], level: f64) -> Assumption {
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
pub(in crate::analysis) fn equal_variances(fit: &Fit<'_>, cells: &Cells, level: f64) -> Assumption {
    let kind = AssumptionKind::EqualVariances;
    let missing = |what: String| {
        not_checked(
            kind,
            format!("equal variances between settings were not checked: {what}"),
            "replicate runs to learn how much the response varies at equal settings",
        )
    };
    let frame = fit.matrix().frame();
    if cells.len() == frame.len() {
        return missing("no setting was run more than once".to_owned());
    }
    let groups: Vec<Vec<f64>> = cells
        .groups(frame.response_values())
        .into_iter()
        .filter(|group| group.len() > 1)
        .collect();
    if let [_] = groups.as_slice() {
        return missing("only one setting was run more than once".to_owned());
    }
    let slices: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
    let checked = Groups::new(&slices).and_then(|groups| Ok((groups, brown_forsythe(&groups)?)));
    let (groups, decisive) = match checked {
        Ok(checked) => checked,
        Err(_) if groups.iter().all(|group| group.len() == 2) => {
            return missing(format!(
                "the {} settings that were run more than once have two runs each, and two runs are \
                 always equally far from their middle; at least one setting needs three",
                groups.len()
            ));
        }
        Err(_) => {
            return missing(
                "runs at equal settings do not differ, or not in a way that can be compared"
                    .to_owned(),
            );
        }
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
pub(super) fn constant_spread(fit: &Fit<'_>, level: f64) -> Assumption {
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
                "the residuals' spread changes with the factors ({}), so one error estimate for \
                 all is wrong",
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
