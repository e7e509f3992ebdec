//! Fits, ANOVA tables, variance inflation and influence against statsmodels.

use paceline_stats::anova::{Anova, AnovaRow, AnovaType};
use paceline_stats::collinearity::variance_inflation;
use paceline_stats::fit::{Fit, FitOptions, Precision, fit};
use paceline_stats::formula::TermOrder;
use paceline_stats::influence::Influence;
use paceline_stats::matrix::{Contrast, ModelMatrix};
use serde_json::Value;

use crate::support::{Comparison, frame, oracle, require_none, table};

/// Where statsmodels itself is no better: responses around 1e7 with effects of
/// size one cost it seven digits.
fn tolerance(case: &Value) -> f64 {
    match case["data"].as_str().unwrap() {
        "large_offset" => 1e-6,
        _ => 1e-9,
    }
}

fn check(precision: Precision, least: usize) {
    let sets = oracle("datasets.json");
    let models = oracle("linear_models.json");
    let cases = models["cases"].as_array().unwrap();
    assert!(cases.len() >= least, "{} cases", cases.len());
    let mut failures = Vec::new();
    for case in cases {
        let data = case["data"].as_str().unwrap();
        let formula = case["formula"].as_str().unwrap();
        let frame = frame(formula, &table(&sets[data]), TermOrder::ByDegree);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let options = FitOptions {
            precision,
            ..FitOptions::default()
        };
        let fit = fit(&matrix, &options).unwrap_or_else(|error| panic!("{formula}: {error}"));
        let mut compare = Comparison::new(&format!("{data}: {formula}"), tolerance(case));
        summary(&mut compare, &fit, case);
        coefficients(&mut compare, &fit, case);
        anova(&mut compare, &fit, case);
        diagnostics(&mut compare, &fit, case);
        failures.extend(compare.finish());
    }
    require_none(failures);
}

fn summary(compare: &mut Comparison, fit: &Fit<'_>, case: &Value) {
    let number = |key: &str| case[key].as_f64().unwrap();
    assert_eq!(fit.observations() as f64, number("observations"));
    assert_eq!(fit.residual_df() as f64, number("residual_df"));
    assert_eq!(fit.model_df() as f64, number("model_df"));
    compare.close("r²", fit.r_squared(), number("r_squared"));
    compare.close(
        "adjusted r²",
        fit.adjusted_r_squared(),
        number("adjusted_r_squared"),
    );
    let (f, p) = fit.f_test().unwrap();
    compare.close("f", f, number("f"));
    compare.close("p of f", p, number("f_p"));
    compare.close("aic", fit.aic(), number("aic"));
    compare.close("bic", fit.bic(), number("bic"));
    compare.close("llf", fit.log_likelihood(), number("log_likelihood"));
    compare.close("rss", fit.residual_sum_of_squares(), number("rss"));
    compare.close(
        "condition number",
        fit.condition_number(),
        number("condition_number"),
    );
}

fn coefficients(compare: &mut Comparison, fit: &Fit<'_>, case: &Value) {
    let expected = case["coefficients"].as_array().unwrap();
    assert_eq!(expected.len(), fit.coefficients().len());
    for coefficient in expected {
        let name = coefficient["name"].as_str().unwrap();
        let number = |key: &str| coefficient[key].as_f64().unwrap();
        let ours = find(fit, name);
        let ours = &fit.coefficients()[ours];
        let se = number("se");
        compare.scaled(name, ours.estimate, number("estimate"), se);
        compare.close(&format!("se of {name}"), ours.standard_error, se);
        compare.scaled(&format!("t of {name}"), ours.t, number("t"), 1.0);
        compare.close(&format!("p of {name}"), ours.p, number("p"));
        compare.scaled(&format!("lower of {name}"), ours.lower, number("lower"), se);
        compare.scaled(&format!("upper of {name}"), ours.upper, number("upper"), se);
    }
}

/// patsy writes the powers of Python, and levels of numbers with a decimal.
fn same_name(ours: &str, theirs: &str) -> bool {
    let canonical = |name: &str| {
        let mut parts: Vec<String> = name
            .split(':')
            .map(|part| part.replace("**", "^").replace(' ', "").replace(".0]", "]"))
            .collect();
        parts.sort();
        parts
    };
    canonical(ours) == canonical(theirs)
}

fn find(fit: &Fit<'_>, name: &str) -> usize {
    fit.coefficients()
        .iter()
        .position(|ours| same_name(&ours.name, name))
        .unwrap_or_else(|| panic!("no coefficient {name} in {:?}", fit.coefficients()))
}

fn anova(compare: &mut Comparison, fit: &Fit<'_>, case: &Value) {
    for (kind, rows) in case["anova"].as_object().unwrap() {
        let kind = match kind.as_str() {
            "1" => AnovaType::I,
            "2" => AnovaType::II,
            _ => AnovaType::III,
        };
        let table = Anova::of(fit, kind).unwrap();
        for row in rows.as_array().unwrap() {
            let term = row["term"].as_str().unwrap();
            let number = |key: &str| row[key].as_f64().unwrap();
            let what = |field: &str| format!("type {kind:?} {field} of {term}");
            if term == "Residual" {
                assert_eq!(table.residual.df as f64, number("df"));
                compare.close(&what("SS"), table.residual.sum_of_squares, number("sum_sq"));
                continue;
            }
            let ours: &AnovaRow = match term {
                "Intercept" => table.intercept.as_ref().unwrap(),
                _ => table
                    .rows
                    .iter()
                    .find(|ours| same_name(&ours.term, term))
                    .unwrap_or_else(|| panic!("no row {term} in {:?}", table.rows)),
            };
            assert_eq!(ours.df as f64, number("df"), "{}", what("df"));
            // A sum of squares far below the error is a difference of numbers
            // of the error's size in any software.
            let error = table.residual.mean_square;
            let test = ours.test.unwrap();
            compare.scaled(&what("SS"), ours.sum_of_squares, number("sum_sq"), error);
            compare.scaled(&what("F"), test.f, number("f"), 1.0);
            compare.close(&what("p"), test.p, number("p"));
        }
    }
}

fn diagnostics(compare: &mut Comparison, fit: &Fit<'_>, case: &Value) {
    let numbers = |key: &str| -> Vec<Option<f64>> {
        let values = case[key].as_array().unwrap();
        values.iter().map(Value::as_f64).collect()
    };
    if case.get("vif").is_some() {
        let ours = variance_inflation(fit);
        let names: Vec<&str> = case["coefficients"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["name"].as_str().unwrap())
            .collect();
        for (name, expected) in names.iter().zip(numbers("vif")) {
            let factor = ours[find(fit, name)].factor;
            compare.close(&format!("vif of {name}"), factor, expected.unwrap());
        }
    }
    let influence = Influence::of(fit);
    let pairs = [
        ("leverage", &influence.leverage),
        ("cooks", &influence.cooks_distance),
        ("studentized", &influence.studentized),
    ];
    for (key, ours) in pairs {
        for (row, (ours, expected)) in ours.iter().zip(numbers(key)).enumerate() {
            if let Some(expected) = expected {
                // Residuals near zero are differences of fitted values.
                let scale = if key == "leverage" { 0.0 } else { 1e-3 };
                compare.scaled(&format!("{key} of row {row}"), *ours, expected, scale);
            }
        }
    }
}

#[test]
fn statsmodels_is_reproduced_in_extended_precision() {
    check(Precision::Extended, 56);
}

#[test]
fn statsmodels_is_reproduced_in_double_precision() {
    check(Precision::Double, 56);
}
