//! What the formula language accepts, what it means, and how it points at errors.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_stats::formula::{Formula, FrameOptions, MissingPolicy, TermOrder};
use paceline_stats::table::{Column, Table};

fn table() -> Table {
    let mut builder = Table::builder(["y", "a", "b", "c", "net", "batch size", "mixed"]);
    for row in [
        ["1", "1", "0.5", "2", "lan", "64", "1"],
        ["2", "2", "1.5", "3", "wifi", "128", "2"],
        ["4", "1", "2.5", "5", "lan", "64", "3"],
        ["3", "2", "-1", "7", "wifi", "256", "4s"],
    ] {
        builder.push_row(row).unwrap();
    }
    builder.finish().unwrap()
}

/// The terms of a formula, the intercept as `1`.
fn check(formula: &str, expected: &[&str]) {
    let frame = Formula::parse(formula)
        .unwrap_or_else(|error| panic!("{error}"))
        .frame(&table(), &FrameOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut terms: Vec<&str> = frame.terms().iter().map(|t| t.label.as_str()).collect();
    if frame.has_intercept() {
        terms.insert(0, "1");
    }
    assert_eq!(terms, expected, "{formula}");
}

/// The text of the error of a formula.
fn check_error(formula: &str, expected: &str) {
    let error = match Formula::parse(formula) {
        Err(error) => error.to_string(),
        Ok(parsed) => parsed
            .frame(&table(), &FrameOptions::default())
            .expect_err(formula)
            .to_string(),
    };
    assert_eq!(error, expected, "{formula}");
}

#[test]
fn crossing_expands_in_written_order() {
    check("y ~ a", &["1", "a"]);
    check("y ~ a*b", &["1", "a", "b", "a:b"]);
    check(
        "y ~ a*b*c",
        &["1", "a", "b", "a:b", "c", "a:c", "b:c", "a:b:c"],
    );
    check("y ~ a:b + a", &["1", "a:b", "a"]);
    check("y ~ a + a + a:a", &["1", "a"]);
    check("y ~ a:b + b:a", &["1", "a:b"]);
    check("y ~ a/b", &["1", "a", "a:b"]);
    check("y ~ (a + b)/c", &["1", "a", "b", "a:b:c"]);
}

#[test]
fn powers_stop_at_their_order() {
    check(
        "y ~ (a + b + c)^2",
        &["1", "a", "b", "c", "a:b", "a:c", "b:c"],
    );
    check("y ~ (a + b)**3", &["1", "a", "b", "a:b"]);
    check("y ~ a^2", &["1", "a"]);
}

#[test]
fn terms_can_be_taken_away() {
    check(
        "y ~ a*b*c - a:b:c - c",
        &["1", "a", "b", "a:b", "a:c", "b:c"],
    );
    check(
        "y ~ (a + b + c)^2 - a:b",
        &["1", "a", "b", "c", "a:c", "b:c"],
    );
}

#[test]
fn the_intercept_comes_and_goes() {
    check("y ~ 1", &["1"]);
    check("y ~ a - 1", &["a"]);
    check("y ~ a + 0", &["a"]);
    check("y ~ 0 + a", &["a"]);
    check("y ~ -1 + a", &["a"]);
    check("y ~ a - 1 + 1", &["1", "a"]);
    check("y ~ a − 1", &["a"]);
}

#[test]
fn functions_and_arithmetic_are_variables() {
    check("log(y) ~ log(a)", &["1", "log(a)"]);
    check("y ~ I(a^2) + sqrt(c)", &["1", "I(a^2)", "sqrt(c)"]);
    check("y ~ I(a + b * 2) : c", &["1", "I(a+b*2):c"]);
    check("y/2 + 1 ~ C(a)", &["1", "C(a)"]);
    check(
        "y ~ C(net, Sum)*a",
        &["1", "C(net,Sum)", "a", "C(net,Sum):a"],
    );
}

#[test]
fn names_with_blanks_are_quoted() {
    check("y ~ `batch size`", &["1", "batch size"]);
    check(
        "y ~ Q(\"batch size\") + log2(`batch size`)",
        &["1", "batch size", "log2(`batch size`)"],
    );
    check("y ~ C(`batch size`)", &["1", "C(`batch size`)"]);
}

#[test]
fn a_dot_stands_for_every_other_column() {
    check(
        "y ~ C(mixed) + . - mixed",
        &["1", "C(mixed)", "a", "b", "c", "net", "batch size"],
    );
}

#[test]
fn order_by_degree_sorts_as_r_does() {
    let options = FrameOptions {
        order: TermOrder::ByDegree,
        ..FrameOptions::default()
    };
    let frame = Formula::parse("y ~ a*b + c")
        .unwrap()
        .frame(&table(), &options)
        .unwrap();
    let labels: Vec<&str> = frame.terms().iter().map(|t| t.label.as_str()).collect();
    assert_eq!(labels, ["a", "b", "c", "a:b"]);
}

#[test]
fn errors_point_at_the_offending_token() {
    check_error(
        "y ~ a + netw",
        "there is no column `netw`; did you mean `net`?\n  y ~ a + netw\n          ^^^^",
    );
    check_error(
        "y ~ lgo(a)",
        "unknown function `lgo`; did you mean `log`?\n  y ~ lgo(a)\n      ^^^",
    );
    check_error(
        "y ~ a + 2*b",
        "a number among terms is 0 or 1 (the intercept); write `I(…)` for arithmetic\n  \
         y ~ a + 2*b\n          ^",
    );
    check_error(
        "y ~ (a + b",
        "this parenthesis is not closed\n  y ~ (a + b\n      ^",
    );
    check_error(
        "y ~ a +",
        "expected a term, found the end of the formula\n  y ~ a +\n         ^",
    );
    check_error(
        "y ~ a ~ b",
        "a formula has only one `~`\n  y ~ a ~ b\n        ^",
    );
    check_error(
        "y a",
        "a `~` is missing between the response and the terms\n  y a\n  ^^^",
    );
    check_error(
        "y ~ a $ b",
        "`$` has no meaning in a formula\n  y ~ a $ b\n        ^",
    );
    check_error(
        "y ~ (a+b)^0",
        "the power of a group of terms is a whole number from 1 to 12\n  \
         y ~ (a+b)^0\n            ^",
    );
    check_error(
        "y ~ a + y",
        "the response `y` cannot explain itself\n  y ~ a + y\n          ^",
    );
}

#[test]
fn values_that_cannot_be_used_name_their_row() {
    check_error(
        "y ~ log(b)",
        "row 4: `log(b)` is NaN\n  y ~ log(b)\n      ^^^^^^",
    );
    check_error(
        "y ~ mixed",
        "column `mixed` holds numbers, but row 4 has `4s`; \
         write `C(mixed)` if its values are categories\n  y ~ mixed\n      ^^^^^",
    );
    check_error(
        "net ~ a",
        "column `net` holds categories and cannot be used as a number\n  net ~ a\n  ^^^",
    );
}

#[test]
fn carets_count_characters_not_bytes() {
    let error = Formula::parse("größe ~ ä + $").unwrap_err();
    assert_eq!(error.picture(), "  größe ~ ä + $\n              ^");
}

#[test]
fn incomplete_rows_are_dropped_and_counted_or_refused() {
    let table = Table::new(vec![
        Column::numeric("y", vec![1.0, f64::NAN, 3.0, 4.0]),
        Column::numeric("a", vec![1.0, 2.0, f64::NAN, 5.0]),
        Column::numeric("unused", vec![f64::NAN; 4]),
    ])
    .unwrap();
    let formula = Formula::parse("y ~ a").unwrap();
    let frame = formula.frame(&table, &FrameOptions::default()).unwrap();
    assert_eq!((frame.len(), frame.dropped()), (2, 2));
    assert_eq!(frame.table_rows(), [0, 3]);
    let refuse = FrameOptions {
        missing: MissingPolicy::Refuse,
        ..FrameOptions::default()
    };
    let error = formula.frame(&table, &refuse).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 2 misses a value of `y`\n  y ~ a\n  ^"
    );
}

#[test]
fn a_factor_of_one_level_is_refused() {
    let table = Table::new(vec![
        Column::numeric("y", vec![1.0, 2.0]),
        Column::numeric("a", vec![7.0, 7.0]),
        Column::from_labels("k", &["x", "x"]),
    ])
    .unwrap();
    let message = |formula: &str| {
        let formula = Formula::parse(formula).unwrap();
        let error = formula.frame(&table, &FrameOptions::default()).unwrap_err();
        error.problem().to_string()
    };
    assert_eq!(
        message("y ~ a"),
        "`a` has one level only (7); a term needs at least two"
    );
    assert_eq!(
        message("y ~ k"),
        "`k` has one level only (x); a term needs at least two"
    );
}

#[test]
fn an_infinite_value_is_refused_with_its_row() {
    let table = Table::new(vec![
        Column::numeric("y", vec![1.0, f64::INFINITY, 2.0]),
        Column::numeric("a", vec![1.0, 2.0, 3.0]),
    ])
    .unwrap();
    let formula = Formula::parse("y ~ a").unwrap();
    let error = formula.frame(&table, &FrameOptions::default()).unwrap_err();
    assert_eq!(error.problem().to_string(), "row 2: `y` is inf");
}

#[test]
fn a_term_too_large_for_any_table_is_refused_before_it_is_built() {
    let columns = (0..8)
        .map(|k| Column::numeric(format!("x{k}"), (0..50).map(f64::from).collect()))
        .chain([Column::numeric("y", (0..50).map(f64::from).collect())]);
    let table = Table::new(columns.collect()).unwrap();
    let formula = Formula::parse("y ~ C(x0):C(x1):C(x2):C(x3):C(x4):C(x5)").unwrap();
    let error = formula.frame(&table, &FrameOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("more than 2048 columns"),
        "{error}"
    );
}
