//! `paceline completions`: what a shell needs to complete commands and flags.

use crate::args;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(args: &Args) -> Result<Exit, Failure> {
    let mut command = args::Args::command();
    let mut script = Vec::new();
    generate(args.shell, &mut command, "paceline", &mut script);
    output::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
