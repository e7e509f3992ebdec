//! Python environments with the peers of a benchmark.

use crate::shell;
use anyhow::Result;
use std::path::PathBuf;

/// The interpreter of the environment `target/peers/<name>`, in which `module`
/// can be imported; it is made from `requirements` if it is absent.
pub(crate) fn python(name: &str, module: &str, requirements: &[&str]) -> Result<PathBuf> {
    let folder = target().join("peers").join(name);
    let python = folder.join("bin/python");
    let shown = python.to_string_lossy().into_owned();
    if !shell::answers(&shown, &["-c", &format!("import {module}")]) {
        shell::run("python3", &["-m", "venv", &folder.to_string_lossy()])?;
        let install = ["-m", "pip", "install", "--quiet"];
        shell::run(&shown, &[&install[..], requirements].concat())?;
    }
    Ok(python)
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo names the target folder by the environment"
    )]
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from)
}
