//! Tail probabilities against values computed with 50 digits by
//! `oracle/tails.py`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_dist::{
    ChiSquared, FisherF, Gamma, NoncentralF, Normal, Poisson, StudentT, StudentizedRange,
};
use serde_json::Value;

const ORACLE: &str = include_str!("../oracle/tails.json");

/// What the crate promises for a probability of at least 1e-300.
const TOLERANCE: f64 = 1e-10;

fn number(value: &Value) -> Option<f64> {
    value.as_str().map(|text| text.parse().unwrap())
}

fn evaluate(dist: &str, params: &[f64], x: f64) -> (f64, f64) {
    match (dist, params) {
        ("normal", []) => (Normal.cdf(x), Normal.sf(x)),
        ("student_t", &[df]) => {
            let t = StudentT::new(df).unwrap();
            (t.cdf(x), t.sf(x))
        }
        ("chi_squared", &[df]) => {
            let chi = ChiSquared::new(df).unwrap();
            (chi.cdf(x), chi.sf(x))
        }
        ("fisher_f", &[df1, df2]) => {
            let f = FisherF::new(df1, df2).unwrap();
            (f.cdf(x), f.sf(x))
        }
        ("noncentral_f", &[df1, df2, lambda]) => {
            let f = NoncentralF::new(df1, df2, lambda).unwrap();
            (f.cdf(x), f.sf(x))
        }
        ("studentized_range", &[groups, df]) => {
            let range = StudentizedRange::new(groups as u32, df).unwrap();
            (range.cdf(x), range.sf(x))
        }
        ("gamma", &[shape, rate]) => {
            let gamma = Gamma::new(shape, rate).unwrap();
            (gamma.cdf(x), gamma.sf(x))
        }
        ("poisson", &[mean]) => {
            let poisson = Poisson::new(mean).unwrap();
            (poisson.cdf(x as u64), poisson.sf(x as u64))
        }
        _ => panic!("no distribution {dist} with {params:?}"),
    }
}

#[test]
fn tails_agree_with_fifty_digit_values() {
    let oracle: Value = serde_json::from_str(ORACLE).unwrap();
    let mut failures = Vec::new();
    let mut worst = std::collections::BTreeMap::new();
    for case in oracle["cases"].as_array().unwrap() {
        let dist = case["dist"].as_str().unwrap();
        let params: Vec<f64> = case["params"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(number)
            .collect();
        let x = number(&case["x"]).unwrap();
        let (cdf, sf) = evaluate(dist, &params, x);
        for (name, got, wanted) in [("cdf", cdf, &case["cdf"]), ("sf", sf, &case["sf"])] {
            let Some(wanted) = number(wanted) else {
                continue;
            };
            let error = ((got - wanted) / wanted).abs();
            let entry = worst.entry(dist).or_insert(0.0_f64);
            *entry = entry.max(error);
            if error.is_nan() || error > TOLERANCE {
                failures.push(format!(
                    "{dist} {params:?} {name}({x:e}) = {got:e}, not {wanted:e}: off by {error:.1e}"
                ));
            }
        }
    }
    println!("largest relative error: {worst:?}");
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
