//! Starting other programs from a developer's command.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The folder of the workspace, wherever the command was typed.
pub(crate) fn workspace_root() -> Result<PathBuf> {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(PathBuf::from)
        .context("the xtask crate lies two folders below the workspace")
}

/// A command that is not started yet.
pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "xtask drives cargo and benchmark peers"
    )]
    let mut command = Command::new(program);
    command.args(args);
    command
}

/// Runs a program to its end, its output passed through; a failure is an error.
pub(crate) fn run(program: &str, args: &[&str]) -> Result<()> {
    run_with(command(program, args))
}

/// As [`run`], for a command with more than arguments.
pub(crate) fn run_with(mut command: Command) -> Result<()> {
    let shown = show(&command);
    println!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

/// What a program prints on stdout.
pub(crate) fn output(program: &str, args: &[&str]) -> Result<String> {
    let mut command = command(program, args);
    let shown = show(&command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed no text"))
}

/// True if a program answers to its own version flag.
pub(crate) fn answers(program: &str, args: &[&str]) -> bool {
    command(program, args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
