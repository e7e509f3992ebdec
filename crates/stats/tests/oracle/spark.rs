//! The analysis of "Optimization of machine learning training workflows on
//! Apache Spark cluster": its table reproduced from its data.

use paceline_stats::anova::{Anova, AnovaType};
use paceline_stats::collinearity::variance_inflation;
use paceline_stats::fit::{FitOptions, fit};
use paceline_stats::formula::TermOrder;
use paceline_stats::matrix::{Contrast, ModelMatrix};
use paceline_stats::table::Table;

use crate::support::frame;

const FORMULA: &str = "cost ~ nodes + executors + cores + epochs*learning_rate*batch_size";

/// The rows of the paper's figure 2: term, sum of squares, F, p, percentage.
const PUBLISHED: [(&str, &str, &str, &str, &str); 10] = [
    ("nodes", "0.000835", "0.811084", "3.685497e-01", "0.168076"),
    (
        "executors",
        "0.002662",
        "2.586327",
        "1.088819e-01",
        "0.535950",
    ),
    ("cores", "0.000555", "0.539326", "4.633077e-01", "0.111761"),
    ("epochs", "0.003148", "3.058204", "8.139210e-02", "0.633734"),
    (
        "learning_rate",
        "0.065909",
        "64.030983",
        "2.993076e-14",
        "13.268775",
    ),
    (
        "epochs:learning_rate",
        "0.013646",
        "13.257446",
        "3.216297e-04",
        "2.747265",
    ),
    (
        "batch_size",
        "0.007529",
        "7.314456",
        "7.245951e-03",
        "1.515733",
    ),
    (
        "epochs:batch_size",
        "0.023049",
        "22.392219",
        "3.483304e-06",
        "4.640212",
    ),
    (
        "learning_rate:batch_size",
        "0.055835",
        "54.244237",
        "1.858615e-12",
        "11.240724",
    ),
    (
        "epochs:learning_rate:batch_size",
        "0.026078",
        "25.334631",
        "8.489754e-07",
        "5.249951",
    ),
];

/// The paper's table V.
const VIF: [(&str, f64); 11] = [
    ("Intercept", 53.00742210464434),
    ("nodes", 1.0044642857142865),
    ("executors", 1.0044642857142851),
    ("cores", 1.0666666666666662),
    ("epochs", 9.08568815729309),
    ("learning_rate", 18.162962962962965),
    ("epochs:learning_rate", 23.67992684042065),
    ("batch_size", 17.56378600823049),
    ("epochs:batch_size", 24.788608008361116),
    ("learning_rate:batch_size", 32.26149323927107),
    ("epochs:learning_rate:batch_size", 33.942282317591015),
];

fn spark() -> Table {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/oracle/spark_bigdl_cost.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let mut builder = Table::builder(lines.next().unwrap().split(','));
    for line in lines {
        builder.push_row(line.split(',')).unwrap();
    }
    builder.finish().unwrap()
}

fn scientific(value: f64) -> String {
    let text = format!("{value:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap();
    format!(
        "{digits}e-{:02}",
        exponent.trim_start_matches('-').parse::<u32>().unwrap()
    )
}

#[test]
fn the_papers_anova_table_comes_out_digit_for_digit() {
    let frame = frame(FORMULA, &spark(), TermOrder::Written);
    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
    let fit = fit(&matrix, &FitOptions::default()).unwrap();
    let anova = Anova::of(&fit, AnovaType::I).unwrap();
    assert_eq!(anova.rows.len(), PUBLISHED.len());
    for (row, (term, square, f, p, percent)) in anova.rows.iter().zip(PUBLISHED) {
        let test = row.test.unwrap();
        assert_eq!(row.term, term);
        assert_eq!(row.df, 1);
        assert_eq!(format!("{:.6}", row.sum_of_squares), square, "{term}");
        assert_eq!(format!("{:.6}", test.f), f, "{term}");
        assert_eq!(scientific(test.p), p, "{term}");
        assert_eq!(format!("{:.6}", row.percent), percent, "{term}");
    }
    assert_eq!(anova.residual.df, 289);
    assert_eq!(format!("{:.6}", anova.residual.sum_of_squares), "0.297477");
    assert_eq!(format!("{:.6}", anova.residual.mean_square), "0.001029");
    assert_eq!(format!("{:.6}", anova.residual.percent), "59.887820");
    assert_eq!(format!("{:.4}", fit.r_squared()), "0.4011");
}

#[test]
fn the_papers_variance_inflation_factors_come_out() {
    let frame = frame(FORMULA, &spark(), TermOrder::Written);
    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
    let fit = fit(&matrix, &FitOptions::default()).unwrap();
    let factors = variance_inflation(&fit);
    assert_eq!(factors.len(), VIF.len());
    for (factor, (name, expected)) in factors.iter().zip(VIF) {
        assert_eq!(factor.column, name);
        let error = (factor.factor / expected - 1.0).abs();
        assert!(
            error < 1e-12,
            "{name}: {} against {expected}",
            factor.factor
        );
    }
}

#[test]
fn writing_the_interactions_out_changes_nothing() {
    let short = frame(FORMULA, &spark(), TermOrder::Written);
    let long = frame(
        "cost ~ nodes + executors + cores + epochs + learning_rate + epochs:learning_rate \
         + batch_size + epochs:batch_size + learning_rate:batch_size \
         + epochs:learning_rate:batch_size",
        &spark(),
        TermOrder::Written,
    );
    assert_eq!(short.terms(), long.terms());
}
