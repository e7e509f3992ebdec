//! Times the classifiers on images in IDX files:
//!
//! ```text
//! classify_mnist TASK TRAIN_IMAGES TRAIN_LABELS TEST_IMAGES TEST_LABELS [ROWS] [THREADS]
//! ```
//!
//! with a task among `forest`, `exact-forest`, `svm`, `linear` (dual), `newton` and
//! `logistic`; prints a JSON line with the seconds to fit and to predict and the accuracy.

#![expect(clippy::print_stdout, reason = "the times are the output")]

use paceline_learn::{
    DenseRows, HingeLoss, KernelSvmParams, Labelled, LinearClassifierParams, LinearMethod,
    RandomForestClassifierParams, SmoothLoss, Splits, SvmKernel, Threads,
};
use serde_json::json;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, train, train_labels, test, test_labels, rest @ ..] = arguments.as_slice() else {
        return Err(
            "usage: TASK TRAIN_IMAGES TRAIN_LABELS TEST_IMAGES TEST_LABELS [ROWS] [THREADS]".into(),
        );
    };
    let number = |index: usize, default| rest.get(index).map_or(Ok(default), |text| text.parse());
    let rows = number(0, usize::MAX)?;
    let threads = Threads::new(number(1, 2)?);
    let images = |path: &str, most: usize| -> Result<Vec<f32>, Failure> {
        let pixels = idx(path, 16)?.into_iter().take(most.saturating_mul(PIXELS));
        Ok(pixels.map(|pixel| f32::from(pixel) / 255.0).collect())
    };
    let labels = |path: &str, most: usize| -> Result<Vec<u32>, Failure> {
        Ok(idx(path, 8)?
            .into_iter()
            .take(most)
            .map(u32::from)
            .collect())
    };
    let (train, train_labels) = (images(train, rows)?, labels(train_labels, rows)?);
    let (test, test_labels) = (images(test, usize::MAX)?, labels(test_labels, usize::MAX)?);
    let data = Labelled::new(DenseRows::new(&train, PIXELS)?, &train_labels, 10)?;
    let test = DenseRows::new(&test, PIXELS)?;
    let start = now();
    let (fitted, predicted, note) = match task.as_str() {
        "svm" => {
            let params = KernelSvmParams {
                kernel: SvmKernel::Rbf { gamma: 0.02 },
                cost: 5.0,
                ..Default::default()
            };
            let model = params.check()?.fit(&data, threads)?;
            let support: usize = model.support_counts().iter().sum();
            (
                now(),
                model.predict(test, threads)?,
                json!({"support": support}),
            )
        }
        "forest" | "exact-forest" => {
            let params = RandomForestClassifierParams {
                splits: if task == "forest" {
                    Splits::Histogram { bins: 256 }
                } else {
                    Splits::Exact
                },
                ..Default::default()
            };
            let model = params.check()?.fit(&data, 1, threads)?;
            let note = json!({"nodes": model.nodes()});
            (now(), model.predict(test, threads)?, note)
        }
        "linear" | "newton" | "logistic" => {
            let method = match task.as_str() {
                "linear" => LinearMethod::Dual(HingeLoss::Squared),
                "newton" => LinearMethod::Newton(SmoothLoss::SquaredHinge),
                _ => LinearMethod::Newton(SmoothLoss::Logistic),
            };
            let params = LinearClassifierParams {
                method,
                cost: 0.01,
                ..Default::default()
            };
            let classifier = params.check()?;
            let model = classifier.fit(&data, 1, threads)?;
            let end = now();
            let objectives = classifier.objectives(&model, &data, threads)?;
            let note = json!({
                "converged": model.converged(),
                "objective": objectives.iter().sum::<f64>(),
            });
            (end, model.predict(test, threads)?, note)
        }
        _ => return Err(format!("unknown task {task}").into()),
    };
    let end = now();
    let right = predicted
        .iter()
        .zip(&test_labels)
        .filter(|(a, b)| a == b)
        .count();
    println!(
        "{}",
        json!({
            "task": task,
            "fit_s": (fitted - start).as_secs_f64(),
            "predict_s": (end - fitted).as_secs_f64(),
            "accuracy": right as f64 / test_labels.len() as f64,
            "note": note,
        })
    );
    Ok(())
}

const PIXELS: usize = 784;

fn idx(path: &str, header: usize) -> Result<Vec<u8>, Failure> {
    let bytes = std::fs::read(path)?;
    Ok(bytes
        .get(header..)
        .ok_or("the file is shorter than its header")?
        .to_vec())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}
