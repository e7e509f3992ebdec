//! `paceline`: how fast training can go, what holds it back, and which
//! configuration meets the deadline.

mod args;
mod commands;
mod context;
mod exit;
mod failure;
mod output;
mod quantity;
mod records;
mod screen;
mod signals;
mod study_file;
mod tui;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match args.run() {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}
