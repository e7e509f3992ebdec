//! How a study's progress is shown while it runs.

use crate::screen::Screen;
use paceline_model::{Level, Measure, NodeName, Sample};
use paceline_records::study::{PlannedRun, RunResult};
use paceline_report::number;
use paceline_report::text::{bar, truncate};
use paceline_runner::Observer;
use paceline_runner::study::{Counts, Watcher};
use parking_lot::{Mutex, MutexGuard};

/// A bar on a terminal, a line per run otherwise.
pub(super) struct Shown {
    screen: Screen,
    factors: Vec<String>,
    parallel: usize,
    state: Mutex<State>,
}

struct State {
    counts: Counts,
    /// What is running, in words.
    running: Vec<(String, String)>,
    /// The runs that have ended while we watched and the time they took, for the
    /// time left.
    ended: u32,
    ended_s: f64,
    load: String,
}

impl Shown {
    pub(super) fn new(
        screen: Screen,
        factors: Vec<String>,
        parallel: usize,
        counts: Counts,
    ) -> Self {
        let state = State {
            counts,
            running: Vec::new(),
            ended: 0,
            ended_s: 0.0,
            load: String::new(),
        };
        Self {
            screen,
            factors,
            parallel,
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn draw(&self, state: &State) {
        if !self.screen.has_status() {
            return;
        }
        let (over, total) = (
            state.counts.done + state.counts.failed,
            state.counts.total(),
        );
        let mut line = format!(
            "{} {over}/{total} runs",
            bar(over as f64 / total.max(1) as f64, 20)
        );
        if state.counts.failed > 0 {
            line.push_str(&format!(", {} failed", state.counts.failed));
        }
        if let Some(left) = self.left(state) {
            line.push_str(&format!(", {left}"));
        }
        for (run, levels) in &state.running {
            line.push_str(&format!("  {run}: {levels}"));
        }
        line.push_str(&state.load);
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        self.screen.status(truncate(&line, width.saturating_sub(1)));
    }

    /// The time left, from the runs that have ended while we watched.
    fn left(&self, state: &State) -> Option<String> {
        let runs = state.counts.pending + state.counts.leased;
        let mean = state.ended_s / f64::from(state.ended);
        let seconds = mean * runs as f64 / self.parallel as f64;
        (state.ended > 0).then(|| format!("about {} left", number::duration(seconds)))
    }
}

impl Watcher for Shown {
    fn begins(&self, run: &PlannedRun, levels: &[Level], _attempt: u32) {
        let pairs = self.factors.iter().zip(levels);
        let words: Vec<String> = pairs
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        let mut state = self.lock();
        state.running.push((run.id.to_string(), words.join(" ")));
        self.draw(&state);
    }

    fn ended(&self, run: &PlannedRun, result: &RunResult, counts: Counts) {
        let mut state = self.lock();
        let position = state
            .running
            .iter()
            .position(|(id, _)| *id == run.id.as_str());
        let levels = position
            .map(|i| state.running.remove(i).1)
            .unwrap_or_default();
        state.counts = counts;
        state.ended += 1;
        state.ended_s += result.duration_s;
        let repeated = result.noise.as_ref().is_some_and(|noise| noise.repeated);
        if !self.screen.has_status() || !result.done || repeated {
            let mut line = format!(
                "{} {} after {}  {levels}",
                run.id,
                result.outcome,
                number::duration(result.duration_s)
            );
            if repeated {
                line.push_str("  (disturbed, will be repeated)");
            }
            if let Some(left) = self.left(&state).filter(|_| !self.screen.has_status()) {
                let over = counts.done + counts.failed;
                line.push_str(&format!("  [{over}/{}, {left}]", counts.total()));
            }
            self.screen.print(&line);
        }
        self.draw(&state);
    }

    fn observer(&self, _run: &PlannedRun) -> Box<dyn Observer + '_> {
        Box::new(Load(self))
    }
}

/// Shows what the running commands use.
struct Load<'a>(&'a Shown);

impl Observer for Load<'_> {
    fn sample(&mut self, _node: &NodeName, sample: &Sample) {
        let seconds = sample.interval.as_secs().max(1e-6);
        let read = |measure| sample.readings.get(measure).unwrap_or(0.0);
        let cpus = (read(Measure::RunCpuUser) + read(Measure::RunCpuSystem)) / seconds;
        let memory = number::bytes(read(Measure::RunMemRss));
        let mut state = self.0.lock();
        state.load = format!("  cpu {cpus:.1}  memory {memory}");
        self.0.draw(&state);
    }
}
