//! What a page on a study shows: the other answers, gathered.

mod records;
mod study;

pub use records::{Content, Recorded, courses, read, read_all};
pub use study::{Forecast, ReportError, StudyReport, study};

use paceline_advise::pick::Objective;

/// What a report on a study is to show.
#[derive(Debug, Clone)]
pub struct ReportQuestion {
    /// The responses to show first; the others follow in the study's order.
    pub responses: Vec<String>,
    /// The deadline of a run.
    pub deadline_s: Option<f64>,
    /// What is called best; by the responses' names if nothing is said.
    pub objective: Option<Objective>,
    /// The response that the deadline limits, if it is not the one that is a time.
    pub time: Option<String>,
    /// The probability with which the deadline must be kept, and the coverage of
    /// intervals.
    pub confidence: f64,
}

impl Default for ReportQuestion {
    fn default() -> Self {
        Self {
            responses: Vec::new(),
            deadline_s: None,
            objective: None,
            time: None,
            confidence: 0.95,
        }
    }
}
