//! Checks of the model: its terms can be told apart, and none is missing.

use super::super::wording::{p_value, percent, short};
use super::{Assumption, AssumptionKind, CheckResult, Evidence, Verdict, judged, not_checked};
use crate::collinearity::{VarianceInflation, variance_inflation};
use crate::fit::{FitOptions, fit};
use crate::matrix::{Contrast, ModelMatrix};

/// A variance inflation above this is commonly called severe.
const SEVERE_INFLATION: f64 = 10.0;

fn largest_inflation(factors: &[VarianceInflation]) -> Option<&VarianceInflation> {
    factors
        .iter()
        .filter(|factor| factor.column != "Intercept")
        .max_by(|a, b| a.factor.total_cmp(&b.factor))
}

pub(super) fn collinearity(evidence: &Evidence<'_>) -> Assumption {
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

pub(super) fn form(evidence: &Evidence<'_>) -> Assumption {
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
