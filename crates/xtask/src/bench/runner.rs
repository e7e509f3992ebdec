//! What the runner adds to a command: `paceline study run` against Optuna and
//! Ray Tune with `subprocess`, all running `true`.
//!
//! Everybody is timed as a whole and then divided by the number of runs, less
//! the time that the bare command takes when this program starts it. Paceline's
//! time holds its start, its plan and its table; Optuna and Ray are timed
//! inside their process, imports and start excluded. They keep parameters and a
//! number per trial; Paceline keeps a journal, a manifest, the logs and the
//! samples of each run, on disk before the next one begins.
//!
//! Then, with nobody to compare with, the two listings that must stay quick:
//! planning 100,000 runs, and the status of a study of 10,000 finished ones.

use super::peers;
use crate::shell;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const OPTUNA: &str = include_str!("runner.py");
const OPTUNA_REQUIREMENTS: [&str; 1] = ["optuna==5.0.0"];
const RAY: &str = include_str!("runner_ray.py");

const RUNS: u32 = 500;
/// Ray starts a process per trial, so that fewer tell as much.
const RAY_RUNS: u32 = 50;
const TURNS: usize = 3;
const REPEATS: usize = 5;
/// 100,000 runs: every combination of two factors at a hundred levels, ten times.
const PLANNED: &str = r#"
[job]
command = ["true"]
reads_env = true
[factors]
a = { low = 1, high = 100, steps = 100 }
b = { low = 1, high = 100, steps = 100 }
[design]
replicates = 10
"#;
const LISTED: u32 = 10_000;

/// Prints the overhead of each, then the listings.
pub(crate) fn run() -> Result<()> {
    shell::run(
        "cargo",
        &["build", "--release", "--quiet", "-p", "paceline"],
    )?;
    let folder = Folder::new()?;
    let optuna = peers::python("optuna", "optuna", &OPTUNA_REQUIREMENTS);
    let mut least = Least::default();
    for turn in 1..=TURNS {
        println!("turn {turn} of {TURNS}");
        least.take("true, started bare", bare(RUNS)?);
        least.take("paceline study run", folder.study_run(RUNS)?);
        if let Ok(python) = &optuna {
            for (name, seconds) in peer(python, OPTUNA, RUNS, &folder.path)? {
                least.take(&name, seconds);
            }
        }
    }
    let ray = ray().map(|python| peer(&python, RAY, RAY_RUNS, &folder.path));

    let command = least.of("true, started bare")?;
    println!(
        "\nleast of {TURNS} turns, milliseconds per run; overhead is what exceeds the command"
    );
    println!("{:40} {:>10} {:>10}", "", "per run", "overhead");
    for (name, seconds) in &least.seconds {
        println!(
            "{name:40} {:>10.2} {:>10.2}",
            seconds * 1e3,
            (seconds - command) * 1e3
        );
    }
    if let Err(error) = optuna {
        println!("Optuna is absent: {error:#}");
    }
    match ray {
        Some(times) => {
            for (name, seconds) in times? {
                let overhead = (seconds - command) * 1e3;
                println!("{name:40} {:>10.2} {overhead:>10.2}", seconds * 1e3);
            }
        }
        None => println!("Ray Tune is absent: no `ray` in target/peers/ray"),
    }
    listings(&folder)
}

fn listings(folder: &Folder) -> Result<()> {
    println!("\nmaking {LISTED} runs to be listed");
    folder.study_run(LISTED)?;
    let plan = folder.path.join("planned.toml");
    fs::write(&plan, PLANNED)?;
    let plan = plan.to_string_lossy().into_owned();
    let listed = folder.study(LISTED).to_string_lossy().into_owned();
    println!("\nleast of {REPEATS}, seconds, the whole process");
    for (what, words) in [
        (
            "plan and print 100,000 runs",
            vec!["design", &plan, "--format", "csv"],
        ),
        ("status of 10,000 runs", vec!["study", "status", &listed]),
        (
            "status of 10,000 runs, as JSON",
            vec!["study", "status", &listed, "--format", "json"],
        ),
    ] {
        let mut least = Duration::MAX;
        for _ in 0..REPEATS {
            let (time, _) = timed(|| shell::output(&paceline(), &words))?;
            least = least.min(time);
        }
        println!("{what:40} {:>10.3}", least.as_secs_f64());
    }
    Ok(())
}

/// Seconds per run of the command alone.
fn bare(runs: u32) -> Result<f64> {
    let (time, ()) = timed(|| {
        for _ in 0..runs {
            let status = shell::command("true", &[])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()
                .context("cannot start `true`")?;
            ensure!(status.success(), "`true` failed");
        }
        Ok(())
    })?;
    Ok(time.as_secs_f64() / f64::from(runs))
}

/// Seconds per run of each way in which a peer runs the command.
fn peer(python: &Path, script: &str, runs: u32, folder: &Path) -> Result<Vec<(String, f64)>> {
    let place = folder.join("peer");
    recreate(&place)?;
    let printed = shell::output(
        &python.to_string_lossy(),
        &["-c", script, &runs.to_string(), &place.to_string_lossy()],
    )?;
    printed
        .lines()
        .map(|line| {
            let (name, seconds) = line
                .rsplit_once('|')
                .context("a peer prints its name and its time")?;
            Ok((name.to_owned(), seconds.parse::<f64>()? / f64::from(runs)))
        })
        .collect()
}

/// An environment with Ray, which is too large to be installed unasked.
fn ray() -> Option<PathBuf> {
    let python = peers::target().join("peers/ray/bin/python");
    shell::answers(&python.to_string_lossy(), &["-c", "import ray.tune"]).then_some(python)
}

/// Where the studies of this benchmark lie: beside what cargo builds, so that
/// writing to disk is part of the time.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Result<Self> {
        let path = std::path::absolute(peers::target().join("bench/runner"))?;
        recreate(&path)?;
        Ok(Self { path })
    }

    fn study(&self, runs: u32) -> PathBuf {
        self.path.join(format!("runs-{runs}.study"))
    }

    /// Writes a study of two trials with so many runs.
    fn write(&self, runs: u32) -> Result<PathBuf> {
        let file = self.path.join(format!("runs-{runs}.toml"));
        let text = format!(
            "[job]\ncommand = [\"true\"]\nreads_env = true\n[factors]\na = [1, 2]\n\
             [design]\nreplicates = {}\n",
            runs / 2
        );
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }

    /// Seconds per run of a new study.
    fn study_run(&self, runs: u32) -> Result<f64> {
        let file = self.write(runs)?.to_string_lossy().into_owned();
        let study = self.study(runs);
        if study.exists() {
            fs::remove_dir_all(&study)?;
        }
        let out = study.to_string_lossy().into_owned();
        let words = ["study", "run", &file, "--out", &out, "--quiet"];
        let (time, _) = timed(|| shell::output(&paceline(), &words))?;
        let table = fs::read_to_string(study.join("table.csv"))?;
        let done = table.matches(",done,").count();
        ensure!(done == runs as usize, "{done} of {runs} runs are done");
        Ok(time.as_secs_f64() / f64::from(runs))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Ten thousand runs are worth nothing once they are listed.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn recreate(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

fn paceline() -> String {
    let program = peers::target().join("release/paceline");
    program.to_string_lossy().into_owned()
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed(), result))
}

/// The least time of each, in the order in which they were first seen.
#[derive(Default)]
struct Least {
    seconds: Vec<(String, f64)>,
}

impl Least {
    fn take(&mut self, name: &str, seconds: f64) {
        match self.seconds.iter_mut().find(|(known, _)| known == name) {
            Some((_, least)) => *least = least.min(seconds),
            None => self.seconds.push((name.to_owned(), seconds)),
        }
    }

    fn of(&self, name: &str) -> Result<f64> {
        let found = self.seconds.iter().find(|(known, _)| known == name);
        found.map(|(_, seconds)| *seconds).context("it was timed")
    }
}
