//! `check`: exactly what CI does, and `test`: its tests alone.

use crate::{cluster, companions, deny, python, shell, tidy};
use anyhow::Result;
use std::io::ErrorKind;
use std::path::Path;

/// Format, lints, tests, documentation and tidy, the quick ones first.
pub(crate) fn check() -> Result<()> {
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    tidy::tidy()?;
    deny::deny()?;
    shell::run(
        "cargo",
        &[
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ],
    )?;
    companions::invite();
    cluster::prepare();
    test(&[])?;
    python::check()?;
    shell::run(
        "cargo",
        &["test", "--locked", "--quiet", "--workspace", "--doc"],
    )?;
    let mut rustdoc = shell::command("cargo", &["doc", "--locked", "--workspace", "--no-deps"]);
    rustdoc.env("RUSTDOCFLAGS", "--deny warnings");
    shell::run_with(rustdoc)
}

/// Inputs that are nearly right, as many as fit the time: NAME, seconds, first case.
pub(crate) fn fuzz(words: &[String]) -> Result<()> {
    let mut args = vec!["run", "--locked", "--release", "-p", "paceline-fuzz", "--"];
    args.extend(words.iter().map(String::as_str));
    shell::run("cargo", &args)
}

/// All tests but doctests, by nextest where it is installed.
pub(crate) fn test(extra: &[String]) -> Result<()> {
    // Integration tests run the real binary: one build serves them all.
    shell::run("cargo", &["build", "--locked", "--workspace", "--bins"])?;
    let nextest = shell::answers("cargo", &["nextest", "--version"]);
    let mut args: Vec<&str> = if nextest {
        vec![
            "nextest",
            "run",
            "--locked",
            "--workspace",
            "--no-fail-fast",
        ]
    } else {
        println!("cargo-nextest is not installed: using cargo test");
        vec![
            "test",
            "--locked",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
        ]
    };
    args.extend(extra.iter().map(String::as_str));
    let skips = shell::workspace_root()?.join("target/skips.txt");
    if skips.exists() {
        std::fs::remove_file(&skips)?;
    }
    let mut command = shell::command("cargo", &args);
    command.env("PACELINE_SKIPS", &skips);
    let outcome = shell::run_with(command);
    tell(&skips)?;
    outcome
}

/// What the tests could not check on this machine, so that a green run does not hide it.
fn tell(skips: &Path) -> Result<()> {
    let text = match std::fs::read_to_string(skips) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    match lines.len() {
        0 => println!("no test was skipped for want of something on this machine"),
        1 => println!("1 test checked nothing here:"),
        n => println!("{n} tests checked nothing here:"),
    }
    for line in lines {
        println!("  {line}");
    }
    Ok(())
}
