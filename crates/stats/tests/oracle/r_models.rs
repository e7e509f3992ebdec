//! Aliased models, empty cells, term order, contrasts, lack of fit and Box–Cox
//! against R.

use paceline_stats::anova::{Anova, AnovaType};
use paceline_stats::box_cox::BoxCox;
use paceline_stats::fit::{FitOptions, fit};
use paceline_stats::formula::{ModelFrame, TermOrder};
use paceline_stats::lack_of_fit::LackOfFit;
use paceline_stats::matrix::{Contrast, ModelMatrix};
use serde_json::Value;

use crate::support::{Comparison, frame, oracle, require_none, table};

fn case_frame(case: &Value, sets: &Value, order: TermOrder) -> ModelFrame {
    let data = case["data"].as_str().unwrap();
    frame(
        case["formula"].as_str().unwrap(),
        &table(&sets[data]),
        order,
    )
}

fn comparison(case: &Value, tolerance: f64) -> Comparison {
    Comparison::new(&format!("{}: {}", case["data"], case["formula"]), tolerance)
}

#[test]
fn anova_tables_of_all_types_agree_with_r() {
    let sets = oracle("datasets.json");
    let mut failures = Vec::new();
    for case in oracle("r_models.json")["anovas"].as_array().unwrap() {
        let order = match case["by_degree"].as_bool().unwrap() {
            true => TermOrder::ByDegree,
            false => TermOrder::Written,
        };
        let kind = match case["kind"].as_str().unwrap() {
            "1" => AnovaType::I,
            "2" => AnovaType::II,
            _ => AnovaType::III,
        };
        let frame = case_frame(case, &sets, order);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let fit = fit(&matrix, &FitOptions::default()).unwrap();
        let table = Anova::of(&fit, kind).unwrap();
        // A column that differs from a combination of others by 1e-6 of its
        // size costs R ten digits of that term.
        let tolerance = match case["data"].as_str().unwrap() {
            "near_singular" => 1e-6,
            _ => 1e-9,
        };
        let mut compare = comparison(case, tolerance);
        let mut tested = 0;
        for row in case["rows"].as_array().unwrap() {
            let number = |key: &str| row[key].as_f64().unwrap();
            let term = row["term"].as_str().unwrap();
            if term == "Residuals" {
                assert_eq!(table.residual.df as f64, number("df"));
                compare.close("residual", table.residual.sum_of_squares, number("sum_sq"));
                continue;
            }
            let ours = match term {
                "(Intercept)" => table.intercept.as_ref().unwrap(),
                _ => {
                    tested += 1;
                    table
                        .rows
                        .iter()
                        .find(|ours| same_term(&ours.term, term))
                        .unwrap_or_else(|| panic!("{}: no row {term}", case["formula"]))
                }
            };
            assert_eq!(ours.df as f64, number("df"), "{}: {term}", case["formula"]);
            let error = table.residual.mean_square;
            compare.scaled(term, ours.sum_of_squares, number("sum_sq"), error);
            let test = ours.test.unwrap();
            compare.scaled(&format!("F of {term}"), test.f, number("f"), 1.0);
            compare.close(&format!("p of {term}"), test.p, number("p"));
        }
        // R leaves out terms without degrees of freedom; we list them as such.
        let left = table.rows.iter().filter(|row| row.df > 0).count();
        assert_eq!(left, tested, "{}", case["formula"]);
        failures.extend(compare.finish());
    }
    require_none(failures);
}

fn same_term(a: &str, b: &str) -> bool {
    let sorted = |term: &str| {
        let mut parts: Vec<String> = term.split(':').map(str::to_owned).collect();
        parts.sort();
        parts
    };
    sorted(a) == sorted(b)
}

#[test]
fn aliased_columns_are_those_r_sets_aside() {
    let sets = oracle("datasets.json");
    let models = oracle("r_models.json");
    let numeric = models["anovas"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["data"] == "collinear");
    for case in numeric {
        let frame = case_frame(case, &sets, TermOrder::Written);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let fit = fit(&matrix, &FitOptions::default()).unwrap();
        let ours: Vec<&str> = fit.aliases().iter().map(|a| a.column.as_str()).collect();
        let theirs: Vec<&str> = match &case["aliased"] {
            Value::Array(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
            name => vec![name.as_str().unwrap()],
        };
        assert_eq!(ours, theirs, "{}", case["formula"]);
        let mut compare = comparison(case, 1e-9);
        for (name, estimate) in case["coefficients"].as_object().unwrap() {
            let name = name.replace("(Intercept)", "Intercept");
            let ours = fit.coefficient(&name).unwrap();
            let expected = estimate.as_f64().unwrap();
            compare.scaled(&name, ours.estimate, expected, ours.standard_error);
        }
        require_none(compare.finish());
    }
}

#[test]
fn an_alias_names_what_it_equals() {
    let sets = oracle("datasets.json");
    let data = table(&sets["collinear"]);
    let check = |formula: &str, expected: &[&str]| {
        let frame = frame(formula, &data, TermOrder::Written);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let fit = fit(&matrix, &FitOptions::default()).unwrap();
        let ours: Vec<String> = fit
            .aliases()
            .iter()
            .map(|alias| format!("{} = {}", alias.column, alias.combination()))
            .collect();
        assert_eq!(ours, expected);
        assert_eq!(fit.condition_number(), f64::INFINITY);
    };
    check("y ~ x1 + x2 + x3", &["x3 = x1 + x2"]);
    check("y ~ x3 + x1 + x4 + x2", &["x4 = 2·x1", "x2 = x3 - x1"]);
    check("y ~ x4 + x1", &["x1 = 0.5·x4"]);
}

#[test]
fn lack_of_fit_agrees_with_r() {
    let sets = oracle("datasets.json");
    let mut failures = Vec::new();
    for case in oracle("r_models.json")["lack_of_fit"].as_array().unwrap() {
        let frame = case_frame(case, &sets, TermOrder::Written);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let fit = fit(&matrix, &FitOptions::default()).unwrap();
        let test = LackOfFit::of(&fit).unwrap();
        let number = |key: &str| case[key].as_f64().unwrap();
        assert_eq!(test.df as f64, number("df"));
        assert_eq!(test.pure_df as f64, number("pure_df"));
        let mut compare = comparison(case, 1e-9);
        compare.close("lack", test.sum_of_squares, number("sum_sq"));
        compare.close("pure", test.pure_sum_of_squares, number("pure_sum_sq"));
        compare.close("f", test.f, number("f"));
        compare.close("p", test.p, number("p"));
        failures.extend(compare.finish());
    }
    require_none(failures);
}

#[test]
fn a_saturated_model_has_no_lack_of_fit() {
    let sets = oracle("datasets.json");
    let frame = frame("y ~ C(x)", &table(&sets["curve"]), TermOrder::Written);
    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
    let fit = fit(&matrix, &FitOptions::default()).unwrap();
    assert_eq!(LackOfFit::of(&fit), None);
}

#[test]
fn box_cox_agrees_with_a_direct_search_in_r() {
    let sets = oracle("datasets.json");
    let mut failures = Vec::new();
    for case in oracle("r_models.json")["box_cox"].as_array().unwrap() {
        let frame = case_frame(case, &sets, TermOrder::Written);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let fit = fit(&matrix, &FitOptions::default()).unwrap();
        let box_cox = BoxCox::of(&fit).unwrap();
        let number = |key: &str| case[key].as_f64().unwrap();
        // A flat maximum is found to the square root of the precision.
        let mut compare = comparison(case, 1e-6);
        compare.scaled("lambda", box_cox.lambda, number("lambda"), 1.0);
        compare.scaled("lower", box_cox.lower, number("lower"), 1.0);
        compare.scaled("upper", box_cox.upper, number("upper"), 1.0);
        compare.close("llf", box_cox.log_likelihood, number("log_likelihood"));
        failures.extend(compare.finish());
    }
    require_none(failures);
}

#[test]
fn planned_contrasts_agree_with_car() {
    let sets = oracle("datasets.json");
    let mut failures = Vec::new();
    for case in oracle("r_models.json")["contrasts"].as_array().unwrap() {
        let frame = case_frame(case, &sets, TermOrder::Written);
        let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
        let fit = fit(&matrix, &FitOptions::default()).unwrap();
        let names: Vec<String> = case["names"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| patsy_name(name.as_str().unwrap()))
            .collect();
        let contrasts: Vec<Vec<(&str, f64)>> = case["weights"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let weights = row.as_array().unwrap().iter().map(|w| w.as_f64().unwrap());
                names.iter().map(String::as_str).zip(weights).collect()
            })
            .collect();
        let first = fit.contrast(&contrasts[0]).unwrap();
        let joint = fit.joint_test(&contrasts).unwrap();
        let number = |key: &str| case[key].as_f64().unwrap();
        assert_eq!(joint.df as f64, number("df"));
        let mut compare = comparison(case, 1e-9);
        compare.scaled("estimate", first.estimate, number("estimate"), number("se"));
        compare.close("se", first.standard_error, number("se"));
        compare.close("f", joint.f, number("f"));
        compare.close("p", joint.p, number("p"));
        failures.extend(compare.finish());
    }
    require_none(failures);
}

/// R writes the level right after the variable: `aa2` is level a2 of a.
fn patsy_name(name: &str) -> String {
    let part = |part: &str| match part.chars().next() {
        Some(variable @ ('a' | 'b' | 'c' | 'g')) if part.len() > 2 && part != "batch" => {
            format!("{variable}[T.{}]", &part[1..])
        }
        _ => part.to_owned(),
    };
    name.split(':').map(part).collect::<Vec<_>>().join(":")
}
