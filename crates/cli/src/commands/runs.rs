//! `paceline runs`: which runs of a study behave alike, and which is odd.

use super::study::place::results;
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use paceline_answers::behaviour::{Profiles, behaviour};
use paceline_answers::results::StudyResults;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The study: its directory or its file
    study: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn runs(args: &Args) -> Result<Exit, Failure> {
    let study = StudyResults::open(&results(&args.study)?)?;
    let answer = behaviour(Profiles::of_study(&study));
    output::data(&match args.format {
        Format::Text => paceline_report::behaviour::text(&answer, output::stdout_page()),
        Format::Json => output::json(&answer.json()),
    })?;
    Ok(Exit::Done)
}
