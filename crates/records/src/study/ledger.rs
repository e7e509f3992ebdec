//! `promises.jsonl`: what was promised of runs before they were made, and what
//! came of them.

use crate::journal::{Journal, OpenJournalError, ReadJournalError, Replay, replay};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One line of a study's ledger. A line is never changed: a promise stands as it
/// was stated, whatever was learned since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LedgerEntry {
    /// A configuration was picked, and a run of it is about to be made.
    Promised(Box<Promise>),
    /// That run has ended.
    Came(Box<Outcome>),
}

/// What was promised of the next run of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// Its name: `p0001` is the first of the study.
    pub id: String,
    /// When it was stated, UTC.
    pub time: String,
    /// What was asked, in one line: the same question asked again goes on with the
    /// same promise.
    pub question: String,
    /// The levels of every factor, as they are typed.
    pub configuration: IndexMap<String, String>,
    /// What was called best.
    pub objective: String,
    /// The probability with which every limit had to be kept.
    pub confidence: f64,
    /// How many runs it was learned from.
    pub learned_from: usize,
    /// How many runs of the study counted then. Runs that count never cease to, so
    /// that this number says which they were.
    pub counted: usize,
    /// Every limit with the probability that was stated for it.
    pub limits: Vec<PromisedLimit>,
    /// Every predicted response whose interval is known.
    pub predictions: Vec<PromisedValue>,
}

/// A limit and the probability that a run keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromisedLimit {
    /// The limited response.
    pub response: String,
    /// True for `<=`, false for `>=`.
    pub at_most: bool,
    /// The limit.
    pub value: f64,
    /// The stated probability.
    pub probability: f64,
}

/// A prediction with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromisedValue {
    /// The response.
    pub response: String,
    /// The expected value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The probability that a run lies in the interval.
    pub coverage: f64,
    /// Who predicted it.
    pub by: String,
    /// How many times as wide the interval is as the runs alone would have it,
    /// because earlier promises were not kept as often as stated.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub widened: f64,
}

fn once() -> f64 {
    1.0
}

fn is_once(factor: &f64) -> bool {
    *factor == 1.0
}

/// What came of a run that was promised something. The first end of the run is
/// what the promise is held against: a run that failed and is run again later
/// does not rewrite it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The promise.
    pub promise: String,
    /// The run.
    pub run: String,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// How it ended, in words.
    pub outcome: String,
    /// Whether the command did what it was asked to.
    pub done: bool,
    /// The promised responses that have a value.
    pub values: IndexMap<String, f64>,
    /// What disturbed it, in words; empty if nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
}

impl PromisedLimit {
    /// Whether a run kept it; a run that failed or has no value did not.
    #[must_use]
    pub fn is_kept_by(&self, outcome: &Outcome) -> bool {
        let value = outcome.values.get(&self.response);
        outcome.done
            && value.is_some_and(|&value| match self.at_most {
                true => value <= self.value,
                false => value >= self.value,
            })
    }
}

impl Promise {
    /// The name of the promise after so many.
    #[must_use]
    pub fn name_after(count: usize) -> String {
        format!("p{:04}", count + 1)
    }

    /// The responses that something was said of, each once.
    pub fn responses(&self) -> impl Iterator<Item = &str> {
        let predicted = self.predictions.iter().map(|one| one.response.as_str());
        let limited = self.limits.iter().map(|one| one.response.as_str());
        let new = |name: &&str| !self.predictions.iter().any(|own| own.response == **name);
        predicted.chain(limited.filter(new))
    }
}

/// The one writer of a study's ledger.
#[derive(Debug)]
pub struct Ledger(Journal<LedgerEntry>);

impl Ledger {
    /// Opens a ledger for writing, creates it if need be, and returns what it says
    /// so far.
    ///
    /// # Errors
    /// If another process writes to it, or it can be neither read nor written.
    pub fn open(path: &Path) -> Result<(Self, Vec<LedgerEntry>), OpenJournalError> {
        let (journal, Replay { entries, .. }) = Journal::open(path)?;
        Ok((Self(journal), entries))
    }

    /// Reads a ledger, which another process may be writing; one that does not
    /// exist has no entries.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged other than by a crash.
    pub fn read(path: &Path) -> Result<Vec<LedgerEntry>, ReadJournalError> {
        replay(path).map(|replay| replay.entries)
    }

    /// Appends an entry and waits until the disk has it: what was promised must
    /// not depend on what came.
    ///
    /// # Errors
    /// If it cannot be written; the ledger is then as before.
    pub fn append(&mut self, entry: &LedgerEntry) -> Result<(), crate::WriteRecordError> {
        self.0.append(entry)?;
        self.0.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise() -> Promise {
        Promise {
            id: "p0001".to_owned(),
            time: "2026-01-01T00:00:00Z".to_owned(),
            question: "maximise accuracy".to_owned(),
            configuration: IndexMap::from([("batch_size".to_owned(), "64".to_owned())]),
            objective: "accuracy".to_owned(),
            confidence: 0.9,
            learned_from: 12,
            counted: 12,
            limits: vec![PromisedLimit {
                response: "time".to_owned(),
                at_most: true,
                value: 3.0,
                probability: 0.96,
            }],
            predictions: Vec::new(),
        }
    }

    #[test]
    fn a_ledger_keeps_what_was_promised_and_notices_a_changed_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("promises.jsonl");
        assert_eq!(Ledger::read(&path).unwrap(), []);
        let (mut ledger, _) = Ledger::open(&path).unwrap();
        let promised = LedgerEntry::Promised(Box::new(promise()));
        let came = LedgerEntry::Came(Box::new(Outcome {
            promise: "p0001".to_owned(),
            run: "r0013".to_owned(),
            attempt: 1,
            outcome: "done".to_owned(),
            done: true,
            values: IndexMap::from([("time".to_owned(), 2.5)]),
            disturbed: Vec::new(),
        }));
        ledger.append(&promised).unwrap();
        ledger.append(&came).unwrap();
        drop(ledger);
        assert_eq!(Ledger::read(&path).unwrap(), [promised, came]);
        // A better probability afterwards is damage, not a promise.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("0.96", "0.69")).unwrap();
        assert!(matches!(
            Ledger::read(&path),
            Err(ReadJournalError::Damaged { line: 1, .. })
        ));
    }

    #[test]
    fn a_failed_run_or_one_without_a_value_keeps_no_limit() {
        let limit = &promise().limits[0];
        let outcome = |done: bool, time: Option<f64>| Outcome {
            promise: "p0001".to_owned(),
            run: "r0013".to_owned(),
            attempt: 1,
            outcome: String::new(),
            done,
            values: time
                .map(|time| ("time".to_owned(), time))
                .into_iter()
                .collect(),
            disturbed: Vec::new(),
        };
        assert!(limit.is_kept_by(&outcome(true, Some(3.0))));
        assert!(!limit.is_kept_by(&outcome(true, Some(3.1))));
        assert!(!limit.is_kept_by(&outcome(false, Some(1.0))));
        assert!(!limit.is_kept_by(&outcome(true, None)));
    }
}
