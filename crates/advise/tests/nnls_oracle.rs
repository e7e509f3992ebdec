//! Non-negative least squares against SciPy; see `oracle/nnls.py`.

use paceline_advise::least_squares::{NnlsError, nnls};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    let items = value.as_array().into_iter().flatten();
    items
        .map(|item| item.as_f64().expect("the oracle holds numbers"))
        .collect()
}

#[test]
fn solutions_agree_with_scipy() {
    let oracle: Value = serde_json::from_str(include_str!("../oracle/nnls.json")).unwrap();
    for case in oracle["cases"].as_array().unwrap() {
        let columns: Vec<Vec<f64>> = case["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        let found = nnls(&columns, &numbers(&case["target"])).unwrap();
        let expected = numbers(&case["coefficients"]);
        let largest = expected.iter().copied().fold(1.0, f64::max);
        for (ours, theirs) in found.coefficients.iter().zip(&expected) {
            // Both solve well-conditioned systems in double precision; the last
            // digits depend on the order of operations.
            assert!(
                (ours - theirs).abs() <= 1e-9 * largest,
                "{}: {found:?}",
                case["name"]
            );
        }
        let norm = case["residual_norm"].as_f64().unwrap();
        assert!(
            (found.residual_norm - norm).abs() <= 1e-9 * norm.max(1.0),
            "{}",
            case["name"]
        );
    }
}

#[test]
fn bad_input_is_refused() {
    assert_eq!(nnls(&[], &[1.0]), Err(NnlsError::Empty));
    assert_eq!(nnls(&[vec![f64::NAN]], &[1.0]), Err(NnlsError::NotFinite));
    let error = nnls(&[vec![1.0, 2.0]], &[1.0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column 0 has 2 rows where the target has 1"
    );
}

#[test]
fn repeated_columns_do_not_stall_the_solver() {
    let column = vec![1.0, 2.0, 3.0];
    let found = nnls(&[column.clone(), column.clone()], &[2.0, 4.0, 6.0]).unwrap();
    assert!((found.coefficients.iter().sum::<f64>() - 2.0).abs() < 1e-12);
    assert!(found.residual_norm < 1e-12);
}
