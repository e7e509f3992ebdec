//! Forests and boosting against scikit-learn: the same tables, trees and number
//! of threads.
//!
//! Both are timed inside their process, imports and loading excluded, and take
//! turns, so that a disturbance of the machine meets both. A time is the least
//! of all turns. scikit-learn predicts one row with one thread, which is its
//! fastest; everything else may use two.

use super::peers;
use crate::shell;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

const PEER: &str = include_str!("learn.py");
const REQUIREMENTS: [&str; 1] = ["scikit-learn==1.9.1"];
const TABLES: &str = "crates/learn/oracle/ensembles.json";
const TURNS: usize = 3;

/// Prints the least time of each task and the ratio.
pub(crate) fn run() -> Result<()> {
    let words = ["build", "--release", "--quiet", "-p", "paceline-learn"];
    shell::run(
        "cargo",
        &[&words[..], &["--example", "bench_learn"]].concat(),
    )?;
    let ours = peers::target().join("release/examples/bench_learn");
    let python = match peers::python("scikit-learn", "sklearn", &REQUIREMENTS) {
        Ok(python) => Some(python),
        Err(error) => {
            println!("scikit-learn is absent: {error:#}");
            None
        }
    };
    let mut own_times = Times::default();
    let mut peer_times = Times::default();
    for turn in 1..=TURNS {
        println!("turn {turn} of {TURNS}");
        own_times.take(&shell::output(&ours.to_string_lossy(), &[])?)?;
        if let Some(python) = &python {
            peer_times.take(&peer_output(python)?)?;
        }
    }
    println!("\nleast of {TURNS} turns, milliseconds");
    println!(
        "{:52} {:>10} {:>13} {:>9}",
        "task", "paceline", "scikit-learn", "ratio"
    );
    for (task, ours) in &own_times.least {
        print!("{task:52} {:>10.3}", ours * 1e3);
        match peer_times.of(task) {
            Some(theirs) => println!(" {:>13.3} {:>8.1}x", theirs * 1e3, theirs / ours),
            None => println!(" {:>13}", "absent"),
        }
    }
    if let Some(peer) = peer_times.peer {
        println!("\n{peer}; two threads each, and one where one row is predicted");
    }
    Ok(())
}

fn peer_output(python: &Path) -> Result<String> {
    shell::output(&python.to_string_lossy(), &["-c", PEER, TABLES])
}

/// The least time of each task, in the order in which they were first seen.
#[derive(Default)]
struct Times {
    least: Vec<(String, f64)>,
    peer: Option<String>,
}

impl Times {
    fn take(&mut self, printed: &str) -> Result<()> {
        for line in printed.lines() {
            let value: Value =
                serde_json::from_str(line).with_context(|| format!("not a JSON line: {line}"))?;
            if let Some(peer) = value["peer"].as_str() {
                self.peer = Some(peer.to_owned());
                continue;
            }
            let task = value["task"].as_str().context("a line names its task")?;
            let seconds = value["seconds"].as_f64().context("a task has a time")?;
            match self.least.iter_mut().find(|(known, _)| known == task) {
                Some((_, least)) => *least = least.min(seconds),
                None => self.least.push((task.to_owned(), seconds)),
            }
        }
        Ok(())
    }

    fn of(&self, task: &str) -> Option<f64> {
        let found = self.least.iter().find(|(known, _)| known == task);
        found.map(|(_, seconds)| *seconds)
    }
}
