//! `paceline export`: a run's tables for other tools.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::records::{find, open};
use clap::ValueEnum;
use paceline_records::{ExportError, Run, SealRunError, State, export_csv};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its directory; or, in ./runs, its id, its name, a unique beginning of either,
    /// `last` or -1 for the newest, -2 for the one before
    #[arg(allow_negative_numbers = true)]
    run: PathBuf,
    /// The format to write
    #[arg(long, value_enum)]
    to: To,
    /// Where to; by default `csv` inside the run's directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    /// One CSV file per table
    Csv,
    /// The record's own Parquet files; closes an interrupted record first
    Parquet,
}

pub(crate) fn export(args: &Args) -> Result<Exit, Failure> {
    let dir = find(Some(&args.run))?;
    let run = open(&dir)?;
    let files = match args.to {
        To::Csv => {
            let out = args.out.clone().unwrap_or_else(|| dir.join("csv"));
            export_csv(&run, &out).map_err(|error| match error {
                ExportError::Read(_) => Failure::record(error),
                ExportError::Write(_) => Failure::world(error),
            })?
        }
        To::Parquet => parquet(run)?,
    };
    let lines: String = files
        .iter()
        .map(|file| format!("{}\n", file.display()))
        .collect();
    output::data(&lines)?;
    Ok(Exit::Done)
}

/// A finished record holds its Parquet files already.
fn parquet(run: Run) -> Result<Vec<PathBuf>, Failure> {
    let run = match run.state() {
        State::Finished => run,
        State::Interrupted | State::Live => Run::seal(run.dir()).map_err(|error| match error {
            SealRunError::Live { .. } => {
                Failure::user(error).hint("wait for its end, or export --to csv what there is")
            }
            other => Failure::world(other),
        })?,
    };
    let nodes = run.nodes().map_err(Failure::record)?;
    let tables = nodes.iter().flat_map(|node| {
        ["parquet", "parts.parquet"]
            .map(|end| run.dir().join("samples").join(format!("{node}.{end}")))
    });
    Ok(tables.chain([run.dir().join("events.parquet")]).collect())
}
