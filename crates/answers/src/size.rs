//! Machines for a deadline at least cost.

use crate::error::{Explained, Fault};
use crate::predictors::{ProbabilityError, check_probability};
use crate::results::{LearnError, ReadTableError, Results, RunsTable, TableFile};
use paceline_advise::runs::SettingError;
use paceline_advise::size::{
    ClusterLaw, MachineType, SizeError as SizingError, SizeOption, SizeRequest, Sizing,
    size as sized,
};
use paceline_model::Level;
use paceline_stats::table::ColumnData;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What is to be sized.
#[derive(Debug, Clone)]
pub struct SizeQuestion {
    /// The machines that can be had.
    pub machines: Vec<MachineType>,
    /// Only runs with these levels are learned from.
    pub given: Vec<(String, Level)>,
    /// The column that holds the duration of a run.
    pub time: String,
    /// When the job must be done, in seconds.
    pub deadline_s: f64,
    /// The probability with which the deadline must be kept.
    pub confidence: f64,
    /// The most workers that are considered.
    pub most_workers: usize,
    /// How many times the measured work the job has.
    pub work: f64,
    /// The cores of a measured worker, if no column says so.
    pub measured_cores: f64,
}

/// What a deadline takes.
pub struct SizeAnswer {
    /// The runs that were learned from.
    pub table: RunsTable,
    /// The machines that can be had.
    pub machines: Vec<MachineType>,
    /// What was asked.
    pub request: SizeRequest,
    /// The answer.
    pub sizing: Sizing,
}

/// Why no size can be told.
#[derive(Debug, thiserror::Error)]
pub enum SizeError {
    /// No run has the given levels.
    #[error("no run has the given levels")]
    NoRuns,
    /// Nothing can be learned from the results.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A given level cannot be.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The runs do not tell how the time depends on the machines, or the request
    /// cannot be.
    #[error(transparent)]
    Sizing(#[from] SizingError),
    /// The confidence is no probability that a table can speak of.
    #[error(transparent)]
    Confidence(#[from] ProbabilityError),
}

impl Explained for SizeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Learn(error) => error.hint(),
            Self::Sizing(SizingError::TooMany { .. }) => {
                Some("lower --workers, or shorten the price list".to_owned())
            }
            Self::Confidence(error) => error.hint(),
            Self::NoRuns | Self::Setting(_) | Self::Sizing(_) => None,
        }
    }
}

/// Why there is no price list.
#[derive(Debug, thiserror::Error)]
pub enum PricesError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadTableError),
    /// A column is missing or of another kind.
    #[error("`{}` has no column `{column}` of the expected kind", .path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
    },
}

impl Explained for PricesError {
    fn fault(&self) -> Fault {
        match self {
            Self::Read(error) => error.fault(),
            Self::Column { .. } => Fault::User,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Read(error) => error.hint(),
            Self::Column { .. } => Some(
                "a price list has the columns machine (names), cores and price_per_hour (numbers)"
                    .to_owned(),
            ),
        }
    }
}

/// Sizes a cluster by the runs of a table.
///
/// # Errors
/// If the table lacks what is asked for, or its runs do not tell how the time
/// depends on the machines.
pub fn size(results: &Results, question: &SizeQuestion) -> Result<SizeAnswer, SizeError> {
    check_probability("--confidence", question.confidence)?;
    let mut table = results.runs(std::slice::from_ref(&question.time))?;
    let given = table.runs.factors().fixed(&question.given)?;
    let rows: Vec<usize> = (0..table.runs.rows())
        .filter(|&row| {
            given
                .iter()
                .all(|&(at, value)| table.runs.settings()[row][at] == value)
        })
        .collect();
    if rows.is_empty() {
        return Err(SizeError::NoRuns);
    }
    table.runs = table.runs.select(&rows);
    table.count = rows.len();
    let roles = results.roles(table.runs.factors())?;
    let law = ClusterLaw::fit(&table.runs, &question.time, &roles, question.measured_cores)?;
    let request = SizeRequest {
        deadline_s: question.deadline_s,
        confidence: question.confidence,
        most_workers: question.most_workers,
        work: question.work,
        measured_cores: question.measured_cores,
    };
    let sizing = sized(&law, &question.machines, &request)?;
    Ok(SizeAnswer {
        table,
        machines: question.machines.clone(),
        request,
        sizing,
    })
}

/// Reads a price list: a CSV file with the columns machine, cores and
/// price_per_hour.
///
/// # Errors
/// If the file cannot be read or lacks a column.
pub fn prices(path: &Path) -> Result<Vec<MachineType>, PricesError> {
    let file = TableFile::read(path)?;
    let lacks = |column: &'static str| PricesError::Column {
        path: path.to_owned(),
        column,
    };
    let numbers = |name: &'static str| {
        let column = file
            .table
            .column(name)
            .and_then(|column| column.as_numeric());
        column.ok_or_else(|| lacks(name))
    };
    let names: Vec<String> = match file.table.column("machine").map(|column| column.data()) {
        Some(ColumnData::Categorical { levels, codes, .. }) => codes
            .iter()
            .map(|&code| {
                levels
                    .get(code as usize)
                    .cloned()
                    .ok_or_else(|| lacks("machine"))
            })
            .collect::<Result<_, _>>()?,
        Some(ColumnData::Numeric(values)) => values.iter().map(f64::to_string).collect(),
        None => return Err(lacks("machine")),
    };
    let rows = names
        .into_iter()
        .zip(numbers("cores")?)
        .zip(numbers("price_per_hour")?);
    Ok(rows
        .map(|((name, &cores), &price_per_hour)| MachineType {
            name,
            cores,
            price_per_hour,
        })
        .collect())
}

impl SizeAnswer {
    /// The answer for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let option = |option: &SizeOption| {
            json!({
                "machine": self.machines[option.machine].name,
                "workers": option.workers,
                "seconds": option.seconds,
                "cost": option.cost,
                "probability": option.probability,
                "extrapolated": option.extrapolated,
            })
        };
        let shapes: Vec<Value> = self
            .sizing
            .shapes
            .iter()
            .map(|shape| {
                json!({
                    "machine": self.machines[shape.machine].name,
                    "knee_workers": shape.knee,
                    "fastest_workers": shape.fastest,
                    "slower_from_workers": shape.slower_from,
                })
            })
            .collect();
        let sizing = &self.sizing;
        json!({
            "source": self.table.source,
            "runs": self.table.runs.rows(),
            "deadline_s": self.request.deadline_s,
            "confidence": self.request.confidence,
            "best": sizing.best.as_ref().map(option),
            "likeliest": option(&sizing.likeliest),
            "scale_up": sizing.scale_up.as_ref().map(option),
            "scale_out": sizing.scale_out.as_ref().map(option),
            "shapes": shapes,
            "options": sizing.options.iter().map(option).collect::<Vec<_>>(),
        })
    }
}
