//! The queue's journal, `queue.jsonl`: what was decided, in order.

use super::belief::Belief;
use paceline_records::study::Promise;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One line of the journal. Times are milliseconds since 1970, UTC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// A job was taken on. From here on it is not lost.
    Accepted(Box<Job>),
    /// A job is about to be started. Whoever reads this last looks whether it was.
    Starting {
        /// The job.
        job: String,
        /// When.
        time_ms: u64,
        /// The CPUs it gets.
        cpus: Vec<u32>,
    },
    /// Something was done for a threatened promise, or its new time was announced.
    Acted {
        /// The job.
        job: String,
        /// When.
        time_ms: u64,
        /// What, as a program reads it.
        measure: Act,
        /// What and why, in words.
        words: String,
    },
    /// A job has ended.
    Ended {
        /// The job.
        job: String,
        /// When.
        time_ms: u64,
        /// Whether it did what it was asked to.
        done: bool,
        /// How it ended, in words.
        outcome: String,
        /// How long it ran, in seconds.
        duration_s: f64,
        /// What it reported of what was predicted.
        values: Vec<(String, f64)>,
    },
    /// The user does not want the job any more.
    Cancelled {
        /// The job.
        job: String,
        /// When.
        time_ms: u64,
    },
    /// What came of a job is in its study's ledger and among its runs.
    Settled {
        /// The job.
        job: String,
    },
    /// What is believed of a study's jobs was wrong, and is learned anew.
    Refitted {
        /// The study's directory.
        study: PathBuf,
        /// When.
        time_ms: u64,
        /// Why, in words.
        why: String,
    },
}

/// What was done, as a program reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "measure", rename_all = "snake_case")]
pub enum Act {
    /// It has these CPUs now.
    Cpus {
        /// Which.
        cpus: Vec<u32>,
    },
    /// It was stopped for a while.
    Paused,
    /// It goes on, on these CPUs.
    Resumed {
        /// Which.
        cpus: Vec<u32>,
    },
    /// It ends after so many epochs.
    Epochs {
        /// How many.
        epochs: u32,
    },
    /// It is started before others.
    First,
    /// It ends later than promised.
    Late {
        /// The new time.
        latest_ms: u64,
    },
}

/// A job as it was taken on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its name: `j0001`.
    pub id: String,
    /// What is run.
    pub work: Work,
    /// When it was taken on.
    pub accepted_ms: u64,
    /// When it must have ended; nothing for a first measurement.
    pub deadline_ms: Option<u64>,
    /// The probability with which that was asked for.
    pub confidence: f64,
    /// The probability that was promised.
    pub probability: Option<f64>,
    /// What is believed of its time with its CPUs to itself.
    pub alone_s: Belief,
    /// How many CPUs it gets.
    pub cpus: u32,
    /// How many times as fast it is with other numbers of CPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faster: Vec<(u32, f64)>,
    /// What is called best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// How many epochs it makes, where a level or a constant says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u32>,
    /// Whether it may make fewer.
    #[serde(default)]
    pub epochs_free: bool,
    /// What the study's ledger says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<Box<Promise>>,
    /// Why it was taken on like this, in words.
    pub because: String,
}

/// What a job runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// A run of a study.
    Study {
        /// The study's directory, absolute.
        dir: PathBuf,
        /// The level of every factor.
        settings: Vec<(String, String)>,
    },
    /// A command.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Where it is run.
        cwd: PathBuf,
    },
}

impl Work {
    /// In one line.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Study { dir, settings } => {
                let name = dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy();
                let settings = settings
                    .iter()
                    .map(|(name, level)| format!("{name}={level}"));
                let settings: Vec<String> = settings.collect();
                format!("{name}: {}", settings.join(", "))
            }
            Self::Command { argv, .. } => argv.join(" "),
        }
    }
}
