//! Checks of the model: its terms can be told apart, and none is missing.

use super::super::wording::{list, p_value, percent, quoted, short};
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
    let column = &largest.label;
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

/// Lack of fit where there are replicates, and squares of the numbers that enter
/// as straight lines, which need none.
pub(super) fn form(evidence: &Evidence<'_>) -> Assumption {
    let kind = AssumptionKind::Form;
    let mut results = Vec::new();
    if let Some(test) = evidence.lack_of_fit {
        results.push(CheckResult {
            test: "lack of fit",
            statistic: test.f,
            p: Some(test.p),
        });
    }
    if let Some(test) = evidence.curvature {
        results.push(CheckResult {
            test: "squared terms",
            statistic: test.f,
            p: Some(test.p),
        });
    }
    if results.is_empty() {
        return not_checked(
            kind,
            "the form of the model was not checked: no settings are replicated beyond its \
             parameters, and no number with three values or more enters as a straight line"
                .to_owned(),
            "",
        );
    }
    let bends = bends(evidence);
    let missing = evidence
        .lack_of_fit
        .filter(|test| judged(test.p, evidence.level) != Verdict::Holds);
    // A missing term biases no test of the terms that are there when the design
    // is balanced; it is a reason to look further, not to stop.
    let (verdict, meaning, advice) = match (bends, missing) {
        (Some((bend, advice)), _) => (Verdict::Doubtful, bend, advice),
        (None, Some(test)) => {
            let total = evidence.fit.total_sum_of_squares();
            let missed = percent(100.0 * test.sum_of_squares / total);
            (
                Verdict::Doubtful,
                format!(
                    "the model misses something systematic: {missed} of the variation lies \
                     between settings but in no term ({})",
                    p_value(test.p)
                ),
                "add interactions, or treat factors with more than two levels as categories"
                    .to_owned(),
            )
        }
        (None, None) => {
            let held: Vec<String> = results
                .iter()
                .filter_map(|result| {
                    let p = p_value(result.p?);
                    Some(match result.test {
                        "lack of fit" => format!("replicates show nothing that it misses ({p})"),
                        _ => format!("no bend shows along its straight lines ({p})"),
                    })
                })
                .collect();
            (Verdict::Holds, held.join(", and "), String::new())
        }
    };
    Assumption {
        kind,
        results,
        verdict,
        meaning,
        advice,
    }
}

/// Where the response bends, and what to do about it.
fn bends(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let curvature = evidence.curvature?;
    let clear = curvature.clear(evidence.level);
    if clear.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    let mut squares = Vec::new();
    for bend in &clear {
        let way = match bend.up_in_the_middle {
            true => "above",
            false => "below",
        };
        let p = p_value(bend.adjusted);
        parts.push(match bend.columns.as_slice() {
            [column] => format!(
                "along `{column}` the response lies {way} a straight line in the middle ({p})"
            ),
            several => format!(
                "at the centre points the response lies {way} a straight line ({p}), along one or \
                 more of {}",
                list(&quoted(several))
            ),
        });
        squares.push(match bend.columns.as_slice() {
            [column] => format!("add I({column}^2) to the formula"),
            _ => "add runs that vary one factor at a time, then its square".to_owned(),
        });
    }
    squares.dedup();
    let sampled = match curvature.sampled {
        Some(rows) => format!(", seen in a sample of {rows} runs"),
        None => String::new(),
    };
    Some((format!("{}{sampled}", parts.join("; ")), squares.join("; ")))
}
