//! The daily commands of Paceline's developers, as `cargo xtask NAME`.
//!
//! `check` is exactly CI. The commands set up what they need and say what they
//! could not do; they deliberately know nothing of the product's own logic.

#![expect(
    clippy::print_stdout,
    reason = "a developer's command prints its results"
)]

mod bench;
mod check;
mod cluster;
mod companions;
mod deny;
mod dist;
mod python;
mod shell;
mod tidy;

use anyhow::{Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check          everything CI does: format, lints, tests, documentation, tidy
  test [ARGS]    the tests alone; ARGS go to the test runner
  tidy           the rules no compiler checks: the crate map, file sizes, unused dependencies
  deny           advisories, licences, duplicates and sources of the dependencies
  fuzz NAME      inputs that are nearly right, for hours: [SECONDS] [FIRST CASE] [CASES]
  bench [NAME]   side-by-side benchmarks; without a name, lists them
  python [3.X]   the tests of the Python module, with all Pythons that it supports
  dist [--test]  wheel, tarball, Debian package and crates; --test installs and tries each
  cluster KIND   a real cluster on this machine: up, down, status, slow, cut";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    std::env::set_current_dir(shell::workspace_root()?)?;
    match words.split_first() {
        Some((command, [])) if command == "check" => check::check(),
        Some((command, rest)) if command == "test" => check::test(rest),
        Some((command, [])) if command == "tidy" => tidy::tidy(),
        Some((command, [])) if command == "deny" => deny::deny(),
        Some((command, rest)) if command == "fuzz" => check::fuzz(rest),
        Some((command, rest)) if command == "bench" => bench::bench(rest),
        Some((command, rest)) if command == "python" => python::python(rest),
        Some((command, rest)) if command == "dist" => dist::dist(rest),
        Some((command, rest)) if command == "cluster" => cluster::cluster(rest),
        _ => bail!("unknown command\n\n{USAGE}"),
    }
}
