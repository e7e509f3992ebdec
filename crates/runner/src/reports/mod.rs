//! What a job reports of itself, without a library.
//!
//! Four ways lead to the same events: a JSON object per line on stdout, the
//! same in the file that `$PACELINE_EVENTS` names, a regular expression over the
//! log ([`MetricPattern`]), and what frameworks print for people ([`Printed`]),
//! which counts only while nothing is reported in JSON. A line that is none of
//! these is just log.
//!
//! | In the object | Becomes |
//! |---|---|
//! | `"step": 12` | the step of every metric in the line (`epoch` if there is no step) |
//! | `"rank": 1` or `"worker": 1` | the worker of every event in the line |
//! | `"phase": "eval"` | a phase that begins now |
//! | `"notice": "worker_lost"`, with `"text": "…"` | something that a person should know |
//! | any other number | a metric of that name; in nested objects, `outer.inner` |
//! | `NaN`, `Infinity` | a metric that is not finite, as Python writes it |
//! | anything else | nothing |

mod json;
mod lines;
mod pattern;
mod printed;
mod step;

pub(crate) use json::is_name;
pub use json::parse_line;
pub use lines::Lines;
pub use pattern::{MetricPattern, MetricPatternError};
pub use printed::Printed;

/// What one line reported, without a time, which the reader adds.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The worker that the line names.
    pub worker: Option<u32>,
    /// The step that the line names.
    pub step: Option<u64>,
    /// The metric's, phase's or notice's name.
    pub name: String,
    /// What is reported.
    pub kind: ReportKind,
}

/// What a job can report.
#[derive(Debug, Clone, PartialEq)]
pub enum ReportKind {
    /// A number, possibly not finite.
    Metric(f64),
    /// The beginning of a phase.
    Phase,
    /// Something that a person should know, in words.
    Notice(String),
}
