//! Agreement with scikit-learn. The values, the script that computed them and
//! the versions it used are in `oracle/`.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use paceline_learn::{
    Dataset, DecisionTreeParams, DenseRows, Features, GaussianProcessParams, Hyperparameters,
    IsolationForestParams, KMeansParams, Kernel, Labelled, LassoParams, Metric, Model,
    RandomForestClassifierParams, RidgeParams, SplitCriterion, Threads, TreeShape,
    permutation_importance,
};
use serde_json::Value;
use std::sync::LazyLock;

static REFERENCE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../oracle/reference.json")).expect("the reference is JSON")
});

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(number).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn count(value: &Value) -> usize {
    value.as_u64().expect("a count") as usize
}

fn table(value: &Value) -> Features {
    let rows: Vec<Vec<f64>> = value
        .as_array()
        .expect("rows")
        .iter()
        .map(numbers)
        .collect();
    Features::from_rows(&rows).unwrap()
}

fn dataset(value: &Value) -> Dataset {
    Dataset::new(table(&value["x"]), numbers(&value["y"])).unwrap()
}

fn cases(value: &Value) -> &[Value] {
    value.as_array().expect("cases")
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let scale = expected.abs().max(1.0);
    assert!(
        (found - expected).abs() <= tolerance * scale,
        "{found} instead of {expected}"
    );
}

#[track_caller]
fn all_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (&found, &expected) in found.iter().zip(expected) {
        close(found, expected, tolerance);
    }
}

#[test]
fn ridge_agrees_to_eight_digits() {
    let reference = &REFERENCE["linear"];
    for case in cases(&reference["ridge"]) {
        let params = RidgeParams {
            penalty: number(&case["penalty"]),
            intercept: case["intercept"] == true,
        };
        let model = params.check().unwrap().fit(&dataset(reference)).unwrap();
        all_close(model.coefficients(), &numbers(&case["coef"]), 1e-8);
        close(model.intercept(), number(&case["constant"]), 1e-8);
    }
}

#[test]
fn lasso_agrees_to_eight_digits() {
    let reference = &REFERENCE["linear"];
    for case in cases(&reference["lasso"]) {
        let params = LassoParams {
            penalty: number(&case["penalty"]),
            intercept: case["intercept"] == true,
            // Near the minimum the objective is flat: eight digits of a
            // coefficient take twice as many of the gap.
            tolerance: 1e-17,
            max_sweeps: 20_000,
        };
        let model = params.check().unwrap().fit(&dataset(reference)).unwrap();
        all_close(model.coefficients(), &numbers(&case["coef"]), 1e-8);
        close(model.intercept(), number(&case["constant"]), 1e-8);
    }
}

#[test]
fn gaussian_process_agrees_to_eight_digits_at_fixed_hyperparameters() {
    let reference = &REFERENCE["gaussian_process"];
    for case in cases(&reference["cases"]) {
        let params = GaussianProcessParams {
            hyperparameters: Hyperparameters::Fixed(Kernel {
                variance: number(&case["variance"]),
                length_scales: numbers(&case["length_scales"]),
                noise: number(&case["noise"]),
            }),
            centre: false,
        };
        let model = params
            .check()
            .unwrap()
            .fit(&dataset(reference), 0, Threads::ONE)
            .unwrap();
        let found: Vec<_> = table(&reference["at"])
            .iter()
            .map(|row| model.predict_distribution(row).unwrap())
            .collect();
        let means: Vec<f64> = found.iter().map(|p| p.mean).collect();
        let variances: Vec<f64> = found.iter().map(|p| p.variance).collect();
        all_close(&means, &numbers(&case["mean"]), 1e-8);
        all_close(&variances, &numbers(&case["variance_at"]), 1e-8);
        let likelihood = number(&case["log_marginal_likelihood"]);
        close(model.log_marginal_likelihood(), likelihood, 1e-8);
    }
}

#[test]
fn fitted_hyperparameters_are_as_likely_as_those_of_twenty_restarts() {
    let reference = &REFERENCE["gaussian_process"];
    let params = GaussianProcessParams {
        centre: false,
        ..GaussianProcessParams::default()
    };
    let model = params
        .check()
        .unwrap()
        .fit(&dataset(reference), 1, Threads::new(2))
        .unwrap();
    let expected = number(&reference["fitted_log_marginal_likelihood"]);
    // The bounds differ a little, so ours may be the more likely one.
    assert!(
        model.log_marginal_likelihood() > expected - 1e-3,
        "{} instead of {expected}",
        model.log_marginal_likelihood()
    );
}

fn shape(value: &Value) -> TreeShape {
    let default = TreeShape::default();
    let at = |name: &str, or| value.get(name).map_or(or, count);
    TreeShape {
        max_depth: value.get("max_depth").map(count),
        min_samples_leaf: at("min_samples_leaf", default.min_samples_leaf),
        min_samples_split: at("min_samples_split", default.min_samples_split),
        ..default
    }
}

#[test]
fn trees_have_the_same_error_and_where_no_cuts_tie_are_the_same() {
    let reference = &REFERENCE["trees"];
    let all = table(&reference["x"]);
    let target = numbers(&reference["y"]);
    let at = table(&reference["at"]);
    let mut unique = 0;
    for case in cases(&reference["cases"]) {
        let criterion = match case["criterion"].as_str() {
            Some("squared_error") => SplitCriterion::Squared,
            _ => SplitCriterion::Absolute,
        };
        let params = DecisionTreeParams {
            criterion,
            shape: shape(&case["shape"]),
        };
        let features = count(&case["features"]);
        let data = Dataset::new(first(&all, features), target.clone()).unwrap();
        let model = params.check().unwrap().fit(&data, 0).unwrap();
        assert_eq!(model.leaves(), count(&case["leaves"]), "{params:?}");
        let fitted = model.predict(data.features(), Threads::ONE).unwrap();
        let error = Metric::MeanSquaredError.of(data.target(), &fitted).unwrap();
        close(error, number(&case["train_error"]), 1e-12);
        if case["unique"] == true {
            unique += 1;
            let predicted = model.predict(&first(&at, features), Threads::ONE).unwrap();
            all_close(&predicted, &numbers(&case["predicted"]), 1e-12);
        }
    }
    assert!(unique >= 12, "{unique} cases have a unique tree");
}

/// The first columns of a table.
fn first(table: &Features, columns: usize) -> Features {
    let rows: Vec<&[f64]> = table.iter().map(|row| &row[..columns]).collect();
    Features::from_rows(&rows).unwrap()
}

#[test]
fn clusters_are_as_tight() {
    let reference = &REFERENCE["clusters"];
    for case in cases(&reference["cases"]) {
        let params = KMeansParams {
            clusters: count(&case["clusters"]),
            starts: 50,
            tolerance: 0.0,
            max_rounds: 1000,
        };
        let model = params
            .check()
            .unwrap()
            .fit(&table(&reference["x"]), 0, Threads::new(2))
            .unwrap();
        close(model.inertia(), number(&case["inertia"]), 1e-8);
    }
}

const SEEDS: u64 = 20;

#[test]
fn anomalies_are_ranked_as_well() {
    let reference = &REFERENCE["anomalies"];
    let features = table(&reference["x"]);
    let usual = features.rows() - count(&reference["odd"]);
    let forest = IsolationForestParams::default().check().unwrap();
    let areas = (0..SEEDS).map(|seed| {
        let model = forest.fit(&features, seed, Threads::new(2)).unwrap();
        let scores = model.scores(&features, Threads::ONE).unwrap();
        area_under_curve(&scores[usual..], &scores[..usual])
    });
    let mean = areas.sum::<f64>() / SEEDS as f64;
    close(mean, number(&reference["auc"]), 0.01);
}

/// The chance that an odd row scores above a usual one (Hanley and McNeil 1982).
fn area_under_curve(odd: &[f64], usual: &[f64]) -> f64 {
    let wins: f64 = odd
        .iter()
        .flat_map(|odd| {
            usual.iter().map(move |usual| match odd.total_cmp(usual) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            })
        })
        .sum();
    wins / (odd.len() * usual.len()) as f64
}

#[test]
fn permutation_importance_has_the_same_expectation() {
    let reference = &REFERENCE["importance"];
    let data = dataset(reference);
    let model = RidgeParams::default().check().unwrap().fit(&data).unwrap();
    let found = permutation_importance(&model, &data, Metric::R2, 400, 0, Threads::new(2)).unwrap();
    for (found, expected) in found.iter().zip(numbers(&reference["mean"])) {
        // Means of 400 and 2,000 draws: four standard errors of the difference.
        let error = found.deviation * (1.0 / 400.0 + 1.0 / 2000.0_f64).sqrt();
        assert!(
            (found.mean - expected).abs() < 4.0 * error,
            "{found:?} {expected}"
        );
    }
}

#[test]
fn a_classifying_forest_is_as_accurate() {
    let reference = &REFERENCE["classes"];
    let features = table(&reference["x"]);
    let labels: Vec<u32> = numbers(&reference["labels"])
        .iter()
        .map(|&l| l as u32)
        .collect();
    let fold_of: Vec<usize> = cases(&reference["fold"]).iter().map(count).collect();
    let forest = RandomForestClassifierParams::default().check().unwrap();
    let mut right = 0;
    for seed in 0..SEEDS {
        for fold in 0..5 {
            let (test, train): (Vec<usize>, Vec<usize>) =
                (0..labels.len()).partition(|&row| fold_of[row] == fold);
            let of = |rows: &[usize]| rows.iter().map(|&row| labels[row]).collect::<Vec<u32>>();
            let single = |rows: &[usize]| -> Vec<f32> {
                let chosen = features.select(rows);
                chosen.as_flat().iter().map(|&value| value as f32).collect()
            };
            let columns = features.columns();
            let (train_values, train_labels) = (single(&train), of(&train));
            let rows = DenseRows::new(&train_values, columns).unwrap();
            let data = Labelled::new(rows, &train_labels, 4).unwrap();
            let model = forest.fit(&data, seed, Threads::new(2)).unwrap();
            let test_values = single(&test);
            let rows = DenseRows::new(&test_values, columns).unwrap();
            let found = model.predict(rows, Threads::ONE).unwrap();
            right += found.iter().zip(of(&test)).filter(|(a, b)| *a == b).count();
        }
    }
    let accuracy = right as f64 / (labels.len() as f64 * SEEDS as f64);
    close(accuracy, number(&reference["accuracy"]), 0.01);
}
