//! `paceline`: how fast training can go, what holds it back, and which
//! configuration meets the deadline.

mod args;
mod commands;
mod context;
mod engines;
mod exit;
mod failure;
mod instructions;
mod out_file;
mod output;
mod quantity;
mod records;
mod screen;
mod signals;
mod study_file;
mod warden;

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match instructions::choose().and_then(|()| args.run(&words)) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}
