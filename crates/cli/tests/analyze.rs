//! `paceline analyze` as a user types it: the real binary on real files.

use std::path::Path;
use std::process::{Command, Output};

const TABLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../stats/oracle/spark_bigdl_cost.csv"
);
const PAPER: &str = "cost ~ nodes + executors + cores + epochs + learning_rate \
    + epochs:learning_rate + batch_size + epochs:batch_size + learning_rate:batch_size \
    + epochs:learning_rate:batch_size";

fn paceline(words: &[&str]) -> Output {
    #[expect(
        clippy::disallowed_methods,
        reason = "an integration test starts the real binary"
    )]
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command
        .args(words)
        .output()
        .expect("the binary was built for this test")
}

fn stdout(words: &[&str]) -> String {
    let output = paceline(words);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
    text(output.stdout)
}

/// Analyses this table and expects the user's error with this text in it.
fn check_refused(content: &[u8], more: &[&str], expected: &str) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("table.csv");
    std::fs::write(&path, content).expect("the table is written");
    refused(&path, more, expected);
}

fn refused(path: &Path, more: &[&str], expected: &str) {
    let path = path.to_str().expect("a path of a test is UTF-8");
    let mut words = vec!["analyze", path];
    words.extend(more);
    if !more.contains(&"--response") {
        words.extend(["--response", "y"]);
    }
    let output = paceline(&words);
    let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(output.stdout.is_empty(), "stdout is for results alone");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(
        stderr.contains(expected),
        "`{expected}` is not in:\n{stderr}"
    );
}

#[test]
fn the_papers_table_is_reproduced_to_the_last_printed_digit() {
    let json = stdout(&[
        "analyze",
        TABLE,
        "--response",
        "cost",
        "--formula",
        PAPER,
        "--type",
        "1",
        "--written-order",
        "--format",
        "json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("the output is JSON");
    let rows = value["anova"]["terms"]
        .as_array()
        .expect("the terms are a list");
    let row = |name: &str| {
        rows.iter()
            .find(|row| row["term"] == name)
            .unwrap_or_else(|| panic!("{name} is among the terms"))
    };
    let close = |value: &serde_json::Value, expected: f64, tolerance: f64| {
        let value = value.as_f64().expect("a number");
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} against {expected}"
        );
    };
    let rate = row("learning_rate");
    close(&rate["sum_of_squares"], 0.065_909, 5e-7);
    close(&rate["f"], 64.030_983, 5e-7);
    close(&rate["p"], 2.993_076e-14, 5e-21);
    close(&rate["variation_percent"], 13.268_775, 5e-7);
    let residual = &value["anova"]["residual"];
    assert_eq!(residual["df"], 289);
    close(&residual["sum_of_squares"], 0.297_477, 5e-7);
    close(&residual["variation_percent"], 59.887_820, 5e-7);
}

#[test]
fn text_fits_a_hundred_columns_and_ends_with_what_it_means() {
    let text = stdout(&["analyze", TABLE, "--response", "cost", "--formula", PAPER]);
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(text.contains("What this means"));
    assert!(!text.contains('\x1b'), "a pipe gets no escape sequences");
}

#[test]
fn html_goes_to_the_file_that_was_asked_for() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let out = folder.path().join("analysis.html");
    let out = out.to_str().expect("a path of a test is UTF-8");
    stdout(&[
        "analyze",
        TABLE,
        "--response",
        "cost",
        "--by",
        "nodes",
        "--format",
        "html",
        "--out",
        out,
    ]);
    let html = std::fs::read_to_string(out).expect("the page is there");
    assert!(html.starts_with("<!DOCTYPE html>"));
}

#[test]
fn runs_of_a_study_that_are_not_done_are_left_out_and_counted() {
    let study = tempfile::tempdir().expect("a temporary directory");
    let mut rows = "a,b,y,outcome\n".to_owned();
    for (i, (a, b)) in [(1, 1), (1, 2), (2, 1), (2, 2)]
        .into_iter()
        .cycle()
        .take(16)
        .enumerate()
    {
        let y = a * 10 + b + i32::try_from(i * 7 % 5).expect("a small number");
        let outcome = if i == 3 { "timed out" } else { "done" };
        rows.push_str(&format!("{a},{b},{y},{outcome}\n"));
    }
    std::fs::write(study.path().join("study.toml"), "").expect("the study is written");
    std::fs::write(study.path().join("table.csv"), rows).expect("the table is written");
    let table = study.path().join("table.csv");
    let path = table.to_str().expect("a path of a test is UTF-8");
    let text = stdout(&["analyze", path, "--response", "y", "--by", "a,b"]);
    assert!(text.contains("1 run that is not done"), "{text}");
}

#[test]
fn a_missing_file_is_the_users_error() {
    refused(
        Path::new("no/such/table.csv"),
        &[],
        "there is no file or directory",
    );
}

#[test]
fn a_directory_without_a_study_is_named() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    refused(folder.path(), &[], "there is no study in");
}

#[test]
fn an_empty_file_is_called_empty() {
    check_refused(b"", &[], "is empty");
    check_refused(b"x,y\n", &[], "has a header but no rows");
}

#[test]
fn a_missing_column_comes_with_the_nearest_name() {
    let table = b"workers,time\n1,5\n2,3\n1,6\n2,2\n";
    check_refused(table, &["--response", "tiem"], "did you mean `time`?");
    check_refused(
        table,
        &["--response", "time", "--formula", "time ~ worker"],
        "did you mean `workers`?",
    );
    check_refused(
        table,
        &["--response", "time", "--by", "worker"],
        "did you mean `workers`?",
    );
}

#[test]
fn text_among_numbers_is_named_by_line_column_and_value() {
    check_refused(
        b"x,y\n1,5\n2,abc\n1,6\n2,2\n",
        &[],
        "line 3: `abc` in column `y` is not a number",
    );
    check_refused(
        b"x,y\n1,5\n2,3\n1,6\nabc,2\n",
        &["--formula", "y ~ x"],
        "line 5: `abc` in column `x` is not a number",
    );
}

#[test]
fn an_infinite_value_is_named_by_line() {
    check_refused(
        b"x,y\n1,5\n2,inf\n1,6\n2,2\n",
        &["--formula", "y ~ x"],
        "line 3: `y` is inf",
    );
}

#[test]
fn a_ragged_row_is_named_by_line() {
    check_refused(
        b"x,y\n1,5\n2\n",
        &[],
        "line 3: 1 cells where the header has 2",
    );
}

#[test]
fn a_factor_of_one_level_is_refused() {
    check_refused(
        b"x,y\n1,5\n1,3\n1,6\n1,2\n",
        &["--formula", "y ~ x"],
        "`x` has one level only",
    );
}

#[test]
fn a_broken_formula_shows_where() {
    check_refused(b"x,y\n1,5\n2,3\n", &["--formula", "y ~ x +"], "y ~ x +");
}

#[test]
fn a_response_that_never_varies_is_refused() {
    check_refused(
        b"x,y\n1,5\n2,5\n1,5\n2,5\n1,5\n2,5\n",
        &["--formula", "y ~ x"],
        "is 5 in every row",
    );
}

#[test]
fn a_drift_is_found_when_the_order_of_the_runs_is_named() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("table.csv");
    // The response grows with time and hardly with the factor.
    let rows: String = (0..24)
        .map(|i| format!("{},{},{}\n", 23 - i, i % 2, 10.0 + 0.5 * f64::from(23 - i)))
        .collect();
    std::fs::write(&path, format!("when,x,y\n{rows}")).expect("the table is written");
    let path = path.to_str().expect("a plain path");
    let words = ["analyze", path, "--response", "y", "--by", "x"];
    let unknown = stdout(&words);
    assert!(
        unknown.contains("not checked runs are independent"),
        "{unknown}"
    );
    let known = stdout(&[&words[..], &["--order", "when"]].concat());
    assert!(
        known.contains("VIOLATED    runs are independent"),
        "{known}"
    );
    let output = paceline(&[&words[..], &["--order", "whne"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`when`"), "the nearest name is told: {said}");
}

#[test]
fn a_formula_of_a_transformed_response_needs_no_other_name() {
    let text = stdout(&["analyze", TABLE, "--formula", "log(cost) ~ nodes + cores"]);
    assert!(text.starts_with("log(cost) of 300 runs"), "{text}");
    assert!(!text.contains("C("), "{text}");
}

#[test]
fn json_names_the_correction_of_its_adjusted_p_values() {
    let json = stdout(&[
        "analyze",
        TABLE,
        "--response",
        "cost",
        "--by",
        "nodes,cores",
        "--format",
        "json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("the output is JSON");
    let result = &value["recommendation"]["result"]["anova"]["terms"];
    let terms = match result.as_array() {
        Some(terms) => terms,
        None => value["anova"]["terms"]
            .as_array()
            .expect("the terms are a list"),
    };
    for term in terms {
        assert!(term["p_adjusted"].is_number(), "{term}");
        assert!(term["adjustment"].is_string(), "{term}");
    }
    let claims = value["claims"].as_array().expect("the claims are a list");
    let findings = value["findings"]
        .as_array()
        .expect("the findings are a list");
    assert_eq!(claims.len(), findings.len());
}
