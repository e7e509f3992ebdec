//! What happened during a run.

use crate::{Micros, WorkerId};

/// Something that happened at one instant of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When, since the start of the run.
    pub at: Micros,
    /// To whom. Events of the run as a whole have none.
    pub worker: Option<WorkerId>,
    /// What kind of thing.
    pub kind: EventKind,
    /// The training step or epoch that the worker named, if it named one.
    pub step: Option<u64>,
    /// The metric's, phase's or notice's name.
    pub name: String,
    /// The number, for a metric. Never NaN by accident: a reported NaN is kept
    /// as NaN because "loss is NaN" is a finding.
    pub value: Option<f64>,
    /// Words for a person, for a notice or a lifecycle event.
    pub text: Option<String>,
}

/// The kinds of event a record distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A process started, exited, was signalled.
    Lifecycle,
    /// A number that the job reported.
    Metric,
    /// The job said that a phase of its work begins.
    Phase,
    /// Paceline noticed something the user should know.
    Notice,
}

impl EventKind {
    /// Every kind, in the order of the record's dictionary.
    pub const ALL: [Self; 4] = [Self::Lifecycle, Self::Metric, Self::Phase, Self::Notice];

    /// The name in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lifecycle => "lifecycle",
            Self::Metric => "metric",
            Self::Phase => "phase",
            Self::Notice => "notice",
        }
    }
}
