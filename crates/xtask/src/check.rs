//! `check`: exactly what CI does, and `test`: its tests alone.

use crate::{companions, deny, shell, tidy};
use anyhow::Result;

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
    test(&[])?;
    shell::run(
        "cargo",
        &["test", "--locked", "--quiet", "--workspace", "--doc"],
    )?;
    let mut rustdoc = shell::command("cargo", &["doc", "--locked", "--workspace", "--no-deps"]);
    rustdoc.env("RUSTDOCFLAGS", "--deny warnings");
    shell::run_with(rustdoc)
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
    shell::run("cargo", &args)
}
