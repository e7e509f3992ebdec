//! What holds for any data, seed and number of threads.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use paceline_learn::{
    BoostLoss, Dataset, DecisionTreeParams, Features, GradientBoostingParams, Learner, MaxFeatures,
    Metric, Model, RandomForestParams, SplitCriterion, Threads, TreeShape, cross_validate,
    grid_search, grouped_k_fold, k_fold, leave_one_group_out,
};
use proptest::prelude::*;

/// Tables with few distinct values, so that ties and constant features occur.
fn tables() -> impl Strategy<Value = Dataset> {
    (1_usize..5, 2_usize..40).prop_flat_map(|(columns, rows)| {
        let features = prop::collection::vec((0_i32..6).prop_map(f64::from), rows * columns);
        let target = prop::collection::vec(-100.0..100.0, rows);
        (features, target).prop_map(move |(features, target)| {
            Dataset::new(Features::from_flat(features, columns).unwrap(), target).unwrap()
        })
    })
}

fn criteria() -> impl Strategy<Value = SplitCriterion> {
    prop_oneof![
        Just(SplitCriterion::Squared),
        Just(SplitCriterion::Absolute)
    ]
}

fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
            (low.min(value), high.max(value))
        })
}

fn forest(criterion: SplitCriterion) -> paceline_learn::RandomForest {
    let params = RandomForestParams {
        trees: 12,
        criterion,
        shape: TreeShape {
            max_features: MaxFeatures::Sqrt,
            ..TreeShape::default()
        },
        out_of_bag: true,
        ..Default::default()
    };
    params.check().unwrap()
}

proptest! {
    #[test]
    fn a_forest_is_the_same_for_any_number_of_threads(
        data in tables(), criterion in criteria(), seed: u64
    ) {
        let forest = forest(criterion);
        let one = forest.fit(&data, seed, Threads::ONE).unwrap();
        for threads in [2, 5] {
            let threads = Threads::new(threads);
            let many = forest.fit(&data, seed, threads).unwrap();
            prop_assert_eq!(&one, &many);
            prop_assert_eq!(
                one.predict(data.features(), Threads::ONE).unwrap(),
                many.predict(data.features(), threads).unwrap()
            );
        }
    }

    #[test]
    fn a_batch_is_predicted_as_its_rows_are(data in tables(), seed: u64) {
        let model = forest(SplitCriterion::Squared).fit(&data, seed, Threads::ONE).unwrap();
        let batch = model.predict(data.features(), Threads::new(2)).unwrap();
        for (row, predicted) in data.features().iter().zip(batch) {
            prop_assert_eq!(model.predict_row(row).unwrap(), predicted);
        }
    }

    #[test]
    fn trees_and_forests_predict_within_the_range_of_the_targets(
        data in tables(), criterion in criteria(), seed: u64, at in prop::collection::vec(-9.0..9.0, 5)
    ) {
        let (low, high) = range(data.target());
        let row = &at[..data.columns()];
        let tree = DecisionTreeParams { criterion, ..Default::default() }.check().unwrap();
        let predicted = tree.fit(&data, seed).unwrap().predict_row(row).unwrap();
        prop_assert!((low..=high).contains(&predicted));
        let model = forest(criterion).fit(&data, seed, Threads::ONE).unwrap();
        let predicted = model.predict_row(row).unwrap();
        let rounding = 1e-12 * (high - low);
        prop_assert!(predicted >= low - rounding && predicted <= high + rounding);
        for oob in model.out_of_bag().unwrap().iter().flatten() {
            prop_assert!(*oob >= low - rounding && *oob <= high + rounding);
        }
    }

    #[test]
    fn a_full_tree_remembers_rows_that_differ(data in tables(), criterion in criteria()) {
        // Make every row unique by a last feature that counts them.
        let rows: Vec<Vec<f64>> = data.features().iter().enumerate()
            .map(|(index, row)| row.iter().copied().chain([index as f64]).collect())
            .collect();
        let unique = Dataset::new(Features::from_rows(&rows).unwrap(), data.target().to_vec()).unwrap();
        let tree = DecisionTreeParams { criterion, ..Default::default() }.check().unwrap();
        let model = tree.fit(&unique, 0).unwrap();
        prop_assert_eq!(model.predict(unique.features(), Threads::ONE).unwrap(), unique.target());
    }

    #[test]
    fn min_samples_leaf_bounds_the_number_of_leaves(
        data in tables(), criterion in criteria(), least in 1_usize..8
    ) {
        let shape = TreeShape { min_samples_leaf: least, ..TreeShape::default() };
        let tree = DecisionTreeParams { criterion, shape }.check().unwrap();
        let leaves = tree.fit(&data, 0).unwrap().leaves();
        prop_assert!(leaves >= 1 && leaves <= (data.rows() / least).max(1));
    }

    /// Cuts depend on the order of a feature's values alone.
    #[test]
    fn a_monotone_change_of_a_feature_keeps_the_tree(
        data in tables(), criterion in criteria()
    ) {
        let cubed: Vec<f64> = data.features().as_flat().iter().map(|x| x * x * x - 7.0).collect();
        let changed = Dataset::new(
            Features::from_flat(cubed, data.columns()).unwrap(),
            data.target().to_vec(),
        ).unwrap();
        let tree = DecisionTreeParams { criterion, ..Default::default() }.check().unwrap();
        let before = tree.fit(&data, 0).unwrap().predict(data.features(), Threads::ONE).unwrap();
        let after = tree.fit(&changed, 0).unwrap().predict(changed.features(), Threads::ONE).unwrap();
        prop_assert_eq!(before, after);
    }

    #[test]
    fn boosting_with_squared_loss_never_gets_worse_on_its_own_data(data in tables()) {
        let boosting = GradientBoostingParams { trees: 15, ..Default::default() }.check().unwrap();
        let model = boosting.fit(&data, 0).unwrap();
        let stages: Vec<Vec<f64>> =
            data.features().iter().map(|row| model.staged(row).unwrap()).collect();
        let mut last = f64::INFINITY;
        for stage in 0..15 {
            let predicted: Vec<f64> = stages.iter().map(|row| row[stage]).collect();
            let error = Metric::MeanSquaredError.of(data.target(), &predicted).unwrap();
            prop_assert!(error <= last * (1.0 + 1e-12) + 1e-12);
            last = error;
        }
    }

    #[test]
    fn boosting_is_the_same_for_any_number_of_threads(data in tables(), seed: u64) {
        for loss in [BoostLoss::Squared, BoostLoss::Absolute, BoostLoss::Huber { quantile: 0.9 }] {
            let params = GradientBoostingParams { loss, trees: 8, subsample: 0.7, ..Default::default() };
            let model = params.check().unwrap().fit(&data, seed).unwrap();
            let one = model.predict(data.features(), Threads::ONE).unwrap();
            prop_assert_eq!(&one, &model.predict(data.features(), Threads::new(3)).unwrap());
            prop_assert!(one.iter().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn folds_test_every_row_once_and_differ_by_one_row_at_most(
        rows in 2_usize..80, folds in 2_usize..8, seed: u64
    ) {
        prop_assume!(rows >= folds);
        let folds = k_fold(rows, folds, seed).unwrap();
        let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test()).copied().collect();
        tested.sort_unstable();
        prop_assert_eq!(tested, (0..rows).collect::<Vec<_>>());
        let sizes: Vec<usize> = folds.iter().map(|fold| fold.test().len()).collect();
        prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        for fold in &folds {
            let mut all = [fold.train(), fold.test()].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn groups_never_straddle_folds(
        groups in prop::collection::vec(0_u8..9, 2..60), count in 2_usize..5, seed: u64
    ) {
        for folds in [grouped_k_fold(&groups, count, seed), leave_one_group_out(&groups)] {
            let Ok(folds) = folds else { continue };
            let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test()).copied().collect();
            tested.sort_unstable();
            prop_assert_eq!(tested, (0..groups.len()).collect::<Vec<_>>());
            for fold in &folds {
                prop_assert!(!fold.train().is_empty() && !fold.test().is_empty());
                for &row in fold.test() {
                    prop_assert!(fold.train().iter().all(|&other| groups[other] != groups[row]));
                }
            }
        }
    }

    #[test]
    fn validation_does_not_depend_on_threads(data in tables(), seed: u64) {
        prop_assume!(data.rows() >= 6);
        let folds = k_fold(data.rows(), 3, seed).unwrap();
        let squared = forest(SplitCriterion::Squared);
        let absolute = forest(SplitCriterion::Absolute);
        let grid: [&dyn Learner; 2] = [&squared, &absolute];
        let metric = Metric::MeanAbsoluteError;
        let search = |threads| grid_search(&grid, &data, &folds, metric, seed, threads).unwrap();
        prop_assert_eq!(search(Threads::ONE), search(Threads::new(2)));
        let cross = |threads| cross_validate(&squared, &data, &folds, seed, threads).unwrap();
        prop_assert_eq!(cross(Threads::ONE), cross(Threads::new(2)));
    }
}

#[test]
fn a_forest_does_not_depend_on_the_order_of_columns_when_one_matters() {
    // Only the first feature varies with the target; the second is constant.
    let rows: Vec<[f64; 2]> = (0..30).map(|i| [f64::from(i), 4.0]).collect();
    let swapped: Vec<[f64; 2]> = rows.iter().map(|row| [row[1], row[0]]).collect();
    let target: Vec<f64> = rows.iter().map(|row| row[0] * row[0]).collect();
    let data = |rows: &[[f64; 2]]| {
        Dataset::new(Features::from_rows(rows).unwrap(), target.clone()).unwrap()
    };
    let forest = RandomForestParams {
        trees: 20,
        ..Default::default()
    }
    .check()
    .unwrap();
    let straight = forest.fit(&data(&rows), 3, Threads::ONE).unwrap();
    let crossed = forest.fit(&data(&swapped), 3, Threads::ONE).unwrap();
    for row in &rows {
        assert_eq!(
            straight.predict_row(row).unwrap(),
            crossed.predict_row(&[row[1], row[0]]).unwrap()
        );
    }
}

#[test]
fn candidates_that_a_forest_cannot_tell_apart_get_the_prediction_of_their_cell() {
    let rows: Vec<[f64; 2]> = (0..48)
        .map(|i| [f64::from(i % 4), f64::from(i % 3)])
        .collect();
    let target = rows.iter().map(|row| row[0] * 10.0 + row[1]).collect();
    let data = Dataset::new(Features::from_rows(&rows).unwrap(), target).unwrap();
    let model = RandomForestParams::default()
        .check()
        .unwrap()
        .fit(&data, 1, Threads::ONE)
        .unwrap();
    let grid: Vec<[f64; 2]> = (0..2500)
        .map(|i| [f64::from(i % 50) / 15.0, f64::from(i / 50) / 20.0])
        .collect();
    let batch = model
        .predict(&Features::from_rows(&grid).unwrap(), Threads::new(2))
        .unwrap();
    for (row, predicted) in grid.iter().zip(batch) {
        assert_eq!(model.predict_row(row).unwrap(), predicted);
    }
}

#[test]
fn rows_of_the_wrong_width_or_with_nan_are_refused() {
    let data = Dataset::new(
        Features::from_rows(&[[1.0, 2.0], [3.0, 4.0]]).unwrap(),
        vec![1.0, 2.0],
    )
    .unwrap();
    let model = RandomForestParams::default()
        .check()
        .unwrap()
        .fit(&data, 0, Threads::ONE)
        .unwrap();
    assert_eq!(
        model.predict_row(&[1.0]).unwrap_err().to_string(),
        "1 features where the model expects 2"
    );
    assert_eq!(
        model.predict_row(&[1.0, f64::NAN]).unwrap_err().to_string(),
        "feature 1 is NaN; features must be finite"
    );
    let narrow = Features::from_rows(&[[1.0]]).unwrap();
    assert!(model.predict(&narrow, Threads::ONE).is_err());
}

#[test]
fn unreasonable_parameters_are_refused_by_name() {
    let shape = |shape: TreeShape| {
        DecisionTreeParams {
            shape,
            ..Default::default()
        }
        .check()
        .unwrap_err()
        .to_string()
    };
    assert_eq!(
        shape(TreeShape {
            min_samples_split: 1,
            ..Default::default()
        }),
        "min_samples_split is 1; it must be at least 2"
    );
    assert_eq!(
        shape(TreeShape {
            max_features: MaxFeatures::Fraction(1.5),
            ..Default::default()
        }),
        "max_features is 1.5; it must be a fraction above 0 and at most 1"
    );
    let none = RandomForestParams {
        trees: 0,
        ..Default::default()
    };
    assert_eq!(none.check().unwrap_err().parameter, "trees");
    let blind = RandomForestParams {
        out_of_bag: true,
        bootstrap: false,
        ..Default::default()
    };
    assert_eq!(blind.check().unwrap_err().parameter, "out_of_bag");
    let rate = GradientBoostingParams {
        learning_rate: f64::NAN,
        ..Default::default()
    };
    assert_eq!(rate.check().unwrap_err().parameter, "learning_rate");
    let huber = GradientBoostingParams {
        loss: BoostLoss::Huber { quantile: 1.0 },
        ..Default::default()
    };
    assert_eq!(huber.check().unwrap_err().parameter, "quantile");
}

#[test]
fn constant_targets_are_learned_by_every_tree_learner() {
    let data = Dataset::new(
        Features::from_rows(&[[1.0], [2.0], [3.0]]).unwrap(),
        vec![0.1; 3],
    )
    .unwrap();
    let learners: [Box<dyn Learner>; 3] = [
        Box::new(DecisionTreeParams::default().check().unwrap()),
        Box::new(
            RandomForestParams {
                trees: 1,
                ..Default::default()
            }
            .check()
            .unwrap(),
        ),
        Box::new(GradientBoostingParams::default().check().unwrap()),
    ];
    for learner in learners {
        let model = learner.learn(&data, 0, Threads::ONE).unwrap();
        assert!((model.predict_row(&[9.0]).unwrap() - 0.1).abs() < 1e-15);
    }
}
