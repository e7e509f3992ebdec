//! `python`: the tests of the Python module, with every Python that it supports.
//!
//! Each Python has a virtual environment below `target/python`. CI runs one of them;
//! without a Python that can install packages it says so and checks nothing.

use crate::shell;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

/// The versions that the module supports.
const VERSIONS: [&str; 5] = ["3.9", "3.10", "3.11", "3.12", "3.13"];
/// What the tests import, beside the module itself.
const PACKAGES: [&str; 4] = ["pytest", "pandas", "pyarrow", "polars"];
/// What checks the types.
const CHECKERS: [&str; 3] = ["mypy", "pyright", "pandas-stubs"];

/// Tests with all supported versions that are there, or with those that are named, and
/// checks the types with the newest.
pub(crate) fn python(words: &[String]) -> Result<()> {
    let versions: Vec<&str> = match words {
        [] => VERSIONS.to_vec(),
        words => words.iter().map(String::as_str).collect(),
    };
    let mut tested = Vec::new();
    for version in &versions {
        ensure!(VERSIONS.contains(version), "{version} is not supported");
        let Some(interpreter) = interpreter(version) else {
            println!("there is no Python {version} here");
            continue;
        };
        let python = environment(version, &interpreter, &PACKAGES)?;
        test(&python)?;
        tested.push(*version);
    }
    let Some(newest) = tested.last() else {
        bail!("none of the Pythons {} is here", versions.join(", "));
    };
    let python = environment(newest, Path::new(""), &CHECKERS)?;
    let python = python.to_string_lossy();
    shell::run(&python, &["-m", "mypy"])?;
    shell::run(&python, &["-m", "pyright"])?;
    println!("tested with Python {}", tested.join(", "));
    Ok(())
}

/// The tests with one Python, as CI runs them: a machine without one, or without
/// packages for it, is told and no failure.
pub(crate) fn check() -> Result<()> {
    let found = VERSIONS.iter().rev().find_map(|version| {
        let interpreter = interpreter(version)?;
        Some(environment(version, &interpreter, &PACKAGES))
    });
    match found {
        Some(Ok(python)) => test(&python),
        Some(Err(error)) => {
            println!("the Python module was not tested: {error:#}");
            Ok(())
        }
        None => {
            println!("the Python module was not tested: there is no Python 3.9 to 3.13 here");
            Ok(())
        }
    }
}

fn test(python: &Path) -> Result<()> {
    shell::run("cargo", &["build", "--locked", "--bin", "paceline"])?;
    let root = shell::workspace_root()?;
    let mut tests = shell::command(&python.to_string_lossy(), &["-m", "pytest", "-q", "-rs"]);
    tests.env("PYTHONPATH", root.join("python"));
    tests.env("PACELINE_BIN", root.join("target/debug/paceline"));
    shell::run_with(tests)
}

/// The Python of a virtual environment that has `packages`; makes what is missing.
pub(crate) fn environment(name: &str, interpreter: &Path, packages: &[&str]) -> Result<PathBuf> {
    let folder = shell::workspace_root()?.join("target/python").join(name);
    let python = folder.join("bin/python");
    if !python.exists() {
        let folder = folder.to_string_lossy();
        shell::run(&interpreter.to_string_lossy(), &["-m", "venv", &folder])?;
    }
    // Bounded: a machine without a network must not wait for one.
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--retries=1",
        "--timeout=20",
    ];
    let words = [&install[..], packages].concat();
    shell::run(&python.to_string_lossy(), &words).context("packages cannot be installed")?;
    Ok(python)
}

/// A Python of this version: on the path, or one of pyenv's.
pub(crate) fn interpreter(version: &str) -> Option<PathBuf> {
    let works = |path: &Path| {
        let script =
            format!("import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')");
        shell::answers(&path.to_string_lossy(), &["-c", &script])
    };
    let named = PathBuf::from(format!("python{version}"));
    if works(&named) {
        return Some(named);
    }
    let root = shell::output("pyenv", &["root"]).ok()?;
    let installed = Path::new(root.trim()).join("versions").read_dir().ok()?;
    let mut found: Vec<PathBuf> = installed
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with(&format!("{version}."))
        })
        .map(|entry| entry.path().join("bin/python"))
        .filter(|path| works(path))
        .collect();
    found.sort_unstable();
    found.pop()
}
