//! What the user typed.

use crate::exit::Exit;
use crate::failure::Failure;
use clap::Parser;

/// Profiles, designs, runs, explains and tunes distributed model training.
#[derive(Debug, Parser)]
#[command(name = "paceline", version, about, max_term_width = 100)]
pub(crate) struct Args {}

impl Args {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        Ok(Exit::Done)
    }
}
