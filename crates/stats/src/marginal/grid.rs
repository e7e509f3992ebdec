//! Settings of variables, and the model's columns at them.

use crate::fit::Fit;
use crate::formula::{ModelFrame, VariableData};
use crate::matrix::{ModelMatrix, Part};

/// The setting of one variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A level of a categorical variable, both by index.
    Level {
        /// The variable, by index into the frame's variables.
        variable: usize,
        /// The level, by index.
        level: usize,
    },
    /// A value of a numeric column, wherever variables use it.
    Value {
        /// The column.
        column: String,
        /// The value.
        value: f64,
    },
}

/// A variable at a setting.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(f64),
    /// The share of each level.
    Shares(Vec<f64>),
}

/// Where variables stand that are not set.
#[derive(Debug)]
pub(super) struct Reference {
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Column {
    name: String,
    centre: f64,
    low: f64,
    high: f64,
}

impl Reference {
    pub(super) fn of(frame: &ModelFrame) -> Reference {
        let mut names: Vec<&str> = Vec::new();
        for name in frame.variables().iter().flat_map(|v| v.columns()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let columns = names
            .into_iter()
            .filter_map(|name| {
                let values = frame.column_values(name)?;
                let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let two = values.iter().all(|&value| value == low || value == high);
                let centre = match two {
                    true => f64::midpoint(low, high),
                    false => crate::lstsq::mean(values),
                };
                Some(Column {
                    name: name.to_owned(),
                    centre,
                    low,
                    high,
                })
            })
            .collect();
        Reference { columns }
    }

    pub(super) fn range(&self, column: &str) -> Option<(f64, f64)> {
        let found = self.columns.iter().find(|own| own.name == column)?;
        Some((found.low, found.high))
    }

    fn column(&self, name: &str, at: &[Setting]) -> f64 {
        let set = at.iter().find_map(|setting| match setting {
            Setting::Value { column, value } if column == name => Some(*value),
            _ => None,
        });
        set.unwrap_or_else(|| {
            let own = self.columns.iter().find(|own| own.name == name);
            own.map_or(f64::NAN, |own| own.centre)
        })
    }

    /// Every variable at these settings; `None` if a value cannot be computed
    /// there or a category does not occur.
    pub(super) fn values(&self, frame: &ModelFrame, at: &[Setting]) -> Option<Vec<Value>> {
        let variables = frame.variables().iter().enumerate();
        variables
            .map(|(index, variable)| match variable.data() {
                VariableData::Numeric { values, .. } => {
                    let value = match variable.value_at(&|name| self.column(name, at)) {
                        Some(value) => value,
                        None => crate::lstsq::mean(values),
                    };
                    value.is_finite().then_some(Value::Number(value))
                }
                VariableData::Categorical { levels, .. } => {
                    let one = |chosen: usize| {
                        let mut shares = vec![0.0; levels.len()];
                        shares[chosen] = 1.0;
                        shares
                    };
                    for setting in at {
                        match setting {
                            Setting::Level { variable, level } if *variable == index => {
                                return Some(Value::Shares(one(*level)));
                            }
                            Setting::Value { column, value }
                                if variable.column() == Some(column.as_str()) =>
                            {
                                let text = value.to_string();
                                let level = levels.iter().position(|level| *level == text)?;
                                return Some(Value::Shares(one(level)));
                            }
                            _ => {}
                        }
                    }
                    Some(Value::Shares(vec![1.0 / levels.len() as f64; levels.len()]))
                }
            })
            .collect()
    }

    /// Which variables these settings determine.
    pub(super) fn fixed(&self, frame: &ModelFrame, at: &[Setting]) -> Vec<bool> {
        let variables = frame.variables().iter().enumerate();
        variables
            .map(|(index, variable)| {
                at.iter().any(|setting| match setting {
                    Setting::Level { variable, .. } => *variable == index,
                    Setting::Value { column, .. } => variable.columns().contains(&column.as_str()),
                })
            })
            .collect()
    }
}

fn entry(part: &Part, values: &[Value]) -> f64 {
    match (part, &values[part.variable()]) {
        (Part::Number { .. }, Value::Number(value)) => *value,
        (Part::Coded { values: coded, .. }, Value::Shares(shares)) => coded
            .iter()
            .zip(shares)
            .map(|(code, share)| code * share)
            .sum(),
        // A part and its variable are of one kind.
        _ => f64::NAN,
    }
}

/// The entries of every column at these values. Shares of several variables are
/// independent of each other, so the mean of a product is the product of means.
pub(super) fn weights(matrix: &ModelMatrix<'_>, values: &[Value]) -> Vec<f64> {
    let columns = matrix.columns().iter();
    columns
        .map(|column| {
            column
                .parts()
                .iter()
                .map(|part| entry(part, values))
                .product()
        })
        .collect()
}

/// The derivative of every column along a numeric variable, averaged over the
/// rows; the variables that are `fixed` stand at `values`.
pub(super) fn slope_weights(
    fit: &Fit<'_>,
    variable: usize,
    values: &[Value],
    fixed: &[bool],
) -> Vec<f64> {
    let columns = fit.matrix().columns().iter();
    columns
        .map(|column| {
            let mut factor = 1.0;
            let mut free = Vec::new();
            let mut follows = false;
            for part in column.parts() {
                match part.variable() {
                    own if own == variable => follows = true,
                    own if fixed[own] => factor *= entry(part, values),
                    _ => free.push(part),
                }
            }
            match follows {
                true => factor * average(fit, &free),
                false => 0.0,
            }
        })
        .collect()
}

/// The mean over all rows of a product of parts.
fn average(fit: &Fit<'_>, parts: &[&Part]) -> f64 {
    if parts.is_empty() {
        return 1.0;
    }
    let frame = fit.matrix().frame();
    let product = |row: usize| -> f64 {
        parts
            .iter()
            .map(
                |part| match (part, frame.variables()[part.variable()].data()) {
                    (Part::Number { .. }, VariableData::Numeric { values, .. }) => values[row],
                    (
                        Part::Coded { values: coded, .. },
                        VariableData::Categorical { codes, .. },
                    ) => coded[codes[row] as usize],
                    _ => f64::NAN,
                },
            )
            .product()
    };
    let sum: f64 = match &fit.solution.cells {
        Some(cells) => cells
            .first_row
            .iter()
            .zip(&cells.counts)
            .map(|(&row, &count)| f64::from(count) * product(row as usize))
            .sum(),
        None => (0..frame.len()).map(product).sum(),
    };
    sum / frame.len() as f64
}
