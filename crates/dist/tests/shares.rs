//! Shares and counts against SciPy (`oracle/shares.py`), and where they end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_dist::{PoissonBinomial, clopper_pearson};
use serde_json::Value;

fn oracle() -> Value {
    serde_json::from_str(include_str!("../oracle/shares.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap();
    list.iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn exact_intervals_agree_with_scipy() {
    let oracle = oracle();
    let cases = oracle["intervals"].as_array().unwrap();
    assert!(cases.len() > 150);
    for case in cases {
        let case = numbers(case);
        let (low, high) = clopper_pearson(case[0] as u64, case[1] as u64, case[2]);
        assert!((low - case[3]).abs() < 1e-10, "{case:?}: {low}");
        assert!((high - case[4]).abs() < 1e-10, "{case:?}: {high}");
    }
}

#[test]
fn counts_of_unequal_events_agree_with_scipy() {
    let oracle = oracle();
    for case in oracle["counts"].as_array().unwrap() {
        let counts = PoissonBinomial::new(&numbers(&case["p"])).unwrap();
        for (count, below) in numbers(&case["counts"])
            .into_iter()
            .zip(numbers(&case["cdf"]))
        {
            let found = counts.cdf(count as usize);
            assert!((found - below).abs() < 1e-12, "{count}: {found}, {below}");
            let above = counts.sf(count as usize);
            assert!((found + above - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn no_trials_say_nothing_and_certain_events_leave_no_doubt() {
    assert_eq!(clopper_pearson(0, 0, 0.95), (0.0, 1.0));
    let none = PoissonBinomial::new(&[]).unwrap();
    assert_eq!((none.cdf(0), none.sf(0), none.mean()), (1.0, 0.0, 0.0));
    let certain = PoissonBinomial::new(&[1.0, 1.0, 0.0]).unwrap();
    assert_eq!(
        (certain.cdf(1), certain.cdf(2), certain.cdf(9)),
        (0.0, 1.0, 1.0)
    );
    for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(PoissonBinomial::new(&[0.5, wrong]).is_err(), "{wrong}");
    }
}

#[test]
fn tails_keep_their_digits() {
    // 0.05 to the 40th is 9.094947e-53: as one minus the rest it would be nothing.
    let counts = PoissonBinomial::new(&[0.95; 40]).unwrap();
    let none = 0.05_f64.powi(40);
    assert!((counts.cdf(0) / none - 1.0).abs() < 1e-9);
}
