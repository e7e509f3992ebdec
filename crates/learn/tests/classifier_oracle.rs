//! Agreement of the classifiers with scikit-learn, that is LIBLINEAR and LIBSVM.
//! The values, the script that computed them and its versions are in `oracle/`.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use paceline_learn::{
    DenseRows, HingeLoss, KernelSvmParams, Labelled, LinearClassifierModel, LinearClassifierParams,
    LinearLoss, LinearMethod, RandomForestClassifierParams, SmoothLoss, SparseRows, Splits,
    SvmKernel, Threads,
};
use serde_json::Value;
use std::sync::LazyLock;

static REFERENCE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../oracle/classifiers.json")).expect("the reference is JSON")
});

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(number).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn flat(value: &Value) -> Vec<f32> {
    let rows = value.as_array().expect("rows").iter().map(numbers);
    rows.flatten().map(|value| value as f32).collect()
}

fn labels(value: &Value) -> Vec<u32> {
    numbers(value).iter().map(|&label| label as u32).collect()
}

fn cases(value: &Value) -> &[Value] {
    value.as_array().expect("cases")
}

#[track_caller]
fn all_close(found: impl IntoIterator<Item = f32>, expected: &[f64], tolerance: f64) {
    let found: Vec<f32> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len());
    for (&found, &expected) in found.iter().zip(expected) {
        let scale = expected.abs().max(1.0);
        assert!(
            (f64::from(found) - expected).abs() <= tolerance * scale,
            "{found} instead of {expected}"
        );
    }
}

/// Compressed rows of a dense table.
struct Compressed {
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f32>,
}

impl Compressed {
    fn of(flat: &[f32], columns: usize) -> Self {
        let mut sparse = Self {
            starts: vec![0],
            places: Vec::new(),
            values: Vec::new(),
        };
        for row in flat.chunks_exact(columns) {
            for (&value, place) in row.iter().zip(0..).filter(|(value, _)| **value != 0.0) {
                sparse.places.push(place);
                sparse.values.push(value);
            }
            sparse.starts.push(sparse.values.len());
        }
        sparse
    }

    fn rows(&self, columns: usize) -> SparseRows<'_> {
        SparseRows::new(&self.starts, &self.places, &self.values, columns).unwrap()
    }
}

/// Fits dense and sparse rows of a case with a method.
fn linear_models(case: &Value, method: LinearMethod) -> [LinearClassifierModel; 2] {
    let values = flat(&REFERENCE["linear"]["x"]);
    let classes = number(&case["classes"]) as u32;
    let labels: Vec<u32> = labels(&REFERENCE["linear"]["labels"])
        .into_iter()
        .map(|label| label.min(classes - 1))
        .collect();
    let sparse = Compressed::of(&values, 7);
    let classifier = LinearClassifierParams {
        method,
        cost: number(&case["cost"]),
        bias: number(&case["bias"]),
        tolerance: 1e-9,
        max_passes: 1_000_000,
    }
    .check()
    .unwrap();
    let classes = classes as usize;
    let dense = Labelled::new(DenseRows::new(&values, 7).unwrap(), &labels, classes).unwrap();
    let sparse = Labelled::new(sparse.rows(7), &labels, classes).unwrap();
    [dense, sparse].map(|data| classifier.fit(&data, 1, Threads::new(2)).unwrap())
}

#[test]
fn linear_machines_have_the_coefficients_of_liblinear() {
    for case in cases(&REFERENCE["linear"]["cases"]) {
        let methods: &[LinearMethod] = match case["loss"].as_str().unwrap() {
            "hinge" => &[LinearMethod::Dual(HingeLoss::Plain)],
            "squared_hinge" => &[
                LinearMethod::Dual(HingeLoss::Squared),
                LinearMethod::Newton(SmoothLoss::SquaredHinge),
            ],
            _ => &[LinearMethod::Newton(SmoothLoss::Logistic)],
        };
        for &method in methods {
            for model in linear_models(case, method) {
                assert!(model.converged());
                for (machine, expected) in cases(&case["coef"]).iter().enumerate() {
                    let found = model.weights(machine).iter().copied();
                    all_close(found, &numbers(expected), 1e-5);
                }
                let expected = numbers(&case["intercept"]);
                all_close(model.intercepts().iter().copied(), &expected, 1e-5);
            }
        }
    }
}

#[test]
fn stochastic_gradients_come_near_the_optimum() {
    let values = flat(&REFERENCE["linear"]["x"]);
    let labels = labels(&REFERENCE["linear"]["labels"]);
    let data = Labelled::new(DenseRows::new(&values, 7).unwrap(), &labels, 3).unwrap();
    let objective = |method| {
        let params = LinearClassifierParams {
            method,
            max_passes: 100_000,
            ..Default::default()
        };
        let classifier = params.check().unwrap();
        let model = classifier.fit(&data, 3, Threads::ONE).unwrap();
        let of_machines = classifier.objectives(&model, &data, Threads::ONE).unwrap();
        of_machines.iter().sum::<f64>()
    };
    for (optimal, loss) in [
        (LinearMethod::Dual(HingeLoss::Plain), LinearLoss::Hinge),
        (
            LinearMethod::Dual(HingeLoss::Squared),
            LinearLoss::SquaredHinge,
        ),
        (
            LinearMethod::Newton(SmoothLoss::Logistic),
            LinearLoss::Logistic,
        ),
    ] {
        let least = objective(optimal);
        let found = objective(LinearMethod::Stochastic { loss, epochs: 500 });
        let excess = found / least - 1.0;
        // Single-precision weights may differ from the optimum by 1e-6.
        assert!((-1e-6..0.01).contains(&excess), "{loss:?}: {excess}");
    }
}

#[test]
fn kernel_machines_decide_as_libsvm_does() {
    let reference = &REFERENCE["kernel"];
    let (values, at) = (flat(&reference["x"]), flat(&reference["at"]));
    let labels = labels(&reference["labels"]);
    let (sparse, sparse_at) = (Compressed::of(&values, 4), Compressed::of(&at, 4));
    for case in cases(&reference["cases"]) {
        let option = |name: &str| number(&case["options"][name]);
        let kernel = match case["kernel"].as_str().unwrap() {
            "rbf" => SvmKernel::Rbf {
                gamma: option("gamma"),
            },
            "linear" => SvmKernel::Linear,
            _ => SvmKernel::Polynomial {
                gamma: option("gamma"),
                constant: option("coef0"),
                degree: option("degree") as u32,
            },
        };
        let machine = KernelSvmParams {
            kernel,
            cost: number(&case["cost"]),
            tolerance: 1e-6,
            ..Default::default()
        }
        .check()
        .unwrap();
        let dense = Labelled::new(DenseRows::new(&values, 4).unwrap(), &labels, 3).unwrap();
        let sparse = Labelled::new(sparse.rows(4), &labels, 3).unwrap();
        let expected: Vec<f64> = cases(&case["decisions"]).iter().flat_map(numbers).collect();
        for data in [dense, sparse] {
            let model = machine.fit(&data, Threads::new(2)).unwrap();
            assert!(model.converged());
            let support: Vec<f64> = model.support_counts().iter().map(|&c| c as f64).collect();
            assert_eq!(support, numbers(&case["support"]), "{}", case["kernel"]);
            // Kernel values are in single precision on both sides, and rounded
            // differently: with a cost of 100 that shows in the fourth digit.
            let dense_at = DenseRows::new(&at, 4).unwrap();
            let found = model.decisions(dense_at, Threads::ONE).unwrap();
            all_close(found, &expected, 1e-3);
            let found = model.decisions(sparse_at.rows(4), Threads::ONE).unwrap();
            all_close(found, &expected, 1e-3);
            let predicted = model.predict(dense_at, Threads::new(2)).unwrap();
            let expected: Vec<u32> = self::labels(&case["predicted"]);
            assert_eq!(predicted, expected);
        }
    }
}

/// Handwritten digits of scikit-learn: even rows train, odd rows test.
struct Digits {
    train: Vec<f32>,
    test: Vec<f32>,
    train_labels: Vec<u32>,
    test_labels: Vec<u32>,
}

impl Digits {
    const COLUMNS: usize = 64;

    fn read() -> Self {
        let reference = &REFERENCE["digits"];
        let values: Vec<f32> = numbers(&reference["x"]).iter().map(|&v| v as f32).collect();
        let labels = labels(&reference["labels"]);
        let every_second = |first: usize| -> Vec<f32> {
            let rows = values.chunks_exact(Self::COLUMNS).skip(first).step_by(2);
            rows.flatten().copied().collect()
        };
        let of = |first: usize| labels.iter().skip(first).step_by(2).copied().collect();
        Self {
            train: every_second(0),
            test: every_second(1),
            train_labels: of(0),
            test_labels: of(1),
        }
    }

    fn data(&self) -> Labelled<'_> {
        let rows = DenseRows::new(&self.train, Self::COLUMNS).unwrap();
        Labelled::new(rows, &self.train_labels, 10).unwrap()
    }

    fn test(&self) -> DenseRows<'_> {
        DenseRows::new(&self.test, Self::COLUMNS).unwrap()
    }

    fn accuracy(&self, predicted: &[u32]) -> f64 {
        let pairs = predicted.iter().zip(&self.test_labels);
        let right = pairs.filter(|(found, label)| found == label).count();
        right as f64 / predicted.len() as f64
    }
}

#[test]
fn a_kernel_machine_recognises_digits_as_libsvm_does() {
    let digits = Digits::read();
    let machine = KernelSvmParams {
        kernel: SvmKernel::Rbf { gamma: 0.001 },
        cost: 5.0,
        ..Default::default()
    };
    let model = machine
        .check()
        .unwrap()
        .fit(&digits.data(), Threads::new(2));
    let predicted = model
        .unwrap()
        .predict(digits.test(), Threads::new(2))
        .unwrap();
    let expected = number(&REFERENCE["digits"]["svc"]);
    // One image of 500 either way.
    assert!((digits.accuracy(&predicted) - expected).abs() < 0.0021);
}

#[test]
fn a_forest_recognises_digits_as_scikit_learn_does_with_and_without_histograms() {
    let digits = Digits::read();
    let reference = &REFERENCE["digits"];
    for splits in [
        Splits::Exact,
        Splits::Histogram { bins: 256 },
        Splits::Histogram { bins: 8 },
    ] {
        let params = RandomForestClassifierParams {
            splits,
            ..Default::default()
        };
        let forest = params.check().unwrap();
        let accuracy = |seed| {
            let model = forest.fit(&digits.data(), seed, Threads::new(2)).unwrap();
            digits.accuracy(&model.predict(digits.test(), Threads::new(2)).unwrap())
        };
        let mean = (0..10).map(accuracy).sum::<f64>() / 10.0;
        let expected = number(&reference["forest"]);
        // Three standard errors of the difference of two means over ten seeds.
        let error = 3.0 * number(&reference["forest_sd"]) * (2.0_f64 / 10.0).sqrt();
        assert!((mean - expected).abs() < error, "{mean} and {expected}");
    }
}
