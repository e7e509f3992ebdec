//! What holds for every model, checked on random ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_stats::analysis::{AnalysisOptions, analyze};
use paceline_stats::anova::{Anova, AnovaType};
use paceline_stats::fit::{FitOptions, Precision, fit};
use paceline_stats::formula::{Formula, FrameOptions, ModelFrame};
use paceline_stats::matrix::{Contrast, ModelMatrix};
use paceline_stats::table::{Column, Table};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same cases in every run.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(20_260_417),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn frame(formula: &str, table: &Table) -> ModelFrame {
    Formula::parse(formula)
        .unwrap()
        .frame(table, &FrameOptions::default())
        .unwrap()
}

/// Term, degrees of freedom and sum of squares of every row, then the residual's
/// sum of squares.
fn squares(formula: &str, table: &Table, kind: AnovaType) -> (Vec<(String, usize, f64)>, f64) {
    let frame = frame(formula, table);
    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
    let fit = fit(&matrix, &FitOptions::default()).unwrap();
    let anova = Anova::of(&fit, kind).unwrap();
    let rows = anova
        .rows
        .into_iter()
        .map(|row| (row.term, row.df, row.sum_of_squares))
        .collect();
    (rows, anova.residual.sum_of_squares)
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale.max(a.abs())
}

/// A full factorial of `a` × `b` levels with `replicates`, shuffled responses.
fn balanced() -> impl Strategy<Value = Table> {
    (2_usize..5, 2_usize..4, 2_usize..4).prop_flat_map(|(a, b, replicates)| {
        let runs = a * b * replicates;
        prop::collection::vec(-100.0..100.0_f64, runs).prop_map(move |y| {
            let level = |prefix: &str, k: usize| format!("{prefix}{k}");
            let labels_a: Vec<String> = (0..runs).map(|run| level("a", run % a)).collect();
            let labels_b: Vec<String> = (0..runs).map(|run| level("b", run / a % b)).collect();
            Table::new(vec![
                Column::numeric("y", y),
                Column::from_labels("a", &labels_a),
                Column::from_labels("b", &labels_b),
            ])
            .unwrap()
        })
    })
}

/// Columns a, b (categorical) and x (numeric) at random, every level present.
fn unbalanced() -> impl Strategy<Value = Vec<(usize, usize, f64, f64)>> {
    prop::collection::vec(
        (0_usize..3, 0_usize..2, -5.0..5.0_f64, -10.0..10.0_f64),
        12..40,
    )
    .prop_map(|mut rows| {
        for (index, row) in rows.iter_mut().take(6).enumerate() {
            row.0 = index % 3;
            row.1 = index / 3;
        }
        rows
    })
}

fn table_of(rows: &[(usize, usize, f64, f64)]) -> Table {
    let labels = |pick: fn(&(usize, usize, f64, f64)) -> usize| -> Vec<String> {
        rows.iter().map(|row| format!("l{}", pick(row))).collect()
    };
    Table::new(vec![
        Column::from_labels("a", &labels(|row| row.0)),
        Column::from_labels("b", &labels(|row| row.1)),
        Column::numeric("x", rows.iter().map(|row| row.2).collect()),
        Column::numeric("y", rows.iter().map(|row| row.3).collect()),
    ])
    .unwrap()
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn all_types_agree_on_balanced_designs(table in balanced()) {
        let first = squares("y ~ a*b", &table, AnovaType::I);
        for kind in [AnovaType::II, AnovaType::III] {
            let other = squares("y ~ a*b", &table, kind);
            for (one, two) in first.0.iter().zip(&other.0) {
                prop_assert_eq!(&one.0, &two.0);
                prop_assert_eq!(one.1, two.1);
                prop_assert!(close(one.2, two.2, first.1), "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn sequential_squares_add_up_to_the_total(rows in unbalanced()) {
        let table = table_of(&rows);
        let frame = frame("y ~ a*b + x + a:x", &table);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let fit = fit(&matrix, &FitOptions::default()).unwrap();
        let anova = Anova::of(&fit, AnovaType::I).unwrap();
        let sum: f64 = anova.rows.iter().map(|row| row.sum_of_squares).sum();
        let total = anova.total_sum_of_squares;
        prop_assert!(close(sum + anova.residual.sum_of_squares, total, total));
        let percent: f64 = anova.rows.iter().map(|row| row.percent).sum();
        prop_assert!((percent + anova.residual.percent - 100.0).abs() < 1e-7);
    }

    #[test]
    fn the_order_of_rows_does_not_matter(rows in unbalanced(), shift in 1_usize..11) {
        let mut turned = rows.clone();
        turned.rotate_left(shift);
        turned.reverse();
        for kind in [AnovaType::I, AnovaType::II, AnovaType::III] {
            let one = squares("y ~ a*b + x", &table_of(&rows), kind);
            let two = squares("y ~ a*b + x", &table_of(&turned), kind);
            for (one, two) in one.0.iter().zip(&two.0) {
                prop_assert!(close(one.2, two.2, two.2.max(1.0)), "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn renaming_levels_and_changing_contrasts_does_not_matter(rows in unbalanced()) {
        let swapped: Vec<_> = rows.iter().map(|&(a, b, x, y)| ((a + 1) % 3, 1 - b, x, y)).collect();
        for kind in [AnovaType::I, AnovaType::II, AnovaType::III] {
            let one = squares("y ~ a*b + x", &table_of(&rows), kind);
            let two = squares("y ~ a*b + x", &table_of(&swapped), kind);
            let three = squares("y ~ C(a, Sum)*C(b, Sum) + x", &table_of(&rows), kind);
            for ((one, two), three) in one.0.iter().zip(&two.0).zip(&three.0) {
                prop_assert!(close(one.2, two.2, two.2.max(1.0)), "{one:?} {two:?}");
                prop_assert!(close(one.2, three.2, two.2.max(1.0)), "{one:?} {three:?}");
            }
        }
    }

    #[test]
    fn scaling_a_numeric_factor_rescales_only_its_coefficient(
        rows in unbalanced(),
        exponent in -30_i32..30,
    ) {
        let factor = 10.0_f64.powi(exponent);
        let scaled: Vec<_> = rows.iter().map(|&(a, b, x, y)| (a, b, x * factor, y)).collect();
        let one = squares("y ~ a + x", &table_of(&rows), AnovaType::II);
        let two = squares("y ~ a + x", &table_of(&scaled), AnovaType::II);
        for (one, two) in one.0.iter().zip(&two.0) {
            prop_assert!(close(one.2, two.2, two.2.max(1.0)), "{one:?} {two:?}");
        }
    }

    #[test]
    fn both_precisions_agree(rows in unbalanced()) {
        let table = table_of(&rows);
        let frame = frame("y ~ a*b + x", &table);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let with = |precision| {
            let options = FitOptions { precision, ..FitOptions::default() };
            fit(&matrix, &options).unwrap()
        };
        let (double, extended) = (with(Precision::Double), with(Precision::Extended));
        for (one, two) in double.coefficients().iter().zip(extended.coefficients()) {
            prop_assert!(close(one.estimate, two.estimate, two.standard_error));
            prop_assert!(close(one.standard_error, two.standard_error, 0.0));
        }
    }

    #[test]
    fn repeating_every_row_repeats_every_square(rows in unbalanced()) {
        // Enough repetitions that rows are grouped into cells before the fit.
        let times = 5_000 / rows.len();
        let many: Vec<_> = rows.iter().copied().cycle().take(rows.len() * times).collect();
        let one = squares("y ~ a*b + x", &table_of(&rows), AnovaType::II);
        let two = squares("y ~ a*b + x", &table_of(&many), AnovaType::II);
        let factor = times as f64;
        prop_assert!(close(one.1 * factor, two.1, 0.0), "{} {}", one.1, two.1);
        for (one, two) in one.0.iter().zip(&two.0) {
            prop_assert!(close(one.2 * factor, two.2, factor), "{one:?} {two:?}");
        }
    }

    #[test]
    fn a_common_offset_changes_only_the_intercept(rows in unbalanced()) {
        // A power of two keeps the responses' low digits: they are multiples of
        // 2^-20 and fit below 2^30.
        let grid = |y: f64| (y * 1_048_576.0).round() / 1_048_576.0;
        let low: Vec<_> = rows.iter().map(|&(a, b, x, y)| (a, b, x, grid(y))).collect();
        let high: Vec<_> = low.iter().map(|&(a, b, x, y)| (a, b, x, y + 1_073_741_824.0)).collect();
        for kind in [AnovaType::I, AnovaType::II, AnovaType::III] {
            let one = squares("y ~ a*b + x", &table_of(&low), kind);
            let two = squares("y ~ a*b + x", &table_of(&high), kind);
            for (one, two) in one.0.iter().zip(&two.0) {
                prop_assert!(close(one.2, two.2, two.2.max(1.0)), "{one:?} {two:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn no_text_makes_the_formula_reader_panic(text in "\\PC{0,60}") {
        let _ = Formula::parse(&text).map_err(|error| error.to_string());
    }

    #[test]
    fn no_sequence_of_tokens_makes_it_panic(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "y", "a", "b", "x", "~", "+", "-", "*", "/", ":", "^", "**", "(", ")", "C(",
                "log(", "I(", "Q(", "\"a\"", "'", "`", "0", "1", "2", "3.5", ".", ",", "Sum", " ",
            ]),
            0..24,
        ),
    ) {
        let text = format!("y ~ {}", tokens.concat());
        let table = table_of(&[(0, 0, 1.0, 1.0), (1, 1, 2.0, 3.0), (2, 0, 4.0, 2.0)]);
        if let Ok(formula) = Formula::parse(&text) {
            match formula.frame(&table, &FrameOptions::default()) {
                Ok(frame) => {
                    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
                    let _ = fit(&matrix, &FitOptions::default());
                }
                Err(error) => prop_assert!(error.to_string().contains('^')),
            }
        }
    }
}

/// A cell of a table that has seen better days.
fn cell() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "0", "1", "2", "-1", "0.001", "1e300", "-1e300", "1e-300", "5", "5", "5", "7.25", "", "NA",
        "inf", "x", "lan", "wifi", "4s",
    ])
}

/// Columns of one kind each, or of anything.
fn any_table() -> impl Strategy<Value = Vec<[String; 4]>> {
    let number = prop::sample::select(vec!["1", "2", "3", "4.5", "-2", "0", "100", "1e9"]);
    let label = prop::sample::select(vec!["a", "b", "c"]);
    let level = prop::sample::select(vec!["1", "4"]);
    let tidy = (number, label, level.clone(), level)
        .prop_map(|(y, k, u, v)| [y, k, u, v].map(str::to_owned));
    let wild =
        (cell(), cell(), cell(), cell()).prop_map(|(y, k, u, v)| [y, k, u, v].map(str::to_owned));
    prop_oneof![
        prop::collection::vec(tidy, 1..30),
        prop::collection::vec(wild, 1..30),
    ]
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn no_table_makes_an_analysis_panic(rows in any_table(), chosen in any::<bool>()) {
        let mut builder = Table::builder(["y", "k", "u", "v"]);
        for row in &rows {
            builder.push_row(row.iter().map(String::as_str)).unwrap();
        }
        let table = builder.finish().unwrap();
        let options = AnalysisOptions {
            formula: (!chosen).then_some("y ~ C(k)*u + C(v)"),
            run_order: None,
            permutations: 9,
            ..AnalysisOptions::default()
        };
        match analyze(&table, "y", &options) {
            Ok(analysis) => {
                prop_assert!(analysis.findings.len() <= 10);
                prop_assert!(!analysis.findings.is_empty());
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn an_exact_fit_is_reported_as_such() {
    let x: Vec<f64> = (0..8).map(f64::from).collect();
    let y = x.iter().map(|x| 2.0 * x + 1.0).collect();
    let table = Table::new(vec![Column::numeric("x", x), Column::numeric("y", y)]).unwrap();
    let analysis = analyze(&table, "y", &AnalysisOptions::default()).unwrap();
    assert_eq!(analysis.formula, "y ~ x");
    assert!((analysis.coefficients[1].estimate - 2.0).abs() < 1e-14);
    assert!(analysis.summary.r_squared > 1.0 - 1e-14);
    let last = analysis.findings.last().unwrap();
    assert!(
        last.text.starts_with("The model reproduces every row"),
        "{}",
        last.text
    );
}

#[test]
fn the_largest_numbers_do_not_overflow_the_factorisation() {
    let table = Table::new(vec![
        Column::numeric("x", vec![1e300, 2e300, 3e300, 4e300, 5e300]),
        Column::numeric("y", vec![1e150, 2.5e150, 2.9e150, 4.2e150, 5e150]),
    ])
    .unwrap();
    let frame = frame("y ~ x", &table);
    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
    for precision in [Precision::Double, Precision::Extended] {
        let options = FitOptions {
            precision,
            ..FitOptions::default()
        };
        let fit = fit(&matrix, &options).unwrap();
        let slope = fit.coefficients()[1].estimate;
        assert!((slope / 0.97e-150 - 1.0).abs() < 1e-9, "{slope}");
    }
}
