//! The entries of a study's journal.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// One line of a study's journal. The study's state is what they say together.
///
/// An end carries all that the study's table needs, so that the table of ten
/// thousand runs is made without opening ten thousand records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// An attempt at a run is about to begin.
    Leased {
        /// The run.
        run: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// When, UTC.
        time: String,
    },
    /// An attempt has ended and its record is closed.
    Ended {
        /// The run.
        run: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// What came of it.
        #[serde(flatten)]
        result: Box<Result>,
    },
    /// An attempt was interrupted: nobody knows what would have come of it.
    Abandoned {
        /// The run.
        run: String,
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// The user wants a failed run to be run again.
    Retried {
        /// The run.
        run: String,
    },
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Result {
    /// Whether the command did what it was asked to.
    pub done: bool,
    /// How it ended, in words.
    pub outcome: String,
    /// From the first start to the last exit.
    pub duration_s: f64,
    /// The responses that have a value.
    pub responses: IndexMap<String, f64>,
    /// Why the others have none.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub absent: IndexMap<String, String>,
    /// What the run used, by the names of the study's table.
    pub resources: IndexMap<String, f64>,
    /// Why it was stopped before its end, in words: what it had reported told
    /// enough. Such a run is done, but its responses are not those of a whole one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// What disturbed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// What disturbed a run, and what is done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noise {
    /// What was seen, in words.
    pub evidence: Vec<String>,
    /// Whether the run is to be repeated because of it.
    pub repeated: bool,
}
