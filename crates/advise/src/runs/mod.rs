//! A table of runs: what was set, and what came of it.

mod factors;

pub use factors::{Factor, FactorKind, Factors, SettingError};

use std::collections::BTreeMap;
use thiserror::Error;

/// One combination of levels, aligned with [`Factors`]: a number for a numeric
/// factor, the index of the level for a categorical one.
pub type Configuration = Vec<f64>;

/// A column of a factor as the caller read it.
#[derive(Debug, Clone, PartialEq)]
pub enum FactorColumn {
    /// Numbers, between which a model may interpolate.
    Numeric(Vec<f64>),
    /// Names without an order.
    Words(Vec<String>),
}

impl FactorColumn {
    fn len(&self) -> usize {
        match self {
            Self::Numeric(values) => values.len(),
            Self::Words(words) => words.len(),
        }
    }
}

/// Runs with their settings, their responses and the trial each one replicates.
///
/// A value of this type holds finite numbers only.
#[derive(Debug, Clone, PartialEq)]
pub struct Runs {
    factors: Factors,
    settings: Vec<Configuration>,
    responses: Vec<(String, Vec<f64>)>,
    trials: Vec<usize>,
}

/// Why columns do not form a table of runs.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RunsError {
    /// Nothing varies.
    #[error("no factors are named; a prediction needs at least one")]
    NoFactors,
    /// Nothing is to be predicted.
    #[error("no responses are named; a prediction needs at least one")]
    NoResponses,
    /// The columns are empty.
    #[error("the table has no runs")]
    NoRuns,
    /// Two columns have one name.
    #[error("column `{0}` is named twice")]
    Duplicate(String),
    /// A column is longer or shorter than the first.
    #[error("column `{column}` has {found} values where {expected} are expected")]
    Length {
        /// The column.
        column: String,
        /// The length of the first column.
        expected: usize,
        /// The length of this one.
        found: usize,
    },
    /// A cell is NaN or infinite.
    #[error("run {row}: column `{column}` is {value}; a model needs finite numbers")]
    NotFinite {
        /// The column.
        column: String,
        /// The row, counted from one.
        row: usize,
        /// The value found.
        value: f64,
    },
    /// A cell is so large that its square is not a number any more.
    #[error(
        "run {row}: column `{column}` is {value}; the largest number a model takes is {LARGEST:e}"
    )]
    TooLarge {
        /// The column.
        column: String,
        /// The row, counted from one.
        row: usize,
        /// The value found.
        value: f64,
    },
}

/// Squares of differences of such numbers can still be added up.
const LARGEST: f64 = 1e100;

impl Runs {
    /// Checks columns. Without `trials`, runs with equal settings replicate the
    /// same trial.
    pub fn new(
        factors: Vec<(String, FactorColumn)>,
        responses: Vec<(String, Vec<f64>)>,
        trials: Option<Vec<usize>>,
    ) -> Result<Self, RunsError> {
        let rows = match factors.first() {
            None => return Err(RunsError::NoFactors),
            Some((_, column)) => column.len(),
        };
        if responses.is_empty() {
            return Err(RunsError::NoResponses);
        }
        if rows == 0 {
            return Err(RunsError::NoRuns);
        }
        check_columns(&factors, &responses, trials.as_deref(), rows)?;
        let (factors, columns) = Factors::read(factors);
        let settings: Vec<Configuration> = (0..rows)
            .map(|row| columns.iter().map(|column| column[row]).collect())
            .collect();
        let trials = trials.unwrap_or_else(|| same_settings(&settings));
        Ok(Self {
            factors,
            settings,
            responses,
            trials,
        })
    }

    /// What varies.
    pub fn factors(&self) -> &Factors {
        &self.factors
    }

    /// The settings of every run.
    pub fn settings(&self) -> &[Configuration] {
        &self.settings
    }

    /// The trial of every run; equal numbers replicate one trial.
    pub fn trials(&self) -> &[usize] {
        &self.trials
    }

    /// How many runs there are.
    pub fn rows(&self) -> usize {
        self.settings.len()
    }

    /// The names of the responses, in the caller's order.
    pub fn response_names(&self) -> impl Iterator<Item = &str> {
        self.responses.iter().map(|(name, _)| name.as_str())
    }

    /// A response of every run.
    pub fn response(&self, name: &str) -> Option<&[f64]> {
        let found = self.responses.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }

    /// The distinct settings, ascending by the first factor, then by the next.
    pub fn distinct_settings(&self) -> Vec<Configuration> {
        let mut distinct = self.settings.clone();
        distinct.sort_by(|a, b| {
            let mut pairs = a
                .iter()
                .zip(b)
                .map(|(a, b)| (a + 0.0).total_cmp(&(b + 0.0)));
            pairs
                .find(|o| o.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        distinct.dedup_by(|a, b| key(a) == key(b));
        distinct
    }

    /// The named rows; trials keep their numbers.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            factors: self.factors.clone(),
            settings: rows.iter().map(|&r| self.settings[r].clone()).collect(),
            responses: self
                .responses
                .iter()
                .map(|(name, values)| (name.clone(), rows.iter().map(|&r| values[r]).collect()))
                .collect(),
            trials: rows.iter().map(|&r| self.trials[r]).collect(),
        }
    }
}

impl Runs {
    /// The same runs with one factor at a level in all of them.
    pub(crate) fn with_level(&self, at: usize, value: f64) -> Self {
        let mut runs = self.clone();
        for setting in &mut runs.settings {
            setting[at] = value;
        }
        runs
    }

    /// Trials that are told apart by these factors alone.
    pub(crate) fn trials_by(&self, factors: &[usize]) -> Vec<usize> {
        let settings: Vec<Configuration> = self
            .settings
            .iter()
            .map(|setting| factors.iter().map(|&at| setting[at]).collect())
            .collect();
        same_settings(&settings)
    }
}

/// Bits order like nothing in particular, but equal settings are equal.
pub(crate) fn key(setting: &[f64]) -> Vec<u64> {
    // Adding zero makes -0 and 0 the same level.
    setting
        .iter()
        .map(|value| (value + 0.0).to_bits())
        .collect()
}

fn same_settings(settings: &[Configuration]) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    settings
        .iter()
        .map(|setting| {
            let next = numbers.len();
            *numbers.entry(key(setting)).or_insert(next)
        })
        .collect()
}

fn check_columns(
    factors: &[(String, FactorColumn)],
    responses: &[(String, Vec<f64>)],
    trials: Option<&[usize]>,
    rows: usize,
) -> Result<(), RunsError> {
    let factor_lengths = factors
        .iter()
        .map(|(name, column)| (name.as_str(), column.len()));
    let lengths = factor_lengths
        .chain(
            responses
                .iter()
                .map(|(name, values)| (name.as_str(), values.len())),
        )
        .chain(trials.map(|trials| ("trial", trials.len())));
    for (name, found) in lengths {
        if found != rows {
            return Err(RunsError::Length {
                column: name.to_owned(),
                expected: rows,
                found,
            });
        }
    }
    let mut names: Vec<&str> = factors.iter().map(|(name, _)| name.as_str()).collect();
    names.extend(responses.iter().map(|(name, _)| name.as_str()));
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(RunsError::Duplicate((*name).to_owned()));
        }
    }
    let numeric = factors.iter().filter_map(|(name, column)| match column {
        FactorColumn::Numeric(values) => Some((name, values)),
        FactorColumn::Words(_) => None,
    });
    for (name, values) in numeric.chain(responses.iter().map(|(name, values)| (name, values))) {
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            return Err(RunsError::NotFinite {
                column: name.clone(),
                row: row + 1,
                value: values[row],
            });
        }
        if let Some(row) = values.iter().position(|value| value.abs() > LARGEST) {
            return Err(RunsError::TooLarge {
                column: name.clone(),
                row: row + 1,
                value: values[row],
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(name: &str, values: &[f64]) -> (String, FactorColumn) {
        (name.to_owned(), FactorColumn::Numeric(values.to_vec()))
    }

    fn response(name: &str, values: &[f64]) -> (String, Vec<f64>) {
        (name.to_owned(), values.to_vec())
    }

    #[test]
    fn runs_with_equal_settings_are_one_trial() {
        let words = ["a", "b", "a", "b"].map(str::to_owned).to_vec();
        let runs = Runs::new(
            vec![
                numeric("x", &[1.0, 1.0, 1.0, 2.0]),
                ("w".to_owned(), FactorColumn::Words(words)),
            ],
            vec![response("y", &[1.0, 2.0, 3.0, 4.0])],
            None,
        )
        .unwrap();
        assert_eq!(runs.trials(), [0, 1, 0, 2]);
        assert_eq!(runs.distinct_settings().len(), 3);
        assert_eq!(runs.select(&[3]).response("y"), Some(&[4.0][..]));
    }

    #[test]
    fn columns_that_do_not_fit_are_refused_by_name() {
        let check = |factors: Vec<_>, responses: Vec<_>, text: &str| {
            let error = Runs::new(factors, responses, None).unwrap_err();
            assert_eq!(error.to_string(), text);
        };
        let x = || numeric("x", &[1.0, 2.0]);
        check(
            vec![x()],
            vec![response("y", &[1.0])],
            "column `y` has 1 values where 2 are expected",
        );
        check(
            vec![x()],
            vec![response("y", &[1.0, f64::NAN])],
            "run 2: column `y` is NaN; a model needs finite numbers",
        );
        check(
            vec![x(), x()],
            vec![response("y", &[1.0, 2.0])],
            "column `x` is named twice",
        );
        check(
            vec![],
            vec![],
            "no factors are named; a prediction needs at least one",
        );
        check(
            vec![numeric("x", &[])],
            vec![response("y", &[])],
            "the table has no runs",
        );
    }
}
