//! Agreement with NumPy and SciPy, which compute everything the long way. The
//! values, the script and the versions it used are in `oracle/`.

use super::AveragedProcessParams;
use super::cells::Cells;
use super::chain::{Effort, draw};
use super::density::{Covariance, Problem, add_squares};
use super::draw::Draw;
use super::left_out::ChainLeftOut;
use crate::{Dataset, Features, Threads};
use paceline_numeric::{Chance, dot};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("../../../oracle/averaged.json")).expect("JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|v| v.as_f64().expect("a number")).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value
        .as_array()
        .expect("rows")
        .iter()
        .map(numbers)
        .collect()
}

fn data(case: &Value) -> Dataset {
    let features = Features::from_rows(&rows(&case["x"])).expect("finite rows");
    Dataset::new(features, numbers(&case["y"])).expect("as many targets")
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let scale = expected.abs().max(1.0);
    assert!(
        (found - expected).abs() <= tolerance * scale,
        "{found} instead of {expected}"
    );
}

#[test]
fn density_prediction_and_what_is_left_out_agree_with_the_full_matrix() {
    let reference = reference();
    for case in reference["fixed"].as_array().expect("cases") {
        let cells = Cells::of(&data(case));
        let theta = numbers(&case["theta"]);
        let groups: Vec<usize> = numbers(&case["groups"])
            .iter()
            .map(|&g| g as usize)
            .collect();
        let covariance = Covariance {
            lengths: 3,
            unequal: theta.len() > 5,
            groups: groups.clone(),
        };
        let point = covariance.point(&theta);
        let solved = Problem::new(&cells, &covariance)
            .solve(&point)
            .expect("definite");
        close(
            solved.log_density,
            case["log_density"].as_f64().unwrap(),
            1e-11,
        );
        close(solved.misfit, case["misfit"].as_f64().unwrap(), 1e-11);
        let draw = Draw::new(point, solved, &cells);
        let expected = numbers(&case["mean"]);
        let expected = expected.iter().zip(numbers(&case["squared_scale"]));
        for (at, (&mean, squared_scale)) in rows(&case["at"]).iter().zip(expected) {
            let centred: Vec<f64> = cells.shifted(at).collect();
            let mut squares = vec![0.0; cells.len() * 3];
            for (cell, sums) in squares.chunks_exact_mut(3).enumerate() {
                add_squares(&centred, cells.centred.row(cell), &groups, sums);
            }
            let products: Vec<f64> = cells
                .centred
                .iter()
                .map(|other| dot(&centred, other))
                .collect();
            let said = draw.at(&centred, &products, &squares, None, &mut Vec::new());
            close(said.mean, mean, 1e-10);
            close(said.squared_scale, squared_scale, 1e-10);
        }
        // Of a single draw all weight is on that draw.
        let left = ChainLeftOut::of(std::slice::from_ref(&draw), &cells);
        let pairs = rows(&case["left_out"])
            .into_iter()
            .zip(rows(&case["cell_left_out"]));
        for (row, (without_run, without_cell)) in pairs.enumerate() {
            close(left.runs[row].0, without_run[0], 1e-9);
            close(left.runs[row].1, without_run[1], 1e-9);
            let cell = cells.rows[row].0;
            close(left.cells[cell].0, without_cell[0], 1e-9);
            close(left.cells[cell].1, without_cell[1], 1e-9);
        }
    }
}

#[test]
fn long_chains_have_the_moments_that_weighted_draws_from_the_prior_have() {
    let reference = reference();
    for case in reference["importance"].as_array().expect("cases") {
        let cells = Cells::of(&data(case));
        let covariance = Covariance {
            groups: vec![0],
            lengths: 1,
            unequal: case["unequal"].as_bool().expect("yes or no"),
        };
        let problem = Problem::new(&cells, &covariance);
        let effort = Effort {
            burn_in: 200,
            draws: 6000,
            every: 2,
        };
        let points = draw(&problem, effort, &mut Chance::new(5, 0));
        let coordinates: Vec<Vec<f64>> = points
            .iter()
            .map(|point| {
                let length = -0.5 * point.closeness[0].ln();
                let mut all = vec![point.slope.ln(), point.level, length];
                all.extend(&point.tilt);
                all
            })
            .collect();
        let deviations = numbers(&case["deviation"]);
        for (at, (mean, deviation)) in numbers(&case["mean"]).iter().zip(&deviations).enumerate() {
            let values = || coordinates.iter().map(|all| all[at]);
            let found = values().sum::<f64>() / 6000.0;
            let spread = (values().map(|x| (x - found).powi(2)).sum::<f64>() / 6000.0).sqrt();
            // With an autocorrelation of a dozen steps the standard error of the
            // mean is a twentieth of the deviation.
            assert!(
                (found - mean).abs() < 0.12 * deviation,
                "{at}: {found}, {mean}"
            );
            assert!(
                (spread / deviation - 1.0).abs() < 0.1,
                "{at}: {spread}, {deviation}"
            );
        }
    }
}

fn two_factors() -> Dataset {
    let rows: Vec<[f64; 2]> = (0..20)
        .map(|i| [f64::from(i % 5) - 2.0, f64::from(i % 4 / 2)])
        .collect();
    let target = rows.iter().enumerate().map(|(i, row)| {
        let wobble = f64::from((i as u32 * 7919) % 13) / 13.0 - 0.5;
        10.0 + 2.0 * row[0] + row[1] + 0.3 * wobble * (1.0 + row[1])
    });
    let target = target.collect();
    Dataset::new(Features::from_rows(&rows).unwrap(), target).unwrap()
}

#[test]
fn the_order_of_rows_and_the_number_of_threads_change_nothing() {
    let process = AveragedProcessParams {
        factors: vec![0, 1],
    };
    let process = process.check().unwrap();
    let data = two_factors();
    let mut order: Vec<usize> = (0..20).collect();
    Chance::new(1, 0).shuffle(&mut order);
    let model = process.fit(&data, 3, Threads::new(2)).unwrap();
    let shuffled = process.fit(&data.select(&order), 3, Threads::ONE).unwrap();
    let at = Features::from_rows(&[[0.5, 1.0], [2.0, 0.0], [1e3, 0.0]]).unwrap();
    assert_eq!(
        model.predict(&at, Threads::ONE).unwrap(),
        shuffled.predict(&at, Threads::new(3)).unwrap()
    );
    assert_eq!(model.calibration(), shuffled.calibration());
    for (at, &row) in order.iter().enumerate() {
        assert_eq!(shuffled.left_out()[at], model.left_out()[row]);
    }
}

#[test]
fn equal_targets_are_predicted_without_doubt_and_wrong_columns_are_refused() {
    let data = two_factors();
    let flat = Dataset::new(data.features().clone(), vec![0.1; 20]).unwrap();
    let of = |factors: Vec<usize>| AveragedProcessParams { factors }.check();
    let model = of(vec![0, 1]).unwrap().fit(&flat, 1, Threads::ONE).unwrap();
    let found = model.predict(data.features(), Threads::ONE).unwrap();
    assert!(
        found
            .iter()
            .all(|p| (p.mean - 0.1).abs() < 1e-12 && p.variance == 0.0)
    );
    assert_eq!(of(vec![0, 2]).unwrap_err().parameter, "factors");
    let one = of(vec![0])
        .unwrap()
        .fit(&data, 1, Threads::ONE)
        .unwrap_err();
    assert_eq!(one.to_string(), "factors has 1 entries for 2 features");
}
