//! Hypothesis tests against SciPy, statsmodels and R: `oracle/checks.py`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use paceline_stats::checks::{self, Groups, PairwiseComparison, SampleError};
use serde_json::Value;

const ORACLE: &str = include_str!("../oracle/checks.json");

/// How far a result may be from the reference, relatively.
const TOLERANCE: f64 = 1e-9;

/// Where the reference is no better than this, and why.
fn tolerance(test: &str, source: &str, field: &str) -> f64 {
    match (test, source, field) {
        // SciPy takes normal quantiles from AS 111, which has nine digits; p
        // magnifies the difference by the slope of ln(1 - W).
        ("shapiro_wilk", "scipy", "statistic") => 1e-8,
        ("shapiro_wilk", _, "p") => 1e-6,
        // SciPy integrates the studentised range to an absolute error of about
        // 1e-11, and finds the critical value by a search with its own limit.
        ("tukey_hsd" | "games_howell", "scipy", "p" | "lower" | "upper") => 1e-6,
        // SciPy finds the sums of squares as differences of larger ones.
        ("one_way_anova", "scipy", "p") => 1e-8,
        // The sum of Pan's algorithm is finite, and the arithmetic alternates.
        ("durbin_watson", "R lmtest", "p_positive") => 1e-6,
        _ => TOLERANCE,
    }
}

/// Below this the reference has no digits left, because it subtracts from one.
fn floor(test: &str) -> f64 {
    match test {
        "tukey_hsd" | "games_howell" => 1e-9,
        "durbin_watson" => 1e-12,
        _ => 0.0,
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

fn columns(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn slices(columns: &[Vec<f64>]) -> Vec<&[f64]> {
    columns.iter().map(Vec::as_slice).collect()
}

type Fields = Vec<(&'static str, Vec<f64>)>;

fn one(fields: &[(&'static str, f64)]) -> Fields {
    fields
        .iter()
        .map(|&(name, value)| (name, vec![value]))
        .collect()
}

fn pairs(comparisons: &[PairwiseComparison]) -> Fields {
    let all = |field: fn(&PairwiseComparison) -> f64| comparisons.iter().map(field).collect();
    vec![
        ("difference", all(|c| c.difference)),
        ("p", all(|c| c.p)),
        ("lower", all(|c| c.lower)),
        ("upper", all(|c| c.upper)),
    ]
}

/// Applies the test and names its results as the oracle does.
fn apply(test: &str, given: &Value) -> Result<Fields, SampleError> {
    let chi =
        |t: checks::ChiSquaredTest| one(&[("statistic", t.statistic), ("df", t.df), ("p", t.p)]);
    let f = |t: checks::FTest| {
        one(&[
            ("statistic", t.statistic),
            ("df1", t.df1),
            ("df2", t.df2),
            ("p", t.p),
        ])
    };
    let normality = |t: checks::NormalityTest| one(&[("statistic", t.statistic), ("p", t.p)]);
    let groups = given.get("groups").map(columns).unwrap_or_default();
    let groups = slices(&groups);
    let vector = |name: &str| given.get(name).map(numbers).unwrap_or_default();
    let matrix = |name: &str| given.get(name).map(columns).unwrap_or_default();
    Ok(match test {
        "shapiro_wilk" => normality(checks::shapiro_wilk(&vector("values"))?),
        "anderson_darling" => normality(checks::anderson_darling(&vector("values"))?),
        "one_way_anova" => f(checks::one_way_anova(&Groups::new(&groups)?)?),
        "welch_anova" => f(checks::welch_anova(&Groups::new(&groups)?)?),
        "levene" => f(checks::levene(&Groups::new(&groups)?)?),
        "brown_forsythe" => f(checks::brown_forsythe(&Groups::new(&groups)?)?),
        "bartlett" => chi(checks::bartlett(&Groups::new(&groups)?)?),
        "kruskal_wallis" => chi(checks::kruskal_wallis(&Groups::new(&groups)?)?),
        "tukey_hsd" => pairs(&checks::tukey_hsd(&Groups::new(&groups)?, 0.95)?),
        "games_howell" => pairs(&checks::games_howell(&Groups::new(&groups)?, 0.95)?),
        "holm" => vec![("corrected", checks::holm(&vector("p_values")).unwrap())],
        "breusch_pagan" => {
            let t = checks::breusch_pagan(&vector("residuals"), &slices(&matrix("columns")))?;
            one(&[
                ("lagrange", t.lagrange.statistic),
                ("lagrange_p", t.lagrange.p),
                ("df", t.lagrange.df),
                ("f", t.f.statistic),
                ("f_p", t.f.p),
            ])
        }
        "durbin_watson" => {
            let t = checks::durbin_watson(&vector("residuals"), &slices(&matrix("columns")))?;
            one(&[("statistic", t.statistic), ("p_positive", t.p_positive)])
        }
        "lenth" => {
            let t = checks::lenth(&vector("effects"), 0.95)?;
            vec![
                ("pse", vec![t.pseudo_standard_error]),
                ("margin", vec![t.margin]),
                ("simultaneous", vec![t.simultaneous_margin]),
                ("p", t.effects.iter().map(|effect| effect.p).collect()),
            ]
        }
        "half_normal_quantiles" => {
            let count = given["count"].as_u64().unwrap() as usize;
            vec![("quantiles", checks::half_normal_quantiles(count))]
        }
        other => panic!("no test {other}"),
    })
}

#[test]
fn every_test_agrees_with_its_reference() {
    let oracle: Value = serde_json::from_str(ORACLE).unwrap();
    let mut failures = Vec::new();
    let mut largest = BTreeMap::<String, f64>::new();
    let mut count = 0;
    for case in oracle["cases"].as_array().unwrap() {
        let (test, source) = (
            case["test"].as_str().unwrap(),
            case["source"].as_str().unwrap(),
        );
        if source == "all 5040 arrangements" {
            continue;
        }
        count += 1;
        let fields = apply(test, &case["given"])
            .unwrap_or_else(|error| panic!("{test} of {}: {error}", case["data"]));
        for (field, wanted) in case["expected"].as_object().unwrap() {
            let wanted = match wanted {
                Value::Array(_) => numbers(wanted),
                single => vec![single.as_f64().unwrap()],
            };
            let got = &fields.iter().find(|(name, _)| name == field).unwrap().1;
            assert_eq!(got.len(), wanted.len(), "{test} {field}");
            for (got, wanted) in got.iter().zip(wanted) {
                let error = (got - wanted).abs();
                let relative = if error <= floor(test) {
                    0.0
                } else {
                    error / wanted.abs()
                };
                let key = format!("{test} {source} {field}");
                let worst = largest.entry(key).or_default();
                *worst = worst.max(relative);
                if relative.is_nan() || relative > tolerance(test, source, field) {
                    failures.push(format!(
                        "{test} of {} by {source}: {field} = {got:e}, not {wanted:e}: {relative:.1e}",
                        case["data"]
                    ));
                }
            }
        }
    }
    for (key, error) in largest {
        println!("{error:.1e} {key}");
    }
    assert!(count >= 100, "only {count} cases were compared");
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// The shuffled p-value has a binomial error around the exact one.
fn check_shuffled(test: &str, run: impl Fn(&Value, u64) -> checks::PermutationTest) {
    let oracle: Value = serde_json::from_str(ORACLE).unwrap();
    let cases = oracle["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["test"] == test).unwrap();
    let exact = case["expected"]["p"].as_f64().unwrap();
    let statistic = case["expected"]["statistic"].as_f64().unwrap();
    for seed in 1..=3 {
        let result = run(&case["given"], seed);
        assert!((result.statistic / statistic - 1.0).abs() < TOLERANCE);
        let deviation = (exact * (1.0 - exact) / f64::from(result.permutations)).sqrt();
        assert!(
            (result.p - exact).abs() < 4.0 * deviation,
            "seed {seed}: {} is not near {exact}",
            result.p
        );
        assert_eq!(
            result,
            run(&case["given"], seed),
            "the seed determines the result"
        );
    }
}

#[test]
fn shuffled_residuals_approach_the_share_of_all_arrangements() {
    check_shuffled("freedman_lane", |given, seed| {
        checks::freedman_lane(
            &numbers(&given["response"]),
            &slices(&columns(&given["kept"])),
            &slices(&columns(&given["added"])),
            9_999,
            seed,
        )
        .unwrap()
    });
}
