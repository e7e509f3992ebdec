//! Paceline's side: the trainer of the product, as a user's training starts it.

use super::peers;
use crate::shell;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

/// Reports of the first moments: caches fill and clocks rise.
const WARM_UP: usize = 3;

/// Workers that are processes start within a training's time: how long that
/// may take, tried one after the other.
const START_SECONDS: [f64; 3] = [2.0, 4.0, 12.0];

/// Rows a second of `paceline trainer` with these words: the median of its own
/// reports, which come ten times a second. Shuffling, loss and accuracy are
/// part of it; the one look at the test rows at the end is not.
pub(crate) fn rate(words: &[&str], seconds: f64) -> Result<f64> {
    let starts: &[f64] = if words.contains(&"processes") {
        &START_SECONDS
    } else {
        &[0.0]
    };
    for start in starts {
        if let Some(rate) = median_rate(&trained(words, seconds + start)?) {
            return Ok(rate);
        }
    }
    bail!("the training was too short to be timed");
}

/// What a training tells the recorder.
fn trained(words: &[&str], seconds: f64) -> Result<String> {
    let folder = peers::target().join("bench");
    fs::create_dir_all(&folder)?;
    let events = std::path::absolute(folder.join("events.jsonl"))?;
    if events.exists() {
        fs::remove_file(&events)?;
    }
    let time = format!("{seconds}s");
    let usual = ["--for", &time, "--eval-every", "1000000000"];
    let all = [&["trainer"][..], words, &usual, &["--no-checkpoint"]].concat();
    let output = shell::command(&program().to_string_lossy(), &all)
        .env("PACELINE_EVENTS", &events)
        .stdin(Stdio::null())
        .output()
        .context("cannot start paceline")?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let first = complaint.lines().next().unwrap_or_default();
        bail!("{}: {first}", output.status);
    }
    fs::read_to_string(&events).context("the trainer told nothing")
}

fn program() -> PathBuf {
    peers::target().join("release/paceline")
}

/// From the lines that a trainer writes for the recorder; none if they are too
/// few.
fn median_rate(events: &str) -> Option<f64> {
    let mut rates = Vec::new();
    for line in events.lines() {
        // NaN is no JSON, and its line no progress.
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        rates.extend(value["rows_per_s"].as_f64());
    }
    // The last report has the look at the test rows in its time.
    rates.pop();
    let mut rates = rates.split_off(WARM_UP.min(rates.len()));
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_median_between_warm_up_and_the_end() {
        let lines: Vec<String> = [1.0, 2.0, 3.0, 50.0, 60.0, 40.0, 9.0]
            .iter()
            .map(|rate| format!("{{\"step\": 1, \"rows_per_s\": {rate}}}"))
            .collect();
        let events = format!("{{\"phase\": \"train\"}}\n{}\n", lines.join("\n"));
        assert_eq!(median_rate(&events), Some(50.0));
        assert_eq!(median_rate("{\"phase\": \"train\"}\n"), None);
    }
}
