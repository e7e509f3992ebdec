//! Adjusted means, their pairs, slopes, robust errors and squares against R's
//! `emmeans` and matrix arithmetic.

use paceline_stats::analysis::{AnalysisOptions, analyze};
use paceline_stats::fit::{Fit, FitOptions, fit};
use paceline_stats::formula::{ModelFrame, TermOrder, VariableData};
use paceline_stats::influence::Influence;
use paceline_stats::marginal::{Covariance, Margins, Setting};
use paceline_stats::matrix::{Contrast, ModelMatrix};
use paceline_stats::table::Table;
use serde_json::Value;

use crate::support::{Comparison, frame, oracle, require_none, table};

fn data(name: &str) -> Table {
    let margins = oracle("margins.json");
    match margins["datasets"].get(name) {
        Some(columns) => table(columns),
        None => table(&oracle("datasets.json")[name]),
    }
}

fn check(case: &Value, run: impl Fn(&Fit<'_>, &mut Comparison)) -> Vec<String> {
    let name = case["data"].as_str().unwrap();
    let formula = case["formula"].as_str().unwrap();
    let frame = frame(formula, &data(name), TermOrder::ByDegree);
    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
    let fit = fit(&matrix, &FitOptions::default()).unwrap();
    let mut compare = Comparison::new(&format!("{name}: {formula}"), 1e-9);
    run(&fit, &mut compare);
    compare.finish()
}

/// The setting of a factor or number by name.
fn setting(frame: &ModelFrame, name: &str, value: &str) -> Setting {
    for (variable, own) in frame.variables().iter().enumerate() {
        if own.name() != name {
            continue;
        }
        if let VariableData::Categorical { levels, .. } = own.data() {
            let level = levels.iter().position(|level| level == value).unwrap();
            return Setting::Level { variable, level };
        }
    }
    Setting::Value {
        column: name.to_owned(),
        value: value.parse().unwrap(),
    }
}

fn compare_mean(margins: &Margins<'_>, cell: &Value, factors: &[Value], compare: &mut Comparison) {
    let frame = margins.fit().matrix().frame();
    let values = cell["values"].as_array().unwrap();
    let at: Vec<Setting> = factors
        .iter()
        .zip(values)
        .map(|(factor, value)| setting(frame, factor.as_str().unwrap(), value.as_str().unwrap()))
        .collect();
    let ours = margins.mean(&at);
    let Some(expected) = cell["mean"].as_f64() else {
        assert!(ours.is_none(), "R says this is not estimable: {cell}");
        return;
    };
    let ours = ours.unwrap_or_else(|| panic!("R estimates {cell}"));
    compare.close("mean", ours.estimate, expected);
    compare.close("se", ours.standard_error, cell["se"].as_f64().unwrap());
    compare.close("lower", ours.lower, cell["lower"].as_f64().unwrap());
    compare.close("upper", ours.upper, cell["upper"].as_f64().unwrap());
}

#[test]
fn adjusted_means_are_those_of_emmeans() {
    let mut failures = Vec::new();
    for case in oracle("margins.json")["means"].as_array().unwrap() {
        failures.extend(check(case, |fit, compare| {
            let margins = Margins::new(fit, Covariance::Common);
            let factors = case["factors"].as_array().unwrap();
            for cell in case["cells"].as_array().unwrap() {
                compare_mean(&margins, cell, factors, compare);
            }
        }));
    }
    require_none(failures);
}

#[test]
fn robust_errors_are_hc3() {
    let mut failures = Vec::new();
    for case in oracle("margins.json")["robust"].as_array().unwrap() {
        failures.extend(check(case, |fit, compare| {
            let covariance = Covariance::robust(fit, &Influence::of(fit)).unwrap();
            let margins = Margins::new(fit, covariance);
            for cell in case["cells"].as_array().unwrap() {
                compare_mean(&margins, cell, &[case["factor"].clone()], compare);
            }
        }));
    }
    require_none(failures);
}

#[test]
fn slopes_are_averages_over_the_data() {
    let mut failures = Vec::new();
    for case in oracle("margins.json")["slopes"].as_array().unwrap() {
        failures.extend(check(case, |fit, compare| {
            let frame = fit.matrix().frame();
            let name = case["variable"].as_str().unwrap();
            let variable = frame
                .variables()
                .iter()
                .position(|own| own.name() == name)
                .unwrap();
            let at: Vec<Setting> = case["at"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, value)| setting(frame, name, &value.to_string()))
                .collect();
            let margins = Margins::new(fit, Covariance::Common);
            let slope = margins.slope(variable, &at).unwrap();
            let number = |key: &str| case[key].as_f64().unwrap();
            compare.close("slope", slope.estimate, number("estimate"));
            compare.close("se", slope.standard_error, number("se"));
            compare.close("p", slope.p, number("p"));
            compare.close("lower", slope.lower, number("lower"));
            compare.close("upper", slope.upper, number("upper"));
        }));
    }
    require_none(failures);
}

#[test]
fn pairs_of_adjusted_means_are_compared_as_emmeans_does() {
    let mut failures = Vec::new();
    for case in oracle("margins.json")["pairs"].as_array().unwrap() {
        let table = data(case["data"].as_str().unwrap());
        let formula = case["formula"].as_str().unwrap();
        let options = AnalysisOptions {
            formula: Some(formula),
            ..AnalysisOptions::default()
        };
        let analysis = analyze(&table, "y", &options).unwrap();
        let factor = case["factor"].as_str().unwrap();
        let ours = analysis
            .comparisons
            .iter()
            .find(|c| c.factor == factor)
            .unwrap();
        // emmeans integrates the range to about 1e-10.
        let mut compare = Comparison::new(formula, 1e-6);
        for pair in case["pairs"].as_array().unwrap() {
            let place = |key: &str| {
                let name = pair[key].as_str().unwrap();
                ours.levels.iter().position(|level| level == name).unwrap()
            };
            let (first, second) = (place("first"), place("second"));
            let found = ours
                .pairs
                .iter()
                .find(|pair| (pair.first, pair.second) == (first, second))
                .unwrap();
            let number = |key: &str| pair[key].as_f64().unwrap();
            compare.close("difference", found.difference, number("difference"));
            compare.scaled("lower", found.lower, number("lower"), 1.0);
            compare.scaled("upper", found.upper, number("upper"), 1.0);
            compare.scaled("p", found.p, number("p"), 1e-6);
        }
        failures.extend(compare.finish());
    }
    require_none(failures);
}

#[test]
fn squares_are_tested_as_an_f_test_of_the_wider_model() {
    let mut failures = Vec::new();
    for case in oracle("margins.json")["squares"].as_array().unwrap() {
        let table = data(case["data"].as_str().unwrap());
        let formula = case["formula"].as_str().unwrap();
        let options = AnalysisOptions {
            formula: Some(formula),
            ..AnalysisOptions::default()
        };
        let found = analyze(&table, "y", &options).unwrap().curvature.unwrap();
        let mut compare = Comparison::new(formula, 1e-7);
        assert_eq!(found.df as u64, case["df"].as_u64().unwrap());
        compare.scaled("f", found.f, case["f"].as_f64().unwrap(), 1.0);
        compare.close("p", found.p, case["p"].as_f64().unwrap());
        failures.extend(compare.finish());
    }
    require_none(failures);
}
