//! `paceline size`: machines for a deadline at least cost.

use super::table_args::{TableArgs, settings};
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::quantity;
use paceline_answers::size::{SizeQuestion, prices, size as sized};
use paceline_model::Level;
use std::path::PathBuf;
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
    #[arg(
        long,
        value_name = "PROBABILITY",
        default_value_t = 0.95,
        allow_negative_numbers = true
    )]
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

pub(crate) fn size(args: &Args) -> Result<Exit, Failure> {
    let question = SizeQuestion {
        machines: prices(&args.prices)?,
        given: args.given.clone().unwrap_or_default(),
        time: args.time.clone(),
        deadline_s: args.deadline.as_secs_f64(),
        confidence: args.confidence,
        most_workers: args.workers,
        work: args.work,
        measured_cores: args.cores,
    };
    let answer = sized(&args.table.open()?, &question)?;
    output::data(&match args.format {
        Format::Text => paceline_report::size::text(&answer, output::stdout_page()),
        Format::Json => output::json(&answer.json()),
    })?;
    Ok(match answer.sizing.best {
        Some(_) => Exit::Done,
        None => Exit::Unmet,
    })
}
