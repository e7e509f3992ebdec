//! Peers of a benchmark: their Python environments, and what they print.

use super::Options;
use crate::shell;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the peers' own scripts lie.
const SCRIPTS: &str = "crates/xtask/src/bench/peers";

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The interpreter of the environment `target/peers/<name>`, in which `module`
/// can be imported; it is made from `requirements` if it is absent.
pub(crate) fn python(name: &str, module: &str, requirements: &[&str]) -> Result<PathBuf> {
    python_of(&["python3"], name, module, requirements)
}

/// As [`python`], with the first of these interpreters that is installed.
pub(crate) fn python_of(
    interpreters: &[&str],
    name: &str,
    module: &str,
    requirements: &[&str],
) -> Result<PathBuf> {
    let folder = target().join("peers").join(name);
    // A path with a folder in it is taken as it is, wherever a script runs.
    let python = std::path::absolute(folder.join("bin/python"))?;
    let shown = python.to_string_lossy().into_owned();
    if !shell::answers(&shown, &["-c", &format!("import {module}")]) {
        let found = interpreters
            .iter()
            .find(|program| shell::answers(program, &["--version"]));
        let Some(interpreter) = found else {
            bail!("it needs {}", interpreters.join(" or "));
        };
        shell::run(interpreter, &["-m", "venv", &folder.to_string_lossy()])?;
        let install = ["-m", "pip", "install", "--quiet"];
        shell::run(&shown, &[&install[..], requirements].concat())?;
    }
    Ok(python)
}

/// PyTorch: the last one on PyPI that brings no CUDA packages.
pub(crate) fn torch() -> Result<PathBuf> {
    let requirements = ["torch==1.12.1", "numpy<2"];
    python_of(
        &["python3.10", "python3.9"],
        "torch",
        "torch",
        &requirements,
    )
}

/// TensorFlow for CPUs.
pub(crate) fn tensorflow() -> Result<PathBuf> {
    let interpreters = ["python3.12", "python3.11", "python3.13", "python3.10"];
    let requirements = ["tensorflow-cpu==2.21.0"];
    python_of(&interpreters, "tensorflow", "tensorflow", &requirements)
}

/// MXNet, whose last release needs an old NumPy.
pub(crate) fn mxnet() -> Result<PathBuf> {
    let requirements = ["mxnet==1.9.1", "numpy<1.24"];
    python_of(&["python3.8"], "mxnet", "mxnet", &requirements)
}

/// scikit-learn, with SciPy.
pub(crate) fn scikit_learn() -> Result<PathBuf> {
    python("scikit-learn", "sklearn", &["scikit-learn==1.9.1"])
}

/// Sees to it that a program of Debian's packages answers.
pub(crate) fn debian(program: &str, packages: &[&str], options: Options) -> Result<()> {
    if shell::answers(program, &["--version"]) {
        return Ok(());
    }
    let install = [
        &["install", "--yes", "--no-install-recommends"][..],
        packages,
    ]
    .concat();
    if !options.apt {
        bail!(
            "`{program}` is not installed; `apt-get {}`, or --apt as root",
            install.join(" ")
        );
    }
    shell::run("apt-get", &install)
}

/// A script of a peer, with the folder of the workspace as its place.
pub(crate) fn script(python: &Path, name: &str, words: &[&str]) -> Command {
    let path = format!("{SCRIPTS}/{name}");
    let words = [&[path.as_str()][..], words].concat();
    let mut command = shell::command(&python.to_string_lossy(), &words);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A file next to the peers' scripts.
pub(crate) fn source(name: &str) -> String {
    format!("{SCRIPTS}/{name}")
}

/// What peers said before they ended, and what went wrong, if anything.
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) trouble: Option<anyhow::Error>,
}

/// Starts processes that belong together, waits for the first, returns what it
/// printed and ends the others. None outlives `patience`.
pub(crate) fn together(commands: Vec<Command>, patience: Duration) -> Result<Printed> {
    together_from(commands, 1, patience)
}

/// As [`together`], waiting for the first `speakers` and returning what they
/// printed one after the other.
pub(crate) fn together_from(
    commands: Vec<Command>,
    speakers: usize,
    patience: Duration,
) -> Result<Printed> {
    let folder = std::path::absolute(target().join("bench"))?;
    std::fs::create_dir_all(&folder)?;
    // What a peer prints goes to files: nobody waits for a full pipe.
    let file = |kind: &str, index: usize| folder.join(format!("{kind}-{index}"));
    let mut members = Vec::new();
    for (index, mut command) in commands.into_iter().enumerate() {
        let shown = command.get_program().to_string_lossy().into_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(file("printed", index))?)
            .stderr(File::create(file("complaints", index))?)
            .spawn()
            .with_context(|| format!("cannot start `{shown}`"))?;
        members.push(Ended(child));
    }
    let begun = now();
    let mut printed = Printed {
        text: String::new(),
        trouble: None,
    };
    for (index, member) in members.iter_mut().enumerate().take(speakers) {
        if let Err(trouble) = member.finish(begun, patience) {
            let text = fs::read_to_string(file("complaints", index)).unwrap_or_default();
            let last = text.lines().last().unwrap_or_default().to_owned();
            printed.trouble = Some(trouble.context(last));
        }
        // Tasks before the trouble count.
        printed
            .text
            .push_str(&fs::read_to_string(file("printed", index))?);
    }
    Ok(printed)
}

/// A process that is ended with the benchmark, whatever happens.
struct Ended(Child);

impl Ended {
    fn finish(&mut self, begun: Instant, patience: Duration) -> Result<()> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                ensure!(status.success(), "{status}");
                return Ok(());
            }
            ensure!(begun.elapsed() < patience, "no end after {patience:?}");
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo names the target folder by the environment"
    )]
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from)
}
