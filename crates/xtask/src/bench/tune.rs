//! Bayesian search against Optuna's TPE: the same problems, as many runs.
//!
//! What is compared is regret: how much worse than the best there is the
//! configuration is that a search would use in the end, by its true cost. Both
//! sides search every problem from many seeds; the median is judged. The real
//! training is made once for every combination of levels, and both sides look the
//! results up.

use super::machine::Machine;
use super::table::Table;
use super::{Options, book, peers};
use crate::shell;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const REQUIREMENTS: [&str; 1] = ["optuna==5.0.0"];
/// Searches of each problem by each side.
const SEEDS: u32 = 50;
const QUICK_SEEDS: u32 = 2;

/// Prints the table and writes it down.
pub(crate) fn run(options: Options) -> Result<()> {
    let machine = Machine::look()?;
    options.build(&["paceline-advise", "--example", "bench_tune"])?;
    options.build(&["paceline"])?;
    let folder = std::path::absolute(peers::target().join("bench"))?;
    fs::create_dir_all(&folder)?;
    let trainings = folder.join("trainings.csv");
    let trained = train_all(&trainings, options)?;
    let seeds = if options.quick { QUICK_SEEDS } else { SEEDS };
    let ours = peers::target().join("release/examples/bench_tune");
    let (ours, table) = (ours.to_string_lossy(), trainings.to_string_lossy());
    let mut found = Regrets::default();
    found.take(
        Side::Own,
        &shell::output(&ours, &[&seeds.to_string(), &table])?,
    )?;
    if !options.alone {
        let python = peers::python("optuna", "optuna", &REQUIREMENTS)?;
        agree(&python, &shell::output(&ours, &["--check"])?, &folder)?;
        let words = [seeds.to_string(), table.into_owned()];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let printed = peers::script(&python, "tune_optuna.py", &words)
            .stdin(Stdio::null())
            .output()
            .context("cannot start Optuna")?;
        let complaint = String::from_utf8_lossy(&printed.stderr);
        ensure!(printed.status.success(), "Optuna: {complaint}");
        found.take(Side::Peer, &String::from_utf8_lossy(&printed.stdout))?;
    }
    let section = format!(
        "## Searching\n\n{}\n\nMedian regret of {seeds} searches (25% and 75% in brackets): by how \
         much the true cost of the configuration that a search ends with is above the least \
         there is. `paceline tune --strategy bayes` against {}'s TPE sampler as it is by default, \
         with as many runs. {trained}\n\n{}",
        machine.line(),
        found.peer.as_deref().unwrap_or("nobody"),
        found.table()
    );
    println!("\n{section}");
    if options.quick || options.alone {
        return Ok(());
    }
    book::write("tune", &section)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Own,
    Peer,
}

/// The regrets of every problem, in the order in which they were first seen.
#[derive(Default)]
struct Regrets {
    problems: Vec<Problem>,
    peer: Option<String>,
}

struct Problem {
    name: String,
    runs: u64,
    own: Vec<f64>,
    peer: Vec<f64>,
}

impl Regrets {
    fn take(&mut self, side: Side, printed: &str) -> Result<()> {
        for line in printed.lines().filter(|line| line.starts_with('{')) {
            let value: Value =
                serde_json::from_str(line).with_context(|| format!("not a JSON line: {line}"))?;
            if let Some(peer) = value["peer"].as_str() {
                self.peer = Some(peer.to_owned());
                continue;
            }
            let name = value["problem"]
                .as_str()
                .context("a line names its problem")?;
            let regret = value["regret"].as_f64().context("a search has a regret")?;
            let runs = value["runs"].as_u64().context("a search has runs")?;
            let known = self
                .problems
                .iter_mut()
                .position(|problem| problem.name == name);
            let at = known.unwrap_or_else(|| {
                self.problems.push(Problem {
                    name: name.to_owned(),
                    runs,
                    own: Vec::new(),
                    peer: Vec::new(),
                });
                self.problems.len() - 1
            });
            let problem = &mut self.problems[at];
            ensure!(
                problem.runs == runs,
                "{name}: {runs} runs against {}",
                problem.runs
            );
            match side {
                Side::Own => problem.own.push(regret),
                Side::Peer => problem.peer.push(regret),
            }
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["problem", "runs", "Paceline", "Optuna TPE", "no worse"]);
        for problem in &self.problems {
            let cell = |regrets: &[f64]| match quartiles(regrets) {
                Some([low, middle, high]) => {
                    format!("{} ({} to {})", short(middle), short(low), short(high))
                }
                None => "–".to_owned(),
            };
            let verdict = match (quartiles(&problem.own), quartiles(&problem.peer)) {
                (Some([_, own, _]), Some([_, peer, _])) if own <= peer => "met",
                (Some(_), Some(_)) => "not met",
                _ => "–",
            };
            table.row([
                problem.name.clone(),
                problem.runs.to_string(),
                cell(&problem.own),
                cell(&problem.peer),
                verdict.to_owned(),
            ]);
        }
        table
    }
}

/// Two digits, or what is next to nothing.
fn short(regret: f64) -> String {
    if regret.abs() < 1e-9 {
        return "0".to_owned();
    }
    format!("{regret:.1e}")
}

fn quartiles(values: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| sorted.get((part * (sorted.len().max(1) - 1) as f64).round() as usize);
    Some([*at(0.25)?, *at(0.5)?, *at(0.75)?])
}

/// Both sides search the same functions.
fn agree(python: &Path, checks: &str, folder: &Path) -> Result<()> {
    let file = folder.join("tune-checks.jsonl");
    fs::write(&file, checks)?;
    let output = peers::script(
        python,
        "tune_optuna.py",
        &["check", &file.to_string_lossy()],
    )
    .stdin(Stdio::null())
    .output()
    .context("cannot start Optuna")?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for line in String::from_utf8_lossy(&output.stdout).lines().skip(1) {
        let value: Value = serde_json::from_str(line)?;
        let apart = value["apart"]
            .as_f64()
            .context("a check says how far apart")?;
        ensure!(
            apart < 1e-9,
            "both sides' {} differ by {apart}",
            value["problem"]
        );
    }
    Ok(())
}

const OPTIMIZERS: [&str; 3] = ["sgd", "momentum:0.9", "adam"];
const RATES: [f64; 9] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
const BATCHES: [u32; 3] = [32, 128, 512];

/// Trains every combination of levels and writes a line of each: levels, then the
/// share of the test rows that it gets wrong. Says what was trained.
fn train_all(path: &Path, options: Options) -> Result<String> {
    let data = if options.quick {
        "mnist:1000"
    } else {
        "mnist:6000"
    };
    let mut text = "optimizer,learning_rate,batch_size,test_error\n".to_owned();
    for (number, optimizer) in OPTIMIZERS.iter().enumerate() {
        for rate in RATES {
            for batch in BATCHES {
                let error = test_error(data, optimizer, rate, batch)?;
                text += &format!("{number},{rate},{batch},{error}\n");
            }
        }
    }
    fs::write(path, text)?;
    Ok(format!(
        "The real training is `mlp:32` on `{data}`, 2 epochs, by optimizer, learning rate and \
         batch size: {} trainings, of which a search makes 30; its cost is the test error.",
        OPTIMIZERS.len() * RATES.len() * BATCHES.len()
    ))
}

fn test_error(data: &str, optimizer: &str, rate: f64, batch: u32) -> Result<f64> {
    let (rate, batch) = (rate.to_string(), batch.to_string());
    let words = [
        "trainer",
        "mlp:32",
        "--data",
        data,
        "--epochs",
        "2",
        "--threads",
        "1",
        "--seed",
        "1",
        "--no-checkpoint",
        "--schedule",
        "constant",
        "--optimizer",
        optimizer,
        "--learning-rate",
        &rate,
        "--batch-size",
        &batch,
    ];
    let output = shell::command(&program().to_string_lossy(), &words)
        .stdin(Stdio::null())
        .output()
        .context("cannot start paceline")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    // A training that diverged guesses.
    Ok(last_accuracy(&printed).map_or(0.9, |accuracy| 1.0 - accuracy / 100.0))
}

/// The last test accuracy that a trainer printed, in percent.
fn last_accuracy(printed: &str) -> Option<f64> {
    let (_, rest) = printed.rsplit_once("test accuracy")?;
    rest.split('%').next()?.trim().parse().ok()
}

fn program() -> PathBuf {
    peers::target().join("release/paceline")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_decides_and_unequal_runs_are_refused() {
        let line =
            |regret: f64| format!("{{\"problem\": \"p\", \"runs\": 9, \"regret\": {regret}}}");
        let mut found = Regrets::default();
        let own = [line(1.0), line(2.0), line(9.0)].join("\n");
        found.take(Side::Own, &own).unwrap();
        let peer = format!(
            "{{\"peer\": \"Optuna 5\"}}\n{}\n{}\n{}",
            line(1.5),
            line(2.5),
            line(3.0)
        );
        found.take(Side::Peer, &peer).unwrap();
        let table = found.table().to_string();
        assert!(
            table.contains(" met |") && !table.contains("not met"),
            "{table}"
        );
        assert_eq!(quartiles(&found.problems[0].own).unwrap()[1], 2.0);
        let more = "{\"problem\": \"p\", \"runs\": 10, \"regret\": 1}";
        assert!(found.take(Side::Own, more).is_err());
    }

    #[test]
    fn the_last_accuracy_of_a_log_counts() {
        let log = "epoch 1  test loss 0.4  test accuracy  88.10%   1 s\n\
                   epoch 2  test loss 0.3  test accuracy  91.25%   2 s\n";
        assert_eq!(last_accuracy(log), Some(91.25));
        assert_eq!(last_accuracy("diverged"), None);
    }
}
