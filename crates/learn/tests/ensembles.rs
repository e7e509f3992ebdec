//! Forests and boosting predict unseen rows as well as scikit-learn's do, on
//! the same folds. The values, the script that computed them and the versions
//! it used are in `oracle/`.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use paceline_learn::{
    BoostLoss, Dataset, Features, GradientBoostingParams, Learner, MaxFeatures, Metric,
    RandomForestParams, SplitCriterion, Threads, TreeShape,
};
use serde_json::Value;
use std::sync::LazyLock;

static REFERENCE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../oracle/ensembles.json")).expect("the reference is JSON")
});

const SEEDS: u64 = 20;

/// The same learners as in the script.
fn learner(name: &str) -> Box<dyn Learner> {
    let shape = TreeShape::default();
    let forest = RandomForestParams::default();
    let boost = GradientBoostingParams::default();
    let forest_of =
        |params: RandomForestParams| -> Box<dyn Learner> { Box::new(params.check().unwrap()) };
    let boost_of =
        |params: GradientBoostingParams| -> Box<dyn Learner> { Box::new(params.check().unwrap()) };
    match name {
        "forest_squared" => forest_of(forest),
        "forest_squared_third" => forest_of(RandomForestParams {
            shape: TreeShape {
                max_features: MaxFeatures::Fraction(0.34),
                min_samples_leaf: 2,
                ..shape
            },
            ..forest
        }),
        "forest_absolute" => forest_of(RandomForestParams {
            trees: 50,
            criterion: SplitCriterion::Absolute,
            shape: TreeShape {
                max_depth: Some(8),
                ..shape
            },
            ..forest
        }),
        "boost_squared" => boost_of(boost),
        "boost_squared_half" => boost_of(GradientBoostingParams {
            trees: 150,
            subsample: 0.5,
            shape: TreeShape {
                max_depth: Some(4),
                min_samples_leaf: 3,
                ..shape
            },
            ..boost
        }),
        "boost_absolute" => boost_of(GradientBoostingParams {
            loss: BoostLoss::Absolute,
            subsample: 0.8,
            ..boost
        }),
        "boost_huber" => boost_of(GradientBoostingParams {
            loss: BoostLoss::Huber { quantile: 0.9 },
            subsample: 0.8,
            ..boost
        }),
        other => panic!("the script has a learner `{other}` that the test does not know"),
    }
}

/// R² over all out-of-fold predictions for the folds of the script.
fn out_of_fold_r2(learner: &dyn Learner, data: &Dataset, fold_of: &[usize], seed: u64) -> f64 {
    let mut predictions = vec![0.0; data.rows()];
    for fold in 0..5 {
        let (test, train): (Vec<usize>, Vec<usize>) =
            (0..data.rows()).partition(|&row| fold_of[row] == fold);
        let model = learner
            .learn(&data.select(&train), seed, Threads::new(2))
            .unwrap();
        let found = model
            .predict(&data.features().select(&test), Threads::ONE)
            .unwrap();
        for (row, predicted) in test.into_iter().zip(found) {
            predictions[row] = predicted;
        }
    }
    Metric::R2.of(data.target(), &predictions).unwrap()
}

fn numbers<T: serde::de::DeserializeOwned>(value: &Value) -> Vec<T> {
    serde_json::from_value(value.clone()).expect("a list of numbers")
}

/// The mean R² over twenty seeds is within 0.01 of scikit-learn's.
fn check_ensembles(table: usize) {
    let reference = &REFERENCE["tables"][table];
    let rows: Vec<Vec<f64>> = numbers(&reference["x"]);
    let data = Dataset::new(
        Features::from_rows(&rows).unwrap(),
        numbers(&reference["y"]),
    )
    .unwrap();
    let fold_of: Vec<usize> = numbers(&reference["fold"]);
    let mut far = Vec::new();
    for (name, expected) in reference["r2"].as_object().expect("one entry per learner") {
        let learner = learner(name);
        let scores = (0..SEEDS).map(|seed| out_of_fold_r2(&*learner, &data, &fold_of, seed));
        let mean = scores.sum::<f64>() / SEEDS as f64;
        let expected = expected["mean"].as_f64().expect("a number");
        if (mean - expected).abs() > 0.01 {
            far.push(format!("{name}: {mean:.5}, scikit-learn {expected:.5}"));
        }
    }
    assert!(far.is_empty(), "{far:#?}");
}

#[test]
fn forests_and_boosting_predict_diabetes_as_well() {
    check_ensembles(0);
}

#[test]
fn forests_and_boosting_predict_friedman1_as_well() {
    check_ensembles(1);
}

#[test]
fn forests_and_boosting_predict_a_cluster_as_well() {
    check_ensembles(2);
}
