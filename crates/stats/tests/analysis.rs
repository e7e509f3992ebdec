//! Whole analyses: what they conclude, and what they refuse.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_stats::analysis::{
    Analysis, AnalysisOptions, AnalyzeError, AssumptionKind, FindingKind, Method, RobustResult,
    Verdict, analyze,
};
use paceline_stats::anova::AnovaType;
use paceline_stats::table::{Column, Table};

const SPARK: &str = "cost ~ nodes + executors + cores + epochs*learning_rate*batch_size";

fn spark() -> Table {
    let text = include_str!("../oracle/spark_bigdl_cost.csv");
    let mut lines = text.lines();
    let mut builder = Table::builder(lines.next().unwrap().split(','));
    for line in lines {
        builder.push_row(line.split(',')).unwrap();
    }
    builder.finish().unwrap()
}

fn spark_analysis() -> Analysis {
    let options = AnalysisOptions {
        formula: Some(SPARK),
        kind: AnovaType::I,
        permutations: 49,
        ..AnalysisOptions::default()
    };
    analyze(&spark(), "cost", &options).unwrap()
}

fn verdict(analysis: &Analysis, kind: AssumptionKind) -> Verdict {
    let found = analysis.assumptions.iter().find(|a| a.kind == kind);
    found.unwrap().verdict
}

#[test]
fn the_paper_is_corrected_where_it_read_its_tests_wrongly() {
    let analysis = spark_analysis();
    let normality = &analysis.assumptions[0];
    assert_eq!(normality.kind, AssumptionKind::Normality);
    assert_eq!(normality.verdict, Verdict::Violated);
    let shapiro = &normality.results[0];
    assert_eq!(shapiro.test, "Shapiro–Wilk");
    // The paper's own numbers, which it took for normality.
    assert!((shapiro.statistic - 0.472_343).abs() < 1e-6);
    assert!((shapiro.p.unwrap() / 7.447e-29 - 1.0).abs() < 1e-3);
    assert!(normality.meaning.contains("not normal"));
    assert_eq!(
        verdict(&analysis, AssumptionKind::EqualVariances),
        Verdict::Violated
    );
    // Inflation from multiplying uncentred factors is not collinearity of the design.
    assert_eq!(
        verdict(&analysis, AssumptionKind::Collinearity),
        Verdict::Holds
    );
}

#[test]
fn a_violated_assumption_changes_the_method_and_its_result_is_computed() {
    let analysis = spark_analysis();
    assert!(matches!(
        analysis.recommendation.method,
        Method::Transformed(_)
    ));
    let Some(RobustResult::Transformed(result)) = &analysis.recommendation.result else {
        panic!("a transformed fit was computed");
    };
    assert_eq!(result.response, "log(cost)");
    assert!(result.r_squared > analysis.summary.r_squared);
    // log(cost) is still unevenly spread, so its tests allow for that.
    assert!(result.robust.is_some() && result.permutation.is_none());
    assert!(
        analysis
            .findings
            .iter()
            .any(|f| f.kind == FindingKind::Method)
    );
}

#[test]
fn findings_are_few_strongest_first_and_qualified_by_aliases() {
    let analysis = spark_analysis();
    assert!(analysis.findings.len() <= 10);
    let first = &analysis.findings[0];
    assert_eq!(first.term.as_deref(), Some("learning_rate"));
    assert!(
        first.text.contains("multiplies `cost` by"),
        "{}",
        first.text
    );
    assert!(first.text.contains("depends on"), "{}", first.text);
    let triple = analysis
        .findings
        .iter()
        .find(|f| f.term.as_deref() == Some("epochs:learning_rate:batch_size"))
        .unwrap();
    assert!(
        triple
            .text
            .contains("`nodes with executors and cores`, which this design cannot tell from it"),
        "{}",
        triple.text
    );
    let nothing = analysis
        .findings
        .iter()
        .find(|f| f.kind == FindingKind::NoEvidence)
        .unwrap();
    assert!(nothing.text.contains("`nodes`"));
    assert!(!nothing.text.contains("`epochs`"), "{}", nothing.text);
}

#[test]
fn the_same_seed_gives_the_same_analysis() {
    let (one, two) = (spark_analysis(), spark_analysis());
    assert_eq!(one.findings, two.findings);
    assert_eq!(one.recommendation, two.recommendation);
}

/// A replicated 2×3 layout with equal normal-looking errors.
fn clean() -> Table {
    let noise = [
        0.31, -0.52, 0.12, -0.08, 0.44, -0.27, 0.05, -0.36, 0.19, 0.22, -0.41, 0.30,
    ];
    let mut columns: [Vec<f64>; 3] = Default::default();
    let mut labels = Vec::new();
    for (index, noise) in noise.iter().enumerate() {
        let workers = [1.0, 2.0, 4.0][index % 3];
        let net = ["lan", "wifi"][index / 3 % 2];
        labels.push(net);
        columns[0].push(workers);
        columns[1].push(20.0 - 3.0 * workers + if net == "wifi" { 4.0 } else { 0.0 } + noise);
        columns[2].push(index as f64);
    }
    let [workers, time, order] = columns;
    Table::new(vec![
        Column::numeric("workers", workers),
        Column::from_labels("net", &labels),
        Column::numeric("order", order),
        Column::numeric("constant", vec![3.0; noise.len()]),
        Column::numeric("time", time),
    ])
    .unwrap()
}

#[test]
fn without_a_formula_the_model_is_chosen_and_said() {
    let options = AnalysisOptions {
        run_order: Some("order"),
        ..AnalysisOptions::default()
    };
    let analysis = analyze(&clean(), "time", &options).unwrap();
    assert!(analysis.chosen);
    assert_eq!(analysis.formula, "time ~ (C(workers) + net)^2");
    let notes = analysis.notes.join("\n");
    assert!(
        notes.contains("`workers` takes 3 values and enters as categories"),
        "{notes}"
    );
    assert!(notes.contains("`constant` never varies"), "{notes}");
    assert!(
        notes.contains("main effects and two-factor interactions"),
        "{notes}"
    );
    assert_eq!(analysis.recommendation.method, Method::LeastSquares);
    assert_ne!(
        verdict(&analysis, AssumptionKind::Independence),
        Verdict::NotChecked
    );
    assert_eq!(analysis.findings[0].term.as_deref(), Some("C(workers)"));
    let [workers] = analysis.comparisons.as_slice() else {
        panic!("one factor has three levels: {:?}", analysis.comparisons);
    };
    assert_eq!(workers.levels, ["1", "2", "4"]);
    assert_eq!(workers.pairs.len(), 3);
    assert_eq!(analysis.main_means.len(), 2);
    assert_eq!(analysis.main_means[0].factors, ["workers"]);
    assert_eq!(analysis.interaction_means[0].cells.len(), 6);
}

#[test]
fn interactions_that_the_runs_cannot_support_are_left_out() {
    let table = Table::new(vec![
        Column::numeric("a", vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
        Column::numeric("b", vec![0.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
        Column::numeric("c", vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0]),
        Column::numeric("y", vec![1.0, 2.0, 4.0, 3.5, 5.0, 4.0]),
    ])
    .unwrap();
    let analysis = analyze(&table, "y", &AnalysisOptions::default()).unwrap();
    assert_eq!(analysis.formula, "y ~ a + b + c");
    assert!(analysis.notes[0].contains("two-factor interactions were left out"));
}

#[test]
fn an_unreplicated_design_is_judged_by_lenth() {
    let bit = |run: usize, k: usize| if run >> k & 1 == 1 { 1.0 } else { -1.0 };
    let column = |k: usize| (0..16).map(|run| bit(run, k)).collect::<Vec<f64>>();
    let noise = [
        0.1, -0.2, 0.05, 0.12, -0.15, 0.02, -0.07, 0.2, -0.03, 0.11, -0.18, 0.09, 0.04, -0.12,
        0.16, -0.1,
    ];
    let y = (0..16).map(|run| 10.0 + 5.0 * bit(run, 0) + noise[run]);
    let table = Table::new(vec![
        Column::numeric("a", column(0)),
        Column::numeric("b", column(1)),
        Column::numeric("c", column(2)),
        Column::numeric("d", column(3)),
        Column::numeric("y", y.collect()),
    ])
    .unwrap();
    let analysis = analyze(&table, "y", &AnalysisOptions::default()).unwrap();
    let lenth = analysis.lenth.as_ref().unwrap();
    assert_eq!(lenth.effects.len(), 15);
    let text: Vec<&str> = analysis.findings.iter().map(|f| f.text.as_str()).collect();
    let text = text.join("\n");
    assert!(
        text.contains("Taking `a` from -1 to 1 raises `y` by 10"),
        "{text}"
    );
    assert!(text.contains("by Lenth's method for 15 effects"), "{text}");
}

#[test]
fn unequal_groups_are_compared_by_welch_or_by_ranks() {
    // Negative values rule out a power transformation.
    let groups: [(&str, [f64; 8]); 3] = [
        ("x", [-0.1, 0.1, 0.05, -0.05, 0.02, -0.08, 0.09, -0.03]),
        ("y", [8.0, -9.0, 5.0, -6.5, 11.0, -10.0, 2.0, -1.0]),
        ("z", [0.2, 0.3, 0.15, 0.25, 0.22, 0.28, 0.18, 0.24]),
    ];
    let labels: Vec<&str> = groups
        .iter()
        .flat_map(|(name, v)| v.map(|_| *name))
        .collect();
    let values: Vec<f64> = groups.iter().flat_map(|(_, v)| *v).collect();
    let table = Table::new(vec![
        Column::from_labels("g", &labels),
        Column::numeric("r", values),
    ])
    .unwrap();
    let analysis = analyze(&table, "r", &AnalysisOptions::default()).unwrap();
    assert!(matches!(
        analysis.recommendation.method,
        Method::Welch | Method::KruskalWallis
    ));
    assert!(analysis.recommendation.result.is_some());
}

fn check_error(table: &Table, response: &str, formula: Option<&str>, expected: &str) {
    let options = AnalysisOptions {
        formula,
        ..AnalysisOptions::default()
    };
    let error = analyze(table, response, &options).unwrap_err();
    let text = error.to_string();
    assert_eq!(text.lines().next().unwrap(), expected, "{text}");
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let table = clean();
    check_error(
        &table,
        "tiem",
        None,
        "there is no column `tiem`; did you mean `time`?",
    );
    check_error(
        &table,
        "time",
        Some("time ~ wrkers"),
        "there is no column `wrkers`; did you mean `workers`?",
    );
    check_error(
        &table,
        "time",
        Some("order ~ workers"),
        "the formula explains `order`, not `time`",
    );
    check_error(
        &table,
        "net",
        None,
        "column `net` holds categories and cannot be used as a number",
    );
    check_error(
        &table,
        "constant",
        Some("constant ~ workers"),
        "the response `constant` is 3 in every row",
    );
    check_error(
        &table,
        "time",
        Some("time ~ C(order)"),
        "the model has 12 parameters and there are 12 runs; at least one run more than \
         parameters is needed to estimate error",
    );
}

#[test]
fn a_table_without_factors_is_refused_with_the_reasons() {
    let table = Table::new(vec![
        Column::numeric("y", vec![1.0, 2.0, 3.0]),
        Column::numeric("k", vec![7.0; 3]),
    ])
    .unwrap();
    let error = analyze(&table, "y", &AnalysisOptions::default()).unwrap_err();
    let AnalyzeError::NoFactors { notes, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(notes, ["`k` never varies and was left out"]);
}

#[test]
fn text_in_a_numeric_column_is_refused_with_its_row() {
    let mut builder = Table::builder(["x", "y"]);
    for row in [["1", "2"], ["2", "3"], ["1", "oops"], ["2", "5"]] {
        builder.push_row(row).unwrap();
    }
    let table = builder.finish().unwrap();
    check_error(
        &table,
        "y",
        None,
        "column `y` holds numbers, but row 3 has `oops`; write `C(y)` if its values are categories",
    );
}
