//! Programs a cluster consists of: fetched where they are missing, left in place
//! afterwards.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Installs the Debian packages of those programs that are missing.
pub(crate) fn debian(programs: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<&str> = programs
        .iter()
        .filter(|(program, _)| !exists(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !shell::answers("apt-get", &["--version"]) {
        bail!(
            "install {} first: there is no apt-get here",
            missing.join(", ")
        );
    }
    // Bounded: a machine without a network must not wait for one.
    let bounds = [
        "--option=Acquire::Retries=1",
        "--option=Acquire::http::Timeout=20",
    ];
    shell::run("apt-get", &[&bounds[..], &["update", "--quiet"]].concat())?;
    let words = ["install", "--yes", "--quiet", "--no-install-recommends"];
    shell::run("apt-get", &[&bounds[..], &words, &missing].concat())?;
    match programs.iter().find(|(program, _)| !exists(program)) {
        Some((program, package)) => bail!("{package} was installed and has no {program}"),
        None => Ok(()),
    }
}

/// True if a program lies where root's programs lie.
fn exists(program: &str) -> bool {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists())
}

/// A Python environment with `packages`, below `target`; made once.
pub(crate) fn python(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = shell::workspace_root()?
        .join("target/cluster-python")
        .join(name);
    let done = folder.join("complete");
    let wanted = packages.join(" ");
    if std::fs::read_to_string(&done).is_ok_and(|text| text == wanted) {
        return Ok(folder);
    }
    let path = folder.to_string_lossy().into_owned();
    if shell::run("python3", &["-m", "venv", &path]).is_err() {
        debian(&[("python3", "python3")])?;
        shell::run("apt-get", &["install", "--yes", "--quiet", "python3-venv"])?;
        shell::run("python3", &["-m", "venv", &path])?;
    }
    let pip = folder.join("bin/pip").to_string_lossy().into_owned();
    // Bounded: a machine without a network must not wait for one.
    let words = ["install", "--quiet", "--disable-pip-version-check"];
    let bounds = ["--timeout=20", "--retries=1"];
    let words = [&["600", &pip][..], &words, &bounds, packages].concat();
    shell::run("timeout", &words)?;
    std::fs::write(&done, wanted).with_context(|| format!("cannot write {}", done.display()))?;
    Ok(folder)
}
