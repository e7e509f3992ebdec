//! `deny`: advisories, licences, duplicates and sources of the dependencies.
//!
//! `cargo deny` clones its advisories from a repository. A machine without that
//! network has the committed snapshot instead: it becomes a repository below
//! `target`, which git is told to clone in place of the one that `cargo deny` names.

use crate::shell;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The version whose configuration `deny.toml` is written for.
const VERSION: &str = "0.20.2";

const SNAPSHOT: &str = ".config/advisories";

/// Stands for the snapshot in the configuration, which must name a host.
const DATABASE: &str = "https://advisories.localhost/";

/// Runs `cargo deny`, building it first where it is missing.
pub(crate) fn deny() -> Result<()> {
    let program = program()?;
    let root = shell::workspace_root()?;
    let config = configuration(&root)?;
    let program = program.to_string_lossy();
    let config = config.to_string_lossy();
    let mut command = shell::command(
        &program,
        &[
            "--locked",
            "--config",
            &config,
            "check",
            "advisories",
            "bans",
            "licenses",
            "sources",
        ],
    );
    let local = format!("url.file://{}/target/deny/.insteadOf", root.display());
    command
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", local)
        .env("GIT_CONFIG_VALUE_0", DATABASE);
    shell::run_with(command)
}

/// The installed `cargo-deny`, or one built once below `target`.
fn program() -> Result<PathBuf> {
    if shell::answers("cargo-deny", &["--version"]) {
        return Ok(PathBuf::from("cargo-deny"));
    }
    let tools = Path::new("target/tools");
    let built = tools.join("bin/cargo-deny");
    if !built.exists() {
        println!("cargo-deny is not installed: it is built once, below target/tools");
        shell::run(
            "cargo",
            &[
                "install",
                "cargo-deny",
                "--locked",
                "--version",
                VERSION,
                "--root",
                &tools.to_string_lossy(),
            ],
        )?;
    }
    std::fs::canonicalize(&built).with_context(|| format!("{} is missing", built.display()))
}

/// `deny.toml` with the snapshot as its database of advisories.
fn configuration(root: &Path) -> Result<PathBuf> {
    let target = root.join("target/deny");
    let database = target.join("advisories");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    std::fs::create_dir_all(&target)?;
    let database = database.to_string_lossy().into_owned();
    let git = |words: &[&str]| {
        let identity = [
            "-C",
            &database,
            "-c",
            "user.name=xtask",
            "-c",
            "user.email=xtask@localhost",
        ];
        shell::output("git", &[&identity[..], words].concat())
    };
    shell::run("cp", &["-r", SNAPSHOT, &database])?;
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message", "snapshot"])?;
    let text = std::fs::read_to_string(root.join("deny.toml")).context("cannot read deny.toml")?;
    let advisories = format!(
        "[advisories]\ndb-path = \"{}\"\ndb-urls = [\"{DATABASE}advisories\"]\ngit-fetch-with-cli = true",
        target.join("clones").display()
    );
    let config = target.join("deny.toml");
    std::fs::write(&config, text.replacen("[advisories]", &advisories, 1))?;
    Ok(config)
}
