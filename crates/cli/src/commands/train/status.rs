//! The progress bar of a training.

use crate::screen::Screen;
use paceline_model::{Event, EventKind};
use paceline_report::number;
use paceline_report::text::{bar, truncate};
use paceline_runner::Observer;

/// Shows how far a training has come, from its events alone.
pub(super) struct TrainingStatus {
    screen: Screen,
    progress: Option<f64>,
    loss: Option<f64>,
    accuracy: Option<f64>,
    rate: Option<f64>,
}

impl TrainingStatus {
    pub(super) fn new(screen: Screen) -> Self {
        Self {
            screen,
            progress: None,
            loss: None,
            accuracy: None,
            rate: None,
        }
    }

    fn draw(&self, seconds: f64) {
        let mut parts = Vec::new();
        match self.progress {
            Some(done) => parts.push(format!("{} {:.0}%", bar(done, 20), 100.0 * done)),
            None => parts.push(number::duration(seconds)),
        }
        if let Some(loss) = self.loss {
            parts.push(format!("loss {}", number::significant(loss, 3)));
        }
        if let Some(accuracy) = self.accuracy {
            parts.push(format!("accuracy {:.1}%", 100.0 * accuracy));
        }
        if let Some(rate) = self.rate {
            parts.push(format!("{} rows/s", number::count(rate.round() as u64)));
        }
        // Before a tenth is done, the time left is a guess.
        if let Some(done) = self.progress.filter(|done| *done > 0.1) {
            let left = seconds * (1.0 - done) / done;
            parts.push(format!("{} left", number::duration(left)));
        }
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let line = truncate(&parts.join("  "), width.saturating_sub(1));
        self.screen.status(line);
    }
}

impl Observer for TrainingStatus {
    fn event(&mut self, event: &Event) {
        let (EventKind::Metric, Some(value)) = (event.kind, event.value) else {
            return;
        };
        match event.name.as_str() {
            "batch_loss" => self.loss = Some(value),
            "batch_accuracy" => self.accuracy = Some(value),
            "rows_per_s" => self.rate = Some(value),
            "progress" => self.progress = Some(value),
            _ => return,
        }
        if self.screen.has_status() && event.name == "rows_per_s" {
            self.draw(event.at.as_secs());
        }
    }
}
