//! Every design against its definition, against published tables and against
//! the values in `oracle/`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod blocks;
mod catalogue;
mod fractions;
mod hypercubes;
mod optimal;
mod plans;
mod power;
mod refusals;
mod screening;
mod surfaces;

use paceline_design::{Design, Factor, Factors, FractionBy, Generator, Kind, Order, Request};
use paceline_model::Level;

/// Factors `x1`, `x2`, … from −1 to +1, whose coded and natural levels agree.
fn unit_factors(count: usize) -> Factors {
    let factor = |i: usize| {
        let levels = vec![Level::Number(-1.0), Level::Number(1.0)];
        Factor::new(format!("x{}", i + 1), levels).unwrap()
    };
    Factors::new((0..count).map(factor).collect()).unwrap()
}

/// Factors with the given numbers of levels: `n` numeric or `-n` categorical.
fn factors_with(levels: &[i64]) -> Factors {
    let factor = |(i, count): (usize, &i64)| {
        let numbers = (0..count.abs()).map(Level::Integer).collect();
        let name = format!("x{}", i + 1);
        if *count < 0 {
            Factor::categorical(name, numbers)
        } else {
            Factor::new(name, numbers)
        }
        .unwrap()
    };
    Factors::new(levels.iter().enumerate().map(factor).collect()).unwrap()
}

/// The fraction of so many [`unit_factors`] by these generators.
fn generated<T: AsRef<str>>(factors: usize, generators: &[T]) -> Kind {
    let names: Vec<String> = (1..=factors).map(|i| format!("x{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let generators = generators.iter();
    let read = |text: &T| Generator::parse(text.as_ref(), &names).unwrap();
    Kind::Fractional(FractionBy::Generators(generators.map(read).collect()))
}

/// The design in standard order.
fn standard(factors: Factors, kind: Kind) -> Design {
    let mut request = Request::new(factors, kind);
    request.order = Order::Standard;
    request.plan(0).unwrap()
}

/// The coded rows in run order.
fn coded(design: &Design) -> Vec<Vec<f64>> {
    design
        .runs()
        .iter()
        .map(|run| design.coded(run.trial).collect())
        .collect()
}

/// The rows as signs, sorted.
fn signs(design: &Design) -> Vec<String> {
    let sign = |x: &f64| if *x > 0.0 { '+' } else { '-' };
    let mut rows: Vec<String> = coded(design)
        .iter()
        .map(|row| row.iter().map(sign).collect())
        .collect();
    rows.sort();
    rows
}

fn oracle() -> serde_json::Value {
    serde_json::from_str(include_str!("../../oracle/tables.json")).unwrap()
}

/// Rows of numbers from the oracle.
fn numbers(value: &serde_json::Value) -> Vec<Vec<f64>> {
    let row = |row: &serde_json::Value| {
        row.as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect()
    };
    value.as_array().unwrap().iter().map(row).collect()
}

/// Texts from the oracle.
fn texts(value: &serde_json::Value) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_str().unwrap().to_owned())
        .collect()
}
