//! How a search is told while it goes on: a line per run.

use crate::screen::Screen;
use paceline_advise::halving::Rivals;
use paceline_answers::tune::{EpochWatch, Question};
use paceline_model::Level;
use paceline_records::study::{PlannedRun, RunResult};
use paceline_report::number::{duration, significant};
use paceline_runner::Observer;
use paceline_runner::study::{Counts, Watcher};
use paceline_study::Study;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Prints each run as it ends.
pub(super) struct Told<'a> {
    screen: Screen,
    quiet: bool,
    study: &'a Study,
    question: &'a Question,
    /// The levels of what is running, in words.
    running: Mutex<BTreeMap<String, String>>,
    /// The levels of the run that begins, and whom it is compared with.
    begins: Mutex<Vec<Level>>,
    rivals: Mutex<Option<(Rivals, f64)>>,
}

impl<'a> Told<'a> {
    pub(super) fn new(
        screen: Screen,
        quiet: bool,
        study: &'a Study,
        question: &'a Question,
    ) -> Self {
        Self {
            screen,
            quiet,
            study,
            question,
            running: Mutex::new(BTreeMap::new()),
            begins: Mutex::new(Vec::new()),
            rivals: Mutex::new(None),
        }
    }
}

impl Told<'_> {
    /// The run that is next is compared with these while it lasts.
    pub(super) fn compare_with(&self, rivals: Option<(Rivals, f64)>) {
        *self.rivals.lock() = rivals;
    }
}

impl Watcher for Told<'_> {
    fn begins(&self, run: &PlannedRun, levels: &[Level], _attempt: u32) {
        *self.begins.lock() = levels.to_vec();
        let words = self.question.words(self.study, levels);
        if self.screen.has_status() {
            self.screen.status(format!("{} {words} …", run.id));
        }
        let mut running = self.running.lock();
        running.insert(run.id.to_string(), words);
    }

    fn ended(&self, run: &PlannedRun, result: &RunResult, _counts: Counts) {
        let mut running = self.running.lock();
        let words = running.remove(run.id.as_str()).unwrap_or_default();
        drop(running);
        if self.quiet {
            return;
        }
        let name = &self.question.response;
        let value = result
            .responses
            .get(name)
            .or_else(|| result.resources.get(name));
        let what = match (result.done, value) {
            _ if result.stopped.is_some() => result.outcome.clone(),
            (true, Some(value)) => format!("{name} {}", significant(*value, 4)),
            (true, None) => format!("no {name}"),
            (false, _) => result.outcome.clone(),
        };
        let after = duration(result.duration_s);
        self.screen
            .print(&format!("{} {words}: {what} after {after}", run.id));
    }

    fn observer(&self, _run: &PlannedRun) -> Box<dyn Observer + '_> {
        let levels = self.begins.lock();
        let rivals = self.rivals.lock();
        match rivals.clone() {
            Some(rivals) => Box::new(EpochWatch::new(self.study, self.question, &levels, rivals)),
            None => Box::new(()),
        }
    }
}
