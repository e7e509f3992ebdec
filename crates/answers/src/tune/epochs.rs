//! A run of a search while it lasts: what it reports after each epoch, and whether
//! that is enough to know that it is out.

use super::question::Question;
use paceline_advise::halving::{OutReason, Rivals, Trace};
use paceline_model::{Event, EventKind, Level};
use paceline_runner::Observer;
use paceline_study::{ResponseCollector, Study};

/// Watches one run.
pub struct EpochWatch<'a> {
    study: &'a Study,
    levels: Vec<Level>,
    /// Which of the study's responses is the objective.
    objective: Option<usize>,
    minimizes: bool,
    collector: ResponseCollector<'a>,
    /// What one line of output said, until the next begins.
    line: Vec<Event>,
    trace: Trace,
    rivals: Rivals,
    /// After the last epoch of its budget a run ends by itself.
    budget: f64,
}

/// The metric that says which epoch a line is about.
const EPOCH: &str = "epoch";

impl<'a> EpochWatch<'a> {
    /// A run of these levels, compared with these rivals.
    #[must_use]
    pub fn new(
        study: &'a Study,
        question: &Question,
        levels: &[Level],
        (rivals, budget): (Rivals, f64),
    ) -> Self {
        let mut names = study.responses().iter();
        Self {
            study,
            levels: levels.to_vec(),
            objective: names.position(|own| own.name == question.response),
            minimizes: question.direction.cost(1.0) > 0.0,
            collector: ResponseCollector::new(study),
            line: Vec::new(),
            trace: Vec::new(),
            rivals,
            budget,
        }
    }

    /// Takes the line that has come to its end.
    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let Some(at_s) = line.first().map(|event| event.at.as_secs()) else {
            return;
        };
        for event in &line {
            if let Some(value) = event.value {
                self.collector.metric(event.worker, &event.name, value);
            }
        }
        let epoch = line.iter().find(|event| event.name == EPOCH);
        let epoch = epoch
            .and_then(|event| event.value)
            .filter(|epoch| epoch.fract() == 0.0);
        let (Some(epoch), Some(objective)) = (epoch, self.objective) else {
            return;
        };
        let measured = |name: &str| (name == "duration_s").then_some(at_s);
        let values = self.collector.finish(&self.levels, measured);
        // A loss that is not a number any more is a finding, not a gap.
        let diverged = line
            .iter()
            .any(|event| event.value.is_some_and(f64::is_nan) && self.is_of_objective(&event.name));
        let value = match &values[objective] {
            Ok(value) => *value,
            Err(_) if diverged => f64::NAN,
            Err(_) => return,
        };
        let cost = if self.minimizes { value } else { -value };
        match self.trace.last_mut() {
            Some((known, known_cost)) if *known == epoch => *known_cost = cost,
            _ => self.trace.push((epoch, cost)),
        }
    }

    /// Whether the objective is this metric, by its source or its name.
    fn is_of_objective(&self, metric: &str) -> bool {
        let response = self.objective.map(|at| &self.study.responses()[at]);
        response.is_some_and(|own| match &own.source {
            paceline_study::ResponseSource::Metric(name, _) => name == metric,
            _ => own.name == metric,
        })
    }
}

impl Observer for EpochWatch<'_> {
    fn event(&mut self, event: &Event) {
        if event.kind != EventKind::Metric {
            return;
        }
        let key = |event: &Event| (event.at, event.step, event.worker);
        if self.line.last().is_some_and(|last| key(last) != key(event)) {
            self.take_line();
        }
        self.line.push(event.clone());
    }

    fn stop(&mut self) -> Option<String> {
        self.take_line();
        let &(epoch, _) = self.trace.last()?;
        if epoch >= self.budget {
            return None;
        }
        Some(match self.rivals.rule_out(&self.trace)? {
            OutReason::Diverged { epoch } => {
                format!("its objective is not a number after epoch {epoch}")
            }
            OutReason::Behind { epoch, better } => format!(
                "after epoch {epoch} it is behind {better} others, and no more than {} go on",
                self.rivals.kept
            ),
        })
    }
}
