//! What every side achieved at every task.

use anyhow::{Context, Result};
use serde_json::Value;

/// The best figures so far, in the order in which they were first seen.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    /// Peers with their versions, as they name themselves.
    peers: Vec<String>,
    /// Who could not be measured, and why.
    pub(crate) absent: Vec<String>,
}

/// One way of doing one task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) task: String,
    /// The side without its version: `PyTorch`.
    pub(crate) side: String,
    /// How it was done, such as `XLA, 16 steps`.
    pub(crate) variant: String,
    /// Rows a second, or tasks a second where a task is done once.
    pub(crate) rate: f64,
    /// Test accuracy, where it is told.
    pub(crate) accuracy: Option<f64>,
    /// What was minimised, where it is told.
    pub(crate) objective: Option<f64>,
}

/// Paceline's own name among the sides.
pub(crate) const OWN: &str = "Paceline";

impl Ledger {
    /// Keeps an entry if it beats what the same side did the same way.
    pub(crate) fn take(&mut self, entry: Entry) {
        let same = |known: &&mut Entry| {
            (&known.task, &known.side, &known.variant) == (&entry.task, &entry.side, &entry.variant)
        };
        match self.entries.iter_mut().find(same) {
            Some(known) if known.rate < entry.rate => *known = entry,
            Some(_) => {}
            None => self.entries.push(entry),
        }
    }

    /// Takes a rate of Paceline.
    pub(crate) fn take_own(&mut self, task: &str, variant: &str, rate: f64) {
        self.take(Entry {
            task: task.to_owned(),
            side: OWN.to_owned(),
            variant: variant.to_owned(),
            rate,
            accuracy: None,
            objective: None,
        });
    }

    /// Takes the JSON lines that a peer prints: first its name and version,
    /// then a line for each task with `rows_per_s` or `seconds`, or with
    /// `failed`.
    pub(crate) fn take_printed(&mut self, printed: &str) -> Result<()> {
        let mut side = String::new();
        for line in printed.lines().filter(|line| line.starts_with('{')) {
            let value: Value =
                serde_json::from_str(line).with_context(|| format!("not a JSON line: {line}"))?;
            if let Some(peer) = value["peer"].as_str() {
                side = peer.split(' ').next().unwrap_or(peer).to_owned();
                if !self.peers.iter().any(|known| known == peer) {
                    self.peers.push(peer.to_owned());
                }
                continue;
            }
            let task = value["task"].as_str().context("a line names its task")?;
            let variant = value["variant"].as_str().unwrap_or_default();
            if let Some(why) = value["failed"].as_str() {
                self.miss(&format!("{side} ({variant}), {task}"), why);
                continue;
            }
            let seconds = value["seconds"].as_f64().map(|seconds| 1.0 / seconds);
            let rate = value["rows_per_s"].as_f64().or(seconds);
            self.take(Entry {
                task: task.to_owned(),
                side: side.clone(),
                variant: variant.to_owned(),
                rate: rate.context("a task has a rate or a time")?,
                accuracy: value["accuracy"].as_f64(),
                objective: value["objective"].as_f64(),
            });
        }
        Ok(())
    }

    /// Notes once who could not be measured.
    pub(crate) fn miss(&mut self, who: &str, why: &str) {
        let line = format!("{who} is absent: {why}");
        if !self.absent.contains(&line) {
            println!("{line}");
            self.absent.push(line);
        }
    }

    /// The peers that were measured, in words.
    pub(crate) fn who(&self) -> String {
        if self.peers.is_empty() {
            return "no peers".to_owned();
        }
        self.peers.join(", ")
    }

    /// The best of a side at a task.
    pub(crate) fn best(&self, task: &str, side: &str) -> Option<&Entry> {
        self.fastest(|entry| entry.task == task && entry.side == side)
    }

    /// What a side did in one way.
    pub(crate) fn way(&self, task: &str, side: &str, variant: &str) -> Option<&Entry> {
        self.fastest(|entry| {
            (
                entry.task.as_str(),
                entry.side.as_str(),
                entry.variant.as_str(),
            ) == (task, side, variant)
        })
    }

    /// The fastest of all peers at a task.
    pub(crate) fn fastest_peer(&self, task: &str) -> Option<&Entry> {
        self.fastest(|entry| entry.task == task && entry.side != OWN)
    }

    fn fastest(&self, wanted: impl Fn(&Entry) -> bool) -> Option<&Entry> {
        let entries = self.entries.iter().filter(|entry| wanted(entry));
        entries.max_by(|a, b| a.rate.total_cmp(&b.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_turn_of_each_way_is_kept() {
        let mut ledger = Ledger::default();
        ledger
            .take_printed(
                "{\"peer\": \"PyTorch 1.0\"}\n\
                 {\"task\": \"softmax\", \"variant\": \"eager\", \"rows_per_s\": 5}\n\
                 {\"task\": \"softmax\", \"variant\": \"eager\", \"rows_per_s\": 3}\n\
                 {\"task\": \"forest\", \"variant\": \"fit\", \"seconds\": 4, \"accuracy\": 0.9}\n",
            )
            .unwrap();
        ledger.take_own("softmax", "", 10.0);
        assert_eq!(ledger.best("softmax", "PyTorch").unwrap().rate, 5.0);
        assert_eq!(ledger.fastest_peer("softmax").unwrap().side, "PyTorch");
        let forest = ledger.fastest_peer("forest").unwrap();
        assert_eq!((forest.rate, forest.accuracy), (0.25, Some(0.9)));
        assert_eq!(ledger.peers, ["PyTorch 1.0"]);
    }

    #[test]
    fn a_failed_way_is_named_and_the_others_count() {
        let mut ledger = Ledger::default();
        ledger
            .take_printed(
                "{\"peer\": \"TensorFlow 2\"}\n\
                 {\"task\": \"lstm\", \"variant\": \"XLA\", \"failed\": \"no\"}\n\
                 {\"task\": \"lstm\", \"variant\": \"plain\", \"rows_per_s\": 7}\n",
            )
            .unwrap();
        assert_eq!(ledger.absent, ["TensorFlow (XLA), lstm is absent: no"]);
        assert_eq!(ledger.best("lstm", "TensorFlow").unwrap().variant, "plain");
    }

    #[test]
    fn a_line_without_a_figure_is_refused() {
        let printed = "{\"task\": \"softmax\", \"variant\": \"eager\"}";
        assert!(Ledger::default().take_printed(printed).is_err());
    }
}
