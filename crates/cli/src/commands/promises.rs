//! `paceline promises`: what was promised of runs, held against what came.

use super::study::place::{look, results};
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use paceline_answers::promises::{PromisesError, of_study};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The study: its directory or its file
    study: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn promises(args: &Args) -> Result<Exit, Failure> {
    let name = &args.study;
    let is_table = name.is_file() && name.extension().is_none_or(|ending| ending != "toml");
    if is_table {
        return Err(PromisesError::NoStudy(name.display().to_string()).into());
    }
    let answer = of_study(&look(&results(name)?, None)?);
    output::data(&match args.format {
        Format::Text => paceline_report::promises::text(&answer, output::stdout_page()),
        Format::Json => output::json(&answer.json()),
    })?;
    Ok(Exit::Done)
}
