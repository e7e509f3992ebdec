//! `paceline man`: manual pages, from what the program says of itself.

use crate::args;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::output;
use anyhow::{Context, anyhow};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to: a directory that is there, such as ~/.local/share/man/man1
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn man(args: &Args) -> Result<Exit, Failure> {
    if !args.out.is_dir() {
        return Err(
            Failure::user(anyhow!("{} is not a directory", args.out.display()))
                .hint("make it first, as with mkdir -p"),
        );
    }
    let mut command = args::Args::command();
    // Gives every command below its name as a whole, such as paceline-study-run.
    command.build();
    let mut written = String::new();
    write(&command, &args.out, &mut written)?;
    output::data(&written)?;
    Ok(Exit::Done)
}

/// Writes the page of a command and those of the commands below it.
fn write(command: &Command, dir: &Path, written: &mut String) -> Result<(), Failure> {
    if command.is_hide_set() || command.get_name() == "help" {
        return Ok(());
    }
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let mut page = Vec::new();
    Man::new(command.clone())
        .render(&mut page)
        .with_context(|| format!("the page of {name}"))
        .map_err(Failure::world)?;
    let file = OutFile::create(&dir.join(format!("{name}.1")))?;
    let path = file.finish(&String::from_utf8_lossy(&page))?;
    written.push_str(&format!("{}\n", path.display()));
    for below in command.get_subcommands() {
        write(below, dir, written)?;
    }
    Ok(())
}
