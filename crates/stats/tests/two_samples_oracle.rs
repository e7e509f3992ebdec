//! Two samples compared, against SciPy: `oracle/two_samples.py`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_stats::checks::{rank_sum, welch};
use serde_json::Value;

const ORACLE: &str = include_str!("../oracle/two_samples.json");

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|v| v.as_f64().unwrap()).collect()
}

#[track_caller]
fn near(name: &str, what: &str, found: f64, expected: f64) {
    let scale = expected.abs().max(1e-6);
    assert!(
        (found - expected).abs() <= 1e-8 * scale,
        "{name}, {what}: {found} instead of {expected}"
    );
}

#[test]
fn differences_ratios_and_rank_sums_are_scipys() {
    let oracle: Value = serde_json::from_str(ORACLE).unwrap();
    let cases = oracle["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 9);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let (first, second) = (numbers(&case["first"]), numbers(&case["second"]));
        let test = welch(&first, &second, 0.95).unwrap();
        let expected = numbers(&case["welch"]);
        let found = [test.statistic, test.df, test.p, test.lower, test.upper];
        for (what, (found, expected)) in ["t", "df", "p", "lower", "upper"]
            .iter()
            .zip(found.iter().zip(&expected))
        {
            near(name, what, *found, *expected);
        }
        match (test.ratio, &case["ratio"]) {
            (None, Value::Null) => {}
            (Some(ratio), expected) => {
                let expected = numbers(expected);
                near(name, "ratio", ratio.estimate, expected[0]);
                near(name, "lower ratio", ratio.lower, expected[1]);
                near(name, "upper ratio", ratio.upper, expected[2]);
            }
            (found, expected) => panic!("{name}: {found:?} instead of {expected}"),
        }
        let ranks = rank_sum(&first, &second).unwrap();
        near(name, "U", ranks.statistic, case["u"].as_f64().unwrap());
        near(
            name,
            "p of ranks",
            ranks.p,
            case["rank_p"].as_f64().unwrap(),
        );
        assert_eq!(ranks.exact, case["rank_method"] != "asymptotic", "{name}");
    }
}
