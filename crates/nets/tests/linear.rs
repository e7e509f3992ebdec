//! Linear classifiers against float64, scikit-learn and each other.

use paceline_kernels::{AlignedBuffer, Kernels};
use paceline_nets::{
    Batch, Csr, DenseLinear, Gradient, Inputs, MarginLoss, Model, RowStep, SparseLinear,
    SparseSoftmax, Tally,
};
use paceline_testkit::gradient_check;

const LOSSES: [MarginLoss; 3] = [
    MarginLoss::Logistic,
    MarginLoss::Hinge,
    MarginLoss::SquaredHinge,
];

/// The same rows, dense and sparse.
struct Rows {
    width: usize,
    dense: Vec<f32>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<u32>,
}

impl Rows {
    fn new(width: usize, dense: Vec<f32>, labels: Vec<u32>) -> Self {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in dense.chunks(width) {
            for (column, value) in row.iter().enumerate() {
                if *value != 0.0 {
                    columns.push(column as u32);
                    values.push(*value);
                }
            }
            starts.push(columns.len());
        }
        Self {
            width,
            dense,
            starts,
            columns,
            values,
            labels,
        }
    }

    /// Rows with many zeros; the fourth is empty.
    fn invented(rows: usize, width: usize, classes: u32) -> Self {
        let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
        let mut dense: Vec<f32> = (0..rows * width)
            .map(|_| {
                let value = numbers.next();
                if value > 0.2 { value } else { 0.0 }
            })
            .collect();
        dense[3 * width..4 * width].fill(0.0);
        let labels = (0..rows)
            .map(|_| ((numbers.next() + 1.0) * 1000.0) as u32 % classes)
            .collect();
        Self::new(width, dense, labels)
    }

    fn dense(&self) -> Batch<'_> {
        Batch {
            inputs: Inputs::Dense {
                values: &self.dense,
                width: self.width,
            },
            labels: &self.labels,
        }
    }

    fn sparse(&self) -> Batch<'_> {
        Batch {
            inputs: Inputs::Sparse(Csr {
                starts: &self.starts,
                columns: &self.columns,
                values: &self.values,
            }),
            labels: &self.labels,
        }
    }
}

struct Numbers(u64);

impl Numbers {
    /// Even between -1 and 1.
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }
}

/// Weights and bias, wherever the model keeps them.
fn weights_and_bias(model: &dyn Model, parameters: &[f32]) -> Vec<f64> {
    let segment = |name: &str| model.layout().segment(name).expect("a linear model has it");
    let (weight, bias) = (segment("weight"), segment("bias"));
    parameters[weight.offset..][..weight.rows * weight.columns]
        .iter()
        .chain(&parameters[bias.offset..][..bias.columns])
        .map(|value| f64::from(*value))
        .collect()
}

fn some_parameters(model: &dyn Model) -> AlignedBuffer {
    let mut parameters = AlignedBuffer::zeroed(model.layout().len());
    let mut numbers = Numbers(77);
    for segment in model.layout().segments() {
        for value in &mut parameters[segment.offset..][..segment.rows * segment.columns] {
            *value = numbers.next();
        }
    }
    parameters
}

fn gradient(model: &dyn Model, parameters: &[f32], batch: &Batch<'_>) -> (Tally, Gradient) {
    let mut gradient = Gradient::new(model.layout());
    let mut scratch = AlignedBuffer::zeroed(model.scratch_len(batch.rows()));
    gradient.begin();
    let scale = 1.0 / batch.rows() as f32;
    let tally = model.gradient(parameters, batch, scale, &mut gradient, &mut scratch);
    (tally, gradient)
}

/// Sum of losses, and the gradient of their mean by weights and bias.
fn reference(rows: &Rows, loss: MarginLoss, parameters: &[f64]) -> (f64, Vec<f64>) {
    let mut total = 0.0;
    let mut slopes = vec![0.0; rows.width + 1];
    for (row, label) in rows.dense.chunks(rows.width).zip(&rows.labels) {
        let sign = f64::from(*label) * 2.0 - 1.0;
        let score: f64 = row
            .iter()
            .chain(&[1.0])
            .zip(parameters)
            .map(|(value, weight)| f64::from(*value) * weight)
            .sum();
        let margin = sign * score;
        let (value, slope) = match loss {
            MarginLoss::Logistic => ((1.0 + (-margin).exp()).ln(), -1.0 / (1.0 + margin.exp())),
            MarginLoss::Hinge => (
                (1.0 - margin).max(0.0),
                if margin < 1.0 { -1.0 } else { 0.0 },
            ),
            MarginLoss::SquaredHinge => {
                let lack = (1.0 - margin).max(0.0);
                (lack * lack, -2.0 * lack)
            }
        };
        total += value;
        for (sum, value) in slopes.iter_mut().zip(row.iter().chain(&[1.0])) {
            *sum += sign * slope * f64::from(*value) / rows.labels.len() as f64;
        }
    }
    (total, slopes)
}

fn assert_close(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!(
            (got - expected).abs() <= tolerance,
            "{what}, value {index}: {got} is not {expected}"
        );
    }
}

#[test]
fn loss_and_gradient_agree_with_float64_on_every_path() {
    let rows = Rows::invented(23, 37, 2);
    for loss in LOSSES {
        for kernels in Kernels::available() {
            let dense = DenseLinear::new(37, loss, kernels);
            let sparse = SparseLinear::new(37, loss);
            let models: [(&dyn Model, Batch<'_>); 2] =
                [(&dense, rows.dense()), (&sparse, rows.sparse())];
            for (model, batch) in models {
                let parameters = some_parameters(model);
                let (total, slopes) = reference(&rows, loss, &weights_and_bias(model, &parameters));
                let (tally, gradient) = gradient(model, &parameters, &batch);
                let what = format!("{loss:?} {:?}", kernels.isa());
                assert_close(
                    &weights_and_bias(model, gradient.values()),
                    &slopes,
                    1e-6,
                    &what,
                );
                assert!((tally.loss - total).abs() < 1e-4, "{what}");
                assert_eq!(model.evaluate(&parameters, &batch, &mut []), tally);
            }
        }
    }
}

#[test]
fn every_linear_model_passes_the_gradient_checker() {
    let rows = Rows::invented(30, 21, 2);
    for loss in LOSSES {
        let dense = DenseLinear::new(21, loss, Kernels::detect());
        let report = gradient_check(&dense, &rows.dense(), 3);
        assert!(report.passed(), "dense {loss:?}: {report}");
        let sparse = SparseLinear::new(21, loss);
        let report = gradient_check(&sparse, &rows.sparse(), 3);
        assert!(report.passed(), "sparse {loss:?}: {report}");
    }
    let rows = Rows::invented(30, 21, 4);
    let report = gradient_check(&SparseSoftmax::new(21, 4), &rows.sparse(), 3);
    assert!(report.passed(), "sparse softmax: {report}");
}

#[test]
fn a_sparse_gradient_touches_exactly_the_columns_of_its_rows() {
    let rows = Rows::new(6, vec![0.0, 1.0, 0.0, 0.0, 2.0, 0.0], vec![1]);
    let model = SparseLinear::new(6, MarginLoss::Logistic);
    let (_, gradient) = gradient(&model, &some_parameters(&model), &rows.sparse());
    assert_eq!(gradient.touched(), [1, 4]);
}

#[test]
fn the_answer_is_the_class_of_the_larger_score() {
    let rows = Rows::invented(40, 9, 2);
    let dense = DenseLinear::new(9, MarginLoss::Logistic, Kernels::detect());
    let sparse = SparseLinear::new(9, MarginLoss::Logistic);
    let models: [(&dyn Model, Batch<'_>); 2] = [(&dense, rows.dense()), (&sparse, rows.sparse())];
    for (model, batch) in models {
        let parameters = some_parameters(model);
        let mut scores = vec![0.0; 80];
        model.scores(&parameters, &batch, &mut scores, &mut []);
        let hits = scores
            .chunks(2)
            .zip(&rows.labels)
            .filter(|(pair, label)| u32::from(pair[1] > pair[0]) == **label)
            .count();
        let tally = model.evaluate(&parameters, &batch, &mut []);
        assert_eq!(tally.hits, hits as u64);
        assert!(hits > 0 && hits < 40);
    }
}

/// Steps through all rows twice, in an order that is not theirs, with a rate
/// that falls.
fn steps(rows: usize) -> Vec<RowStep> {
    (0..2 * rows)
        .map(|step| RowStep {
            row: ((step * 7 + 3) % rows) as u32,
            rate: 0.3 / (1.0 + step as f32 * 0.1),
        })
        .collect()
}

/// The same steps, each by a gradient in float64.
fn stepped(
    rows: &Rows,
    loss: MarginLoss,
    start: &[f64],
    steps: &[RowStep],
    batch: usize,
    decay: f64,
) -> (f64, Vec<f64>) {
    let mut parameters = start.to_vec();
    let mut total = 0.0;
    for group in steps.chunks(batch) {
        let taken = group.iter().map(|step| step.row as usize);
        let taken = Rows::new(
            rows.width,
            taken
                .clone()
                .flat_map(|row| &rows.dense[row * rows.width..][..rows.width])
                .copied()
                .collect(),
            taken.map(|row| rows.labels[row]).collect(),
        );
        let (value, slopes) = reference(&taken, loss, &parameters);
        total += value;
        for (weight, slope) in parameters.iter_mut().zip(slopes) {
            *weight -= f64::from(group[0].rate) * (slope + decay * *weight);
        }
    }
    (total, parameters)
}

#[test]
fn a_descent_takes_the_same_steps_as_gradients_do() {
    let rows = Rows::invented(25, 70, 2);
    let steps = steps(25);
    for loss in [MarginLoss::Logistic, MarginLoss::SquaredHinge] {
        for decay in [0.0, 0.05, 3.0] {
            for kernels in Kernels::available() {
                let dense = DenseLinear::new(70, loss, kernels);
                let sparse = SparseLinear::new(70, loss);
                let models: [(&dyn Model, Batch<'_>); 2] =
                    [(&dense, rows.dense()), (&sparse, rows.sparse())];
                for ((model, data), batch) in
                    models.into_iter().flat_map(|pair| [(pair, 1), (pair, 4)])
                {
                    let mut parameters = some_parameters(model);
                    for value in parameters.iter_mut() {
                        *value *= 0.1;
                    }
                    let start = weights_and_bias(model, &parameters);
                    let mut scratch = vec![f32::NAN; model.scratch_len(batch)];
                    let Some(tally) =
                        model.descend(&mut parameters, &data, &steps, batch, decay, &mut scratch)
                    else {
                        assert!(batch > 1, "linear models descend row by row");
                        assert_eq!(weights_and_bias(model, &parameters), start);
                        continue;
                    };
                    let what = format!("{loss:?} decay {decay} batch {batch} {:?}", kernels.isa());
                    let (total, end) =
                        stepped(&rows, loss, &start, &steps, batch, f64::from(decay));
                    assert_close(&weights_and_bias(model, &parameters), &end, 2e-5, &what);
                    assert!((tally.loss - total).abs() < 1e-3 * total, "{what}");
                    assert_eq!(tally.rows, 50);
                }
            }
        }
    }
}

#[test]
fn a_descent_without_steps_changes_nothing() {
    let rows = Rows::invented(5, 8, 2);
    let dense = DenseLinear::new(8, MarginLoss::Logistic, Kernels::detect());
    let mut parameters = some_parameters(&dense);
    let before = parameters.to_vec();
    let tally = dense.descend(&mut parameters, &rows.dense(), &[], 1, 0.1, &mut []);
    assert_eq!(tally, Some(Tally::default()));
    assert_eq!(parameters.to_vec(), before);
}

#[test]
fn empty_rows_and_extreme_scores_yield_numbers() {
    let dense = vec![
        0.0, 0.0, 0.0, //
        1e30, -1e30, 1e30, //
        -1e30, 1e30, 1e30, //
        1e-38, 0.0, 0.0,
    ];
    let rows = Rows::new(3, dense, vec![1, 0, 1, 0]);
    let dense = DenseLinear::new(3, MarginLoss::Logistic, Kernels::detect());
    let sparse = SparseLinear::new(3, MarginLoss::Logistic);
    let softmax = SparseSoftmax::new(3, 3);
    let models: [(&dyn Model, Batch<'_>); 3] = [
        (&dense, rows.dense()),
        (&sparse, rows.sparse()),
        (&softmax, rows.sparse()),
    ];
    for (model, batch) in models {
        let parameters = some_parameters(model);
        let (tally, gradient) = gradient(model, &parameters, &batch);
        assert!(tally.loss.is_finite());
        assert!(gradient.values().iter().all(|value| value.is_finite()));
    }
    let nothing = Rows::new(3, Vec::new(), Vec::new());
    let (tally, _) = gradient(&dense, &some_parameters(&dense), &nothing.dense());
    assert_eq!(tally, Tally::default());
}

#[test]
fn sparse_softmax_agrees_with_float64() {
    const CLASSES: usize = 4;
    let rows = Rows::invented(15, 12, CLASSES as u32);
    let model = SparseSoftmax::new(12, CLASSES);
    let parameters = some_parameters(&model);
    let flat = weights_and_bias(&model, &parameters);
    let mut slopes = vec![0.0; flat.len()];
    let mut total = 0.0;
    for (row, label) in rows.dense.chunks(12).zip(&rows.labels) {
        let inputs: Vec<f64> = row.iter().chain(&[1.0]).map(|v| f64::from(*v)).collect();
        let powers: Vec<f64> = (0..CLASSES)
            .map(|class| {
                let score: f64 = inputs
                    .iter()
                    .enumerate()
                    .map(|(column, value)| value * flat[column * CLASSES + class])
                    .sum();
                score.exp()
            })
            .collect();
        let sum: f64 = powers.iter().sum();
        total -= (powers[*label as usize] / sum).ln();
        for (column, value) in inputs.iter().enumerate() {
            for class in 0..CLASSES {
                let target = f64::from(u8::from(class == *label as usize));
                slopes[column * CLASSES + class] += value * (powers[class] / sum - target) / 15.0;
            }
        }
    }
    let (tally, gradient) = gradient(&model, &parameters, &rows.sparse());
    assert!((tally.loss - total).abs() < 1e-4);
    assert_close(
        &weights_and_bias(&model, gradient.values()),
        &slopes,
        1e-6,
        "softmax",
    );
}

mod against_scikit_learn {
    use super::*;

    struct Oracle {
        rows: Rows,
        decay: f64,
        optima: [(MarginLoss, Vec<f64>); 2],
    }

    fn oracle() -> Oracle {
        let json: serde_json::Value = serde_json::from_str(include_str!("../oracle/linear.json"))
            .expect("the oracle is JSON");
        let numbers = |key: &str| -> Vec<f64> {
            json[key]
                .as_array()
                .expect("the oracle has the list")
                .iter()
                .map(|value| value.as_f64().expect("a number"))
                .collect()
        };
        Oracle {
            rows: Rows::new(
                json["width"].as_u64().expect("a width") as usize,
                numbers("rows").iter().map(|value| *value as f32).collect(),
                numbers("labels")
                    .iter()
                    .map(|value| *value as u32)
                    .collect(),
            ),
            decay: json["decay"].as_f64().expect("a number"),
            optima: [
                (MarginLoss::Logistic, numbers("logistic")),
                (MarginLoss::SquaredHinge, numbers("squared_hinge")),
            ],
        }
    }

    /// Plain gradient descent on the whole data until the gradient vanishes.
    fn minimise(model: &dyn Model, batch: &Batch<'_>, decay: f32) -> AlignedBuffer {
        let mut parameters = AlignedBuffer::zeroed(model.layout().len());
        model.initialize(1, &mut parameters);
        for _ in 0..20_000 {
            let (_, gradient) = gradient(model, &parameters, batch);
            for (weight, slope) in parameters.iter_mut().zip(gradient.values()) {
                *weight -= 0.2 * (slope + decay * *weight);
            }
        }
        parameters
    }

    #[test]
    fn gradient_descent_ends_at_the_coefficients_of_scikit_learn() {
        let oracle = oracle();
        for (loss, optimum) in &oracle.optima {
            let dense = DenseLinear::new(oracle.rows.width, *loss, Kernels::detect());
            let sparse = SparseLinear::new(oracle.rows.width, *loss);
            let models: [(&dyn Model, Batch<'_>); 2] = [
                (&dense, oracle.rows.dense()),
                (&sparse, oracle.rows.sparse()),
            ];
            for (model, batch) in models {
                let found = minimise(model, &batch, oracle.decay as f32);
                assert_close(
                    &weights_and_bias(model, &found),
                    optimum,
                    1e-4,
                    &format!("{loss:?}"),
                );
            }
        }
    }

    /// Independent of the models: the oracle's objective is the trainer's.
    #[test]
    fn the_float64_gradient_vanishes_at_the_optimum() {
        let oracle = oracle();
        for (loss, optimum) in &oracle.optima {
            let (_, slopes) = reference(&oracle.rows, *loss, optimum);
            for (slope, weight) in slopes.iter().zip(optimum) {
                assert!((slope + oracle.decay * weight).abs() < 1e-6, "{loss:?}");
            }
        }
    }

    #[test]
    fn single_row_steps_with_a_falling_rate_come_to_the_same_place() {
        let oracle = oracle();
        let (loss, optimum) = &oracle.optima[0];
        let model = SparseLinear::new(oracle.rows.width, *loss);
        let mut parameters = AlignedBuffer::zeroed(model.layout().len());
        let rows = oracle.rows.labels.len();
        let mut number = 0.0;
        for epoch in 0..3000_usize {
            let steps: Vec<RowStep> = (0..rows)
                .map(|index| {
                    number += 1.0;
                    RowStep {
                        row: ((index * 7 + epoch * 31) % rows) as u32,
                        rate: 1.0 / (5.0 + oracle.decay as f32 * number),
                    }
                })
                .collect();
            model.descend(
                &mut parameters,
                &oracle.rows.sparse(),
                &steps,
                1,
                oracle.decay as f32,
                &mut [0.0],
            );
        }
        // The rate of the last steps leaves noise of about its size.
        assert_close(
            &weights_and_bias(&model, &parameters),
            optimum,
            5e-3,
            "logistic",
        );
    }
}
