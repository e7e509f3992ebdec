//! Times the learners on the tables of `oracle/ensembles.json`, as JSON lines
//! `{"task": …, "seconds": …}`: the least of several repetitions.
//!
//! `cargo xtask bench learn` runs this and the same tasks with scikit-learn.

#![expect(clippy::print_stdout, reason = "the times are the output")]

use paceline_learn::{
    Dataset, Features, GradientBoostingParams, Learner, MaxFeatures, Metric, Model, RandomForest,
    RandomForestParams, SplitCriterion, Threads, TreeShape, grid_search, k_fold,
};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

const REFERENCE: &str = include_str!("../oracle/ensembles.json");
const FIT_REPETITIONS: usize = 5;
const PREDICT_REPETITIONS: usize = 2000;
const BATCH_REPETITIONS: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let reference: Value = serde_json::from_str(REFERENCE)?;
    let table = |index: usize| -> Result<Dataset, Box<dyn std::error::Error>> {
        let table = &reference["tables"][index];
        let rows: Vec<Vec<f64>> = serde_json::from_value(table["x"].clone())?;
        let target = serde_json::from_value(table["y"].clone())?;
        Ok(Dataset::new(Features::from_rows(&rows)?, target)?)
    };
    let (diabetes, friedman, cluster) = (table(0)?, table(1)?, table(2)?);
    let threads = Threads::new(2);

    for (criterion, name) in [
        (SplitCriterion::Squared, "squared"),
        (SplitCriterion::Absolute, "absolute"),
    ] {
        let forest = forest(500, criterion)?;
        for (table, data) in [("diabetes", &diabetes), ("cluster", &cluster)] {
            let task = format!("fit forest {name}, 500 trees, {table}");
            report(&task, FIT_REPETITIONS, || forest.fit(data, 1, threads));
        }
    }
    let boosting = GradientBoostingParams {
        trees: 500,
        ..Default::default()
    }
    .check()?;
    for (table, data) in [("diabetes", &diabetes), ("cluster", &cluster)] {
        let task = format!("fit boosting squared, 500 trees, {table}");
        report(&task, FIT_REPETITIONS, || boosting.fit(data, 1));
    }
    report("grid search, 12 forests x 5 folds, cluster", 2, || {
        search(&cluster, threads)
    });

    let row = cluster.features().row(100);
    let model = forest(500, SplitCriterion::Squared)?.fit(&cluster, 1, threads)?;
    report("predict 1 row, forest of 500", PREDICT_REPETITIONS, || {
        model.predict_row(row)
    });
    let model = boosting.fit(&cluster, 1)?;
    report(
        "predict 1 row, boosting of 500",
        PREDICT_REPETITIONS,
        || model.predict_row(row),
    );
    for (table, data) in [("cluster", &cluster), ("friedman1", &friedman)] {
        let model = forest(2000, SplitCriterion::Squared)?.fit(data, 1, threads)?;
        let candidates = candidates(data.features())?;
        let task = format!("predict 10,000 rows, forest of 2,000, {table}");
        report(&task, BATCH_REPETITIONS, || {
            model.predict(&candidates, threads)
        });
    }
    Ok(())
}

fn forest(
    trees: usize,
    criterion: SplitCriterion,
) -> Result<RandomForest, Box<dyn std::error::Error>> {
    let params = RandomForestParams {
        trees,
        criterion,
        ..Default::default()
    };
    Ok(params.check()?)
}

/// Twelve forests of 100 trees: three depths, two leaf sizes, two numbers of
/// features.
fn search(data: &Dataset, threads: Threads) -> Result<usize, Box<dyn std::error::Error>> {
    let mut grid = Vec::new();
    for max_depth in [Some(4), Some(8), None] {
        for min_samples_leaf in [1, 2] {
            for max_features in [MaxFeatures::All, MaxFeatures::Fraction(0.5)] {
                let shape = TreeShape {
                    max_depth,
                    min_samples_leaf,
                    max_features,
                    ..TreeShape::default()
                };
                let params = RandomForestParams {
                    shape,
                    ..Default::default()
                };
                grid.push(params.check()?);
            }
        }
    }
    let candidates: Vec<&dyn Learner> = grid.iter().map(|forest| forest as &dyn Learner).collect();
    let folds = k_fold(data.rows(), 5, 1)?;
    let metric = Metric::MeanSquaredError;
    Ok(grid_search(&candidates, data, &folds, metric, 1, threads)?.best())
}

/// 10,000 rows spread over the range of each feature: row i of feature j is at
/// the fraction `(i · (2j + 3) mod 9973) / 9973` of the range.
fn candidates(features: &Features) -> Result<Features, Box<dyn std::error::Error>> {
    let ranges: Vec<(f64, f64)> = (0..features.columns())
        .map(|column| {
            let low = features.column(column).fold(f64::INFINITY, f64::min);
            let high = features.column(column).fold(f64::NEG_INFINITY, f64::max);
            (low, high - low)
        })
        .collect();
    let rows: Vec<Vec<f64>> = (0..10_000_usize)
        .map(|i| {
            let fraction = |j: usize| (i * (2 * j + 3) % 9973) as f64 / 9973.0;
            let columns = ranges.iter().enumerate();
            columns
                .map(|(j, (low, range))| low + range * fraction(j))
                .collect()
        })
        .collect();
    Ok(Features::from_rows(&rows)?)
}

fn report<T>(task: &str, repetitions: usize, mut work: impl FnMut() -> T) {
    let mut least = Duration::MAX;
    for _ in 0..repetitions {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
        let start = Instant::now();
        black_box(work());
        least = least.min(start.elapsed());
    }
    println!("{}", json!({"task": task, "seconds": least.as_secs_f64()}));
}
