//! What happened during a run.

use crate::{Micros, WorkerId};
use std::fmt;

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

impl Event {
    /// What happened to a process of a worker.
    #[must_use]
    pub fn of_process(at: Micros, worker: WorkerId, what: Lifecycle) -> Self {
        Self {
            at,
            worker: Some(worker),
            kind: EventKind::Lifecycle,
            step: None,
            name: what.name().to_owned(),
            value: None,
            text: what.text(),
        }
    }

    /// The commands of the run were asked to end.
    #[must_use]
    pub fn of_asking(at: Micros, why: EndAsked) -> Self {
        Self {
            at,
            worker: None,
            kind: EventKind::Lifecycle,
            step: None,
            name: why.name().to_owned(),
            value: None,
            text: None,
        }
    }

    /// Why the commands were asked to end, if this is that event.
    #[must_use]
    pub fn end_asked(&self) -> Option<EndAsked> {
        [EndAsked::TimeLimit, EndAsked::User]
            .into_iter()
            .find(|why| self.kind == EventKind::Lifecycle && self.name == why.name())
    }

    /// What happened to a process; nothing for events of another kind, and for
    /// those of a version that knows more of a process's life.
    #[must_use]
    pub fn lifecycle(&self) -> Option<Lifecycle> {
        (self.kind == EventKind::Lifecycle)
            .then(|| Lifecycle::parse(&self.name, self.text.as_deref()))?
    }
}

/// Why the commands of a run were asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndAsked {
    /// Their time was over.
    TimeLimit,
    /// The user wanted to stop.
    User,
}

impl EndAsked {
    /// The name in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TimeLimit => "time_limit",
            Self::User => "stop_asked",
        }
    }
}

/// What happens to a process of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    /// It was started.
    Started {
        /// Its number on its host.
        pid: i32,
    },
    /// It was stopped (Ctrl-Z).
    Stopped,
    /// It goes on after a stop.
    Continued,
    /// It exited.
    Exited(ExitStatus),
}

impl Lifecycle {
    /// The name in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started { .. } => "start",
            Self::Stopped => "stopped",
            Self::Continued => "continued",
            Self::Exited(_) => "exit",
        }
    }

    /// The words in a record.
    fn text(self) -> Option<String> {
        match self {
            Self::Started { pid } => Some(format!("{PROCESS}{pid}")),
            Self::Exited(status) => Some(status.to_string()),
            Self::Stopped | Self::Continued => None,
        }
    }

    /// Reads what [`Self::name`] and [`Self::text`] wrote.
    fn parse(name: &str, text: Option<&str>) -> Option<Self> {
        match name {
            "start" => {
                let pid = text?.strip_prefix(PROCESS)?.parse().ok()?;
                Some(Self::Started { pid })
            }
            "stopped" => Some(Self::Stopped),
            "continued" => Some(Self::Continued),
            "exit" => ExitStatus::parse(text?).map(Self::Exited),
            _ => None,
        }
    }
}

const PROCESS: &str = "process ";
const EXIT_CODE: &str = "exit code ";
const SIGNAL: &str = "signal ";
const LOST: &str = "lost with its node";

/// How a process exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself, with this code; 0 is success.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Nobody knows: its node was lost.
    Lost,
}

impl ExitStatus {
    fn parse(text: &str) -> Option<Self> {
        let code = text.strip_prefix(EXIT_CODE).map(str::parse);
        let signal = text.strip_prefix(SIGNAL).map(str::parse);
        match (code, signal) {
            (Some(code), _) => code.ok().map(Self::Exited),
            (_, Some(signal)) => signal.ok().map(Self::Signalled),
            (None, None) => (text == LOST).then_some(Self::Lost),
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "{EXIT_CODE}{code}"),
            Self::Signalled(signal) => write!(f, "{SIGNAL}{signal}"),
            Self::Lost => f.write_str(LOST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processs_life_reads_back_from_its_record() {
        for what in [
            Lifecycle::Started { pid: 4711 },
            Lifecycle::Stopped,
            Lifecycle::Continued,
            Lifecycle::Exited(ExitStatus::Exited(0)),
            Lifecycle::Exited(ExitStatus::Exited(-1)),
            Lifecycle::Exited(ExitStatus::Signalled(9)),
            Lifecycle::Exited(ExitStatus::Lost),
        ] {
            let event = Event::of_process(Micros(1), WorkerId(2), what);
            assert_eq!(event.lifecycle(), Some(what));
        }
    }

    #[test]
    fn what_this_version_does_not_know_is_no_part_of_a_life() {
        let known = Event::of_process(Micros(1), WorkerId(0), Lifecycle::Stopped);
        let with = |kind, name: &str, text: Option<&str>| Event {
            kind,
            name: name.to_owned(),
            text: text.map(str::to_owned),
            ..known.clone()
        };
        let life = EventKind::Lifecycle;
        for event in [
            with(EventKind::Metric, "stopped", None),
            with(life, "frozen", None),
            with(life, "exit", None),
            with(life, "exit", Some("exit code zero")),
            with(life, "start", Some("4711")),
        ] {
            assert_eq!(event.lifecycle(), None, "{event:?}");
        }
    }
}
