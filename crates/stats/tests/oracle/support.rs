//! Reads the oracle files and compares numbers.

use paceline_stats::formula::{Formula, FrameOptions, ModelFrame, TermOrder};
use paceline_stats::table::{Column, Table};
use serde_json::Value;

/// The content of a file in the oracle folder.
pub(crate) fn oracle(name: &str) -> Value {
    let path = format!("{}/oracle/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap()
}

/// A table from an object of columns; null is missing.
pub(crate) fn table(columns: &Value) -> Table {
    let columns = columns
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, values)| {
            let values = values.as_array().unwrap();
            match values.iter().any(Value::is_string) {
                true => {
                    let labels: Vec<&str> =
                        values.iter().map(|v| v.as_str().unwrap_or("")).collect();
                    Column::from_labels(name, &labels)
                }
                false => Column::numeric(
                    name,
                    values
                        .iter()
                        .map(|v| v.as_f64().unwrap_or(f64::NAN))
                        .collect(),
                ),
            }
        })
        .collect();
    Table::new(columns).unwrap()
}

pub(crate) fn frame(formula: &str, table: &Table, order: TermOrder) -> ModelFrame {
    let options = FrameOptions {
        order,
        ..FrameOptions::default()
    };
    Formula::parse(formula)
        .unwrap_or_else(|error| panic!("{error}"))
        .frame(table, &options)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Compares numbers and collects what is too far apart, so that one failing
/// case shows all its differences at once.
pub(crate) struct Comparison {
    context: String,
    tolerance: f64,
    failures: Vec<String>,
}

impl Comparison {
    pub(crate) fn new(context: &str, tolerance: f64) -> Comparison {
        Comparison {
            context: context.to_owned(),
            tolerance,
            failures: Vec::new(),
        }
    }

    /// Relative difference, against `scale` where that is larger than the value.
    pub(crate) fn scaled(&mut self, what: &str, actual: f64, expected: f64, scale: f64) {
        let error = (actual - expected).abs() / expected.abs().max(scale).max(f64::MIN_POSITIVE);
        if error.is_nan() || error > self.tolerance {
            self.failures.push(format!(
                "{what}: {actual:e}, expected {expected:e} (relative error {error:.1e})"
            ));
        }
    }

    pub(crate) fn close(&mut self, what: &str, actual: f64, expected: f64) {
        self.scaled(what, actual, expected, 0.0);
    }

    pub(crate) fn finish(self) -> Vec<String> {
        self.failures
            .into_iter()
            .map(|failure| format!("{}: {failure}", self.context))
            .collect()
    }
}

/// Panics with every failure of every case.
pub(crate) fn require_none(failures: Vec<String>) {
    assert!(
        failures.is_empty(),
        "{} differences:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
