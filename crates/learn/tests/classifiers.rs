//! What holds for the classifiers whatever the data, the threads and the memory.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use paceline_learn::{
    DenseRows, FitError, HingeLoss, KernelSvmModel, KernelSvmParams, Labelled,
    LinearClassifierModel, LinearClassifierParams, LinearMethod, PartsError,
    RandomForestClassifierModel, RandomForestClassifierParams, SmoothLoss, Splits, SupportVectors,
    SvmKernel, Threads, TreeShape,
};

/// A table of so many rows and columns in three overlapping classes, from a
/// fixed sequence.
struct Table {
    values: Vec<f32>,
    labels: Vec<u32>,
    columns: usize,
}

impl Table {
    fn new(rows: usize, columns: usize, levels: u64) -> Self {
        let mut state = 12345_u64;
        let mut next = || {
            // Knuth's multiplier (MMIX); the high bits are the random ones.
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            state >> 33
        };
        let mut values = Vec::new();
        let mut labels = Vec::new();
        for _ in 0..rows {
            let label = (next() % 3) as u32;
            labels.push(label);
            for column in 0..columns {
                let shift = f64::from(label) * if column % 2 == 0 { 0.3 } else { -0.2 };
                let level = (next() % levels) as f64 / levels as f64;
                let rounded = ((level + shift) * levels as f64).round() / levels as f64;
                values.push(rounded as f32);
            }
        }
        Self {
            values,
            labels,
            columns,
        }
    }

    fn rows(&self) -> DenseRows<'_> {
        DenseRows::new(&self.values, self.columns).unwrap()
    }

    fn data(&self) -> Labelled<'_> {
        Labelled::new(self.rows(), &self.labels, 3).unwrap()
    }
}

fn svm(params: KernelSvmParams, table: &Table, threads: usize) -> KernelSvmModel {
    let machine = params.check().unwrap();
    machine.fit(&table.data(), Threads::new(threads)).unwrap()
}

fn forest(splits: Splits, table: &Table, threads: usize) -> RandomForestClassifierModel {
    let params = RandomForestClassifierParams {
        trees: 12,
        splits,
        ..Default::default()
    };
    let forest = params.check().unwrap();
    forest.fit(&table.data(), 7, Threads::new(threads)).unwrap()
}

fn linear(method: LinearMethod, table: &Table, threads: usize) -> LinearClassifierModel {
    let params = LinearClassifierParams {
        method,
        ..Default::default()
    };
    let classifier = params.check().unwrap();
    classifier
        .fit(&table.data(), 7, Threads::new(threads))
        .unwrap()
}

#[test]
fn classifiers_are_the_same_for_any_number_of_threads() {
    let table = Table::new(300, 5, 1000);
    let squared = LinearMethod::Dual(HingeLoss::Squared);
    for threads in [2, 5] {
        let params = KernelSvmParams::default();
        assert_eq!(svm(params, &table, 1), svm(params, &table, threads));
        for splits in [Splits::Exact, Splits::Histogram { bins: 64 }] {
            assert_eq!(forest(splits, &table, 1), forest(splits, &table, threads));
        }
        assert_eq!(linear(squared, &table, 1), linear(squared, &table, threads));
    }
    let model = forest(Splits::Exact, &table, 1);
    assert_eq!(
        model.probabilities(table.rows(), Threads::ONE).unwrap(),
        model.probabilities(table.rows(), Threads::new(3)).unwrap()
    );
}

#[test]
fn a_kernel_machine_does_not_depend_on_how_much_it_may_keep() {
    let table = Table::new(400, 6, 1000);
    let of = |cache_bytes| {
        let params = KernelSvmParams {
            kernel: SvmKernel::Rbf { gamma: 2.0 },
            cost: 10.0,
            cache_bytes,
            ..Default::default()
        };
        svm(params, &table, 1)
    };
    let plenty = of(1 << 24);
    assert_eq!(plenty, of(0));
    assert_eq!(plenty, of(20_000));
}

#[test]
fn setting_variables_aside_does_not_change_the_decisions() {
    let table = Table::new(900, 4, 1000);
    let of = |shrinking| {
        let params = KernelSvmParams {
            kernel: SvmKernel::Rbf { gamma: 4.0 },
            cost: 100.0,
            tolerance: 1e-5,
            shrinking,
            ..Default::default()
        };
        let model = svm(params, &table, 2);
        assert!(model.converged());
        model.decisions(table.rows(), Threads::ONE).unwrap()
    };
    for (with, without) in of(true).into_iter().zip(of(false)) {
        assert!((with - without).abs() < 1e-3, "{with} and {without}");
    }
}

#[test]
fn the_iterations_of_a_kernel_machine_are_bounded_and_it_says_so() {
    let table = Table::new(200, 4, 1000);
    let params = KernelSvmParams {
        max_iterations: 3,
        ..Default::default()
    };
    assert!(!svm(params, &table, 1).converged());
}

#[test]
fn histograms_of_few_values_grow_the_exact_trees() {
    let table = Table::new(3000, 6, 100);
    assert_eq!(
        forest(Splits::Exact, &table, 2),
        forest(Splits::Histogram { bins: 256 }, &table, 2)
    );
}

#[test]
fn a_full_tree_remembers_every_distinct_row() {
    let table = Table::new(500, 8, 100_000);
    let params = RandomForestClassifierParams {
        trees: 1,
        bootstrap: false,
        ..Default::default()
    };
    let forest = params.check().unwrap();
    let model = forest.fit(&table.data(), 1, Threads::ONE).unwrap();
    assert_eq!(
        model.predict(table.rows(), Threads::ONE).unwrap(),
        table.labels
    );
}

#[test]
fn no_leaf_is_smaller_and_no_tree_deeper_than_allowed() {
    let table = Table::new(600, 4, 50);
    let params = RandomForestClassifierParams {
        trees: 1,
        bootstrap: false,
        shape: TreeShape {
            min_samples_leaf: 60,
            max_depth: Some(3),
            ..RandomForestClassifierParams::default().shape
        },
        ..Default::default()
    };
    let forest = params.check().unwrap();
    let model = forest.fit(&table.data(), 1, Threads::ONE).unwrap();
    assert!(
        model.nodes() > 1 && model.nodes() <= 15,
        "{}",
        model.nodes()
    );
    let probabilities = model.probabilities(table.rows(), Threads::ONE).unwrap();
    let mut leaves: Vec<(Vec<u64>, usize)> = Vec::new();
    for shares in probabilities.chunks_exact(3) {
        let key: Vec<u64> = shares.iter().map(|share| share.to_bits()).collect();
        match leaves.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => *rows += 1,
            None => leaves.push((key, 1)),
        }
    }
    assert!(leaves.iter().all(|&(_, rows)| rows >= 60), "{leaves:?}");
}

#[test]
fn stored_classifiers_come_back_equal() {
    let table = Table::new(200, 5, 1000);
    let model = svm(KernelSvmParams::default(), &table, 1);
    assert_eq!(KernelSvmModel::from_parts(model.to_parts()).unwrap(), model);
    let model = forest(Splits::Exact, &table, 1);
    let back = RandomForestClassifierModel::from_parts(model.to_parts()).unwrap();
    assert_eq!(back, model);
    let model = linear(LinearMethod::Newton(SmoothLoss::Logistic), &table, 1);
    let back = LinearClassifierModel::from_parts(model.to_parts()).unwrap();
    assert_eq!(back, model);
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let table = Table::new(200, 5, 1000);

    let parts = forest(Splits::Exact, &table, 1).to_parts();
    let mut circle = parts.clone();
    circle.lefts[3] = 0;
    let error = RandomForestClassifierModel::from_parts(circle).unwrap_err();
    assert!(
        matches!(
            error,
            PartsError::Node {
                tree: 0,
                node: 3,
                ..
            }
        ),
        "{error}"
    );
    let mut beyond = parts.clone();
    beyond.features[0] = 5;
    let error = RandomForestClassifierModel::from_parts(beyond).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry 0 of features is 5, which no trained classifier has"
    );
    let mut short = parts.clone();
    short.shares.pop();
    assert!(RandomForestClassifierModel::from_parts(short).is_err());
    let mut rootless = parts.clone();
    rootless.roots.clear();
    assert!(RandomForestClassifierModel::from_parts(rootless).is_err());
    let mut undefined = parts;
    undefined.thresholds[0] = f32::NAN;
    assert!(RandomForestClassifierModel::from_parts(undefined).is_err());

    let parts = svm(KernelSvmParams::default(), &table, 1).to_parts();
    let mut short = parts.clone();
    short.thresholds.pop();
    assert_eq!(
        KernelSvmModel::from_parts(short).unwrap_err().to_string(),
        "thresholds has 2 entries where 3 are expected"
    );
    let mut missing = parts.clone();
    missing.support_counts[0] += 1;
    assert!(KernelSvmModel::from_parts(missing).is_err());
    let mut wrong = parts.clone();
    wrong.kernel = SvmKernel::Rbf { gamma: -1.0 };
    assert!(KernelSvmModel::from_parts(wrong).is_err());
    let mut undefined = parts;
    if let SupportVectors::Dense(values) = &mut undefined.vectors {
        values[2] = f32::INFINITY;
    }
    assert!(KernelSvmModel::from_parts(undefined).is_err());

    let squared = LinearMethod::Dual(HingeLoss::Squared);
    let mut parts = linear(squared, &table, 1).to_parts();
    parts.intercepts.push(0.0);
    assert!(LinearClassifierModel::from_parts(parts).is_err());
}

#[test]
fn rows_of_the_wrong_width_are_refused_by_every_classifier() {
    let table = Table::new(100, 5, 1000);
    let narrow = DenseRows::new(&table.values, 4).unwrap();
    let text = "4 features where the model expects 5";
    let model = svm(KernelSvmParams::default(), &table, 1);
    assert_eq!(
        model.predict(narrow, Threads::ONE).unwrap_err().to_string(),
        text
    );
    let model = forest(Splits::Exact, &table, 1);
    assert_eq!(
        model.predict(narrow, Threads::ONE).unwrap_err().to_string(),
        text
    );
    let model = linear(LinearMethod::Dual(HingeLoss::Plain), &table, 1);
    assert_eq!(
        model.predict(narrow, Threads::ONE).unwrap_err().to_string(),
        text
    );
}

#[test]
fn one_class_alone_cannot_be_told_apart() {
    let values = [1.0, 2.0, 3.0];
    let data = Labelled::new(DenseRows::new(&values, 1).unwrap(), &[1, 1, 1], 3).unwrap();
    let machine = KernelSvmParams::default().check().unwrap();
    assert_eq!(machine.fit(&data, Threads::ONE), Err(FitError::OneClass));
    let linear = LinearClassifierParams::default().check().unwrap();
    assert_eq!(linear.fit(&data, 1, Threads::ONE), Err(FitError::OneClass));
}

#[test]
fn a_class_without_rows_is_never_predicted() {
    let table = Table::new(150, 4, 1000);
    let labels: Vec<u32> = table
        .labels
        .iter()
        .map(|&label| [0, 2, 4][label as usize])
        .collect();
    let data = Labelled::new(table.rows(), &labels, 5).unwrap();
    let machine = KernelSvmParams::default().check().unwrap();
    let model = machine.fit(&data, Threads::ONE).unwrap();
    assert_eq!(model.support_counts()[1], 0);
    let predicted = model.predict(table.rows(), Threads::ONE).unwrap();
    assert!(predicted.iter().all(|class| class % 2 == 0));
    let linear = LinearClassifierParams::default().check().unwrap();
    let model = linear.fit(&data, 1, Threads::ONE).unwrap();
    let predicted = model.predict(table.rows(), Threads::ONE).unwrap();
    assert!(predicted.iter().all(|class| class % 2 == 0));
}

#[test]
fn unreasonable_parameters_of_classifiers_are_refused_by_name() {
    let parameter = |params: KernelSvmParams| params.check().unwrap_err().parameter;
    let default = KernelSvmParams::default();
    let cost = 0.0;
    assert_eq!(parameter(KernelSvmParams { cost, ..default }), "cost");
    let kernel = SvmKernel::Rbf { gamma: f64::NAN };
    assert_eq!(parameter(KernelSvmParams { kernel, ..default }), "gamma");
    let bins = RandomForestClassifierParams {
        splits: Splits::Histogram { bins: 257 },
        ..Default::default()
    };
    assert_eq!(
        bins.check().unwrap_err().to_string(),
        "bins is 257; it must be between 2 and 256"
    );
    let tolerance = LinearClassifierParams {
        tolerance: -1.0,
        ..Default::default()
    };
    assert_eq!(tolerance.check().unwrap_err().parameter, "tolerance");
}
