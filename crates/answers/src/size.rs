//! Machines for a deadline at least cost.

use crate::failure::Failure;
use crate::runs_table::{OpenTable, RunsTable};
use crate::table_file::TableFile;
use anyhow::anyhow;
use paceline_advise::size::{
    ClusterLaw, MachineType, SizeError, SizeOption, SizeRequest, Sizing, size as sized,
};
use paceline_model::Level;
use paceline_stats::table::ColumnData;
use serde_json::{Value, json};
use std::path::Path;

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

/// Sizes a cluster by the runs of a table.
///
/// # Errors
/// If the table lacks what is asked for, or its runs do not tell how the time
/// depends on the machines.
pub fn size(open: &OpenTable, question: SizeQuestion) -> Result<SizeAnswer, Failure> {
    crate::predict::check_probability("--confidence", question.confidence)?;
    let mut table = open.runs(std::slice::from_ref(&question.time))?;
    let given = table
        .runs
        .factors()
        .fixed(&question.given)
        .map_err(Failure::user)?;
    let rows: Vec<usize> = (0..table.runs.rows())
        .filter(|&row| {
            given
                .iter()
                .all(|&(at, value)| table.runs.settings()[row][at] == value)
        })
        .collect();
    if rows.is_empty() {
        return Err(Failure::user(anyhow!("no run has the given levels")));
    }
    table.runs = table.runs.select(&rows);
    table.count = rows.len();
    let roles = open.roles(table.runs.factors())?;
    let law = ClusterLaw::fit(&table.runs, &question.time, &roles, question.measured_cores)
        .map_err(Failure::user)?;
    let request = SizeRequest {
        deadline_s: question.deadline_s,
        confidence: question.confidence,
        most_workers: question.most_workers,
        work: question.work,
        measured_cores: question.measured_cores,
    };
    let sizing = sized(&law, &question.machines, &request).map_err(|error| {
        let too_many = matches!(error, SizeError::TooMany { .. });
        let failure = Failure::user(error);
        match too_many {
            true => failure.hint("lower --workers, or shorten the price list"),
            false => failure,
        }
    })?;
    Ok(SizeAnswer {
        table,
        machines: question.machines,
        request,
        sizing,
    })
}

/// Reads a price list: a CSV file with the columns machine, cores and
/// price_per_hour.
///
/// # Errors
/// If the file cannot be read or lacks a column.
pub fn prices(path: &Path) -> Result<Vec<MachineType>, Failure> {
    let file = TableFile::read(path)?;
    let lacks = |name: &str| {
        let shown = path.display();
        Failure::user(anyhow!(
            "`{shown}` has no column `{name}` of the expected kind"
        ))
        .hint("a price list has the columns machine (names), cores and price_per_hour (numbers)")
    };
    let numbers = |name: &str| {
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
