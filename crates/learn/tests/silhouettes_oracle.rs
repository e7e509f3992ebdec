//! Silhouettes and the number of clusters against scikit-learn:
//! `oracle/silhouettes.py`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_learn::{Features, Threads, choose_clusters, silhouettes};
use serde_json::Value;

const ORACLE: &str = include_str!("../oracle/silhouettes.json");

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn silhouettes_and_the_chosen_number_are_scikit_learns() {
    let oracle: Value = serde_json::from_str(ORACLE).unwrap();
    for case in oracle["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let rows: Vec<Vec<f64>> = case["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        let features = Features::from_rows(&rows).unwrap();
        let labels: Vec<usize> = numbers(&case["labels"])
            .iter()
            .map(|&l| l as usize)
            .collect();
        for (found, expected) in silhouettes(&features, &labels)
            .iter()
            .zip(numbers(&case["silhouettes"]))
        {
            assert!(
                (found - expected).abs() < 1e-9,
                "{name}: {found} {expected}"
            );
        }
        let chosen = choose_clusters(&features, 8, 1, Threads::available())
            .unwrap()
            .unwrap();
        let (best, score) = (
            case["best"].as_u64().unwrap(),
            case["score"].as_f64().unwrap(),
        );
        // Where there are no clusters, the least inertia has many neighbours, and the
        // starts decide which of them is found.
        if name == "none" {
            assert!(chosen.silhouette < 0.5 && score < 0.5, "{name}");
        } else {
            assert_eq!(chosen.count as u64, best, "{name}");
            assert!((chosen.silhouette - score).abs() < 1e-9, "{name}");
        }
    }
}

#[test]
fn one_cluster_and_equal_rows_have_no_silhouette() {
    let features = Features::from_rows(&[[1.0], [1.0], [1.0]]).unwrap();
    assert_eq!(silhouettes(&features, &[0, 0, 0]), [0.0; 3]);
    assert_eq!(silhouettes(&features, &[0, 1, 1]), [0.0; 3]);
    let two = Features::from_rows(&[[1.0], [2.0]]).unwrap();
    assert!(
        choose_clusters(&two, 8, 1, Threads::available())
            .unwrap()
            .is_none()
    );
}
