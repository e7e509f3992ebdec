//! One line that says how a run is doing.

use crate::screen::Screen;
use paceline_model::{Event, EventKind, Measure, NodeName, Sample};
use paceline_report::number;
use paceline_report::text::truncate;
use paceline_runner::Observer;

/// Shows elapsed time, resources and the last metric below the output.
pub(super) struct Status {
    screen: Screen,
    cpus: u32,
    metric: Option<String>,
}

impl Status {
    pub(super) fn new(screen: Screen, cpus: u32) -> Self {
        Self {
            screen,
            cpus,
            metric: None,
        }
    }
}

impl Observer for Status {
    fn sample(&mut self, _node: &NodeName, sample: &Sample) {
        if !self.screen.has_status() {
            return;
        }
        let seconds = sample.interval.as_secs().max(1e-6);
        let read = |measure| sample.readings.get(measure).unwrap_or(0.0);
        let has_own = sample.readings.get(Measure::RunNetRx).is_some();
        let (received, sent) = match has_own {
            true => (Measure::RunNetRx, Measure::RunNetTx),
            false => (Measure::NodeNetRx, Measure::NodeNetTx),
        };
        let per_second = |a, b| number::rate((read(a) + read(b)) / seconds, "B");
        let cpus = (read(Measure::RunCpuUser) + read(Measure::RunCpuSystem)) / seconds;
        // Not the proportional share, which is read only now and then: the figure
        // would jump between two measures.
        let memory = read(Measure::RunMemRss);
        let mut line = format!(
            "{}  cpu {cpus:.1}/{}  memory {}  disk {}  network {}",
            number::duration(sample.at.as_secs()),
            self.cpus,
            number::bytes(memory),
            per_second(Measure::RunDiskRead, Measure::RunDiskWrite),
            per_second(received, sent),
        );
        if let Some(metric) = &self.metric {
            line.push_str(&format!("  {metric}"));
        }
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        self.screen.status(truncate(&line, width.saturating_sub(1)));
    }

    fn event(&mut self, event: &Event) {
        if let (EventKind::Metric, Some(value)) = (event.kind, event.value) {
            let step = event
                .step
                .map_or(String::new(), |step| format!(" (step {step})"));
            self.metric = Some(format!(
                "{} {}{step}",
                event.name,
                number::significant(value, 4)
            ));
        }
    }
}
