//! `paceline size`: machines for a deadline at least cost.

use super::runs_table::{RunsTable, TableArgs, settings};
use super::table_file::TableFile;
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use crate::quantity;
use anyhow::anyhow;
use paceline_advise::size::{
    ClusterLaw, MachineType, SizeOption, SizeRequest, Sizing, size as sized,
};
use paceline_model::Level;
use paceline_report::number::{count, duration, significant};
use paceline_report::text::{Column, Table};
use paceline_stats::table::ColumnData;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// When the job must be done, as in 300s
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    deadline: Duration,
    /// The price list: a CSV file with the columns machine, cores and price_per_hour
    #[arg(long, value_name = "FILE")]
    prices: PathBuf,
    /// Learn only from runs with these levels, as in batch_size=128; they must be factors
    #[arg(long, value_name = "FACTOR=LEVEL,…", value_parser = settings)]
    given: Option<Settings>,
    /// The column that holds the duration of a run
    #[arg(long, value_name = "COLUMN", default_value = "time")]
    time: String,
    /// The probability with which the deadline must be kept
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.95)]
    confidence: f64,
    /// The most workers that are considered
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    workers: usize,
    /// How many times the measured work the job has
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    work: f64,
    /// The cores of a measured worker, if no column says so
    #[arg(long, value_name = "COUNT", default_value_t = 1.0)]
    cores: f64,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// An alias, so that clap does not take it for a list of values.
type Settings = Vec<(String, Level)>;

struct Answer<'a> {
    table: &'a RunsTable,
    machines: &'a [MachineType],
    request: SizeRequest,
    sizing: Sizing,
}

pub(crate) fn size(args: &Args) -> Result<Exit, Failure> {
    let machines = prices(&args.prices)?;
    let open = args.table.open()?;
    let mut table = open.runs(std::slice::from_ref(&args.time))?;
    let given = args.given.as_deref().unwrap_or_default();
    let given = table.runs.factors().fixed(given).map_err(Failure::user)?;
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
    let law =
        ClusterLaw::fit(&table.runs, &args.time, &roles, args.cores).map_err(Failure::user)?;
    let request = SizeRequest {
        deadline_s: args.deadline.as_secs_f64(),
        confidence: args.confidence,
        most_workers: args.workers,
        work: args.work,
        measured_cores: args.cores,
    };
    let sizing = sized(&law, &machines, &request).map_err(Failure::user)?;
    let answer = Answer {
        table: &table,
        machines: &machines,
        request,
        sizing,
    };
    output::data(&match args.format {
        Format::Text => answer.text(),
        Format::Json => output::json(&answer.json()),
    })?;
    Ok(match answer.sizing.best {
        Some(_) => Exit::Done,
        None => Exit::Unmet,
    })
}

fn prices(path: &Path) -> Result<Vec<MachineType>, Failure> {
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

impl Answer<'_> {
    fn text(&self) -> String {
        let page = Page::of_stdout();
        let mut out = format!(
            "Done in {} with probability {}, learned from {} runs of {}\n\n",
            duration(self.request.deadline_s),
            self.request.confidence,
            count(self.table.runs.rows() as u64),
            self.table.source
        );
        let mut table = Table::new([
            Column::words("choice"),
            Column::words("machine"),
            Column::amounts("workers"),
            Column::amounts("time"),
            Column::decimals("cost"),
            Column::decimals("probability"),
            Column::words("note").optional(),
        ]);
        let sizing = &self.sizing;
        let mut row = |name: &str, option: &Option<SizeOption>| match option {
            Some(option) => {
                table.row([
                    name.to_owned(),
                    self.machines[option.machine].name.clone(),
                    option.workers.to_string(),
                    duration(option.seconds),
                    significant(option.cost, 3),
                    format!("{:.3}", option.probability),
                    if option.extrapolated {
                        "beyond what was measured"
                    } else {
                        ""
                    }
                    .to_owned(),
                ]);
            }
            None => {
                table.row([
                    name,
                    "none",
                    "–",
                    "–",
                    "–",
                    "–",
                    "nothing keeps the deadline",
                ]);
            }
        };
        row("cheapest", &sizing.best);
        row("scale up", &sizing.scale_up);
        row("scale out", &sizing.scale_out);
        if sizing.best.is_none() {
            row("likeliest", &Some(sizing.likeliest.clone()));
        }
        out += &table.render(page.width, page.style);
        out.push('\n');
        for shape in &sizing.shapes {
            let name = &self.machines[shape.machine].name;
            out += &format!(
                "{name}: beyond {} workers each one more brings little",
                shape.knee
            );
            out += &match shape.slower_from {
                Some(from) => format!("; from {from} on it gets slower\n"),
                None => "\n".to_owned(),
            };
        }
        out
    }

    fn json(&self) -> Value {
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
