//! Looks at versions of the parameters while workers go on: evaluates, judges,
//! writes checkpoints and tells the caller.

use std::time::Duration;

use paceline_data::Split;
use paceline_nets::Tally;

use super::milestones::Milestones;
use super::snapshot::Snapshot;
use super::totals::WorkerTotals;
use crate::checkpoint::{Checkpoint, CheckpointWriter, Progress};
use crate::clock::Stopwatch;
use crate::compute::Compute;
use crate::session::{Ending, Evaluation, Outcome, ProgressReport, Settings, TrainError, Watch};

/// Looks at snapshots.
pub(crate) struct Evaluator<'a> {
    settings: &'a Settings,
    data: &'a Split,
    compute: Compute,
    pub(crate) watch: &'a mut dyn Watch,
    clock: Stopwatch,
    milestones: Milestones,
    writer: Option<CheckpointWriter>,
    progress: Progress,
    evaluation: Option<Evaluation>,
    trained: u64,
    told: Duration,
    pulse: Tally,
    /// The last snapshot: what a training ends with.
    last: Option<Snapshot>,
}

/// How often progress is told.
pub(crate) const PROGRESS_EVERY: Duration = Duration::from_millis(100);

impl<'a> Evaluator<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        data: &'a Split,
        compute: Compute,
        watch: &'a mut dyn Watch,
        milestones: Milestones,
        progress: Progress,
    ) -> Self {
        let writer = settings.checkpoint.as_ref().map(|checkpoint| {
            CheckpointWriter::start(compute.model().layout().clone(), checkpoint.path.clone())
        });
        let clock = Stopwatch::starting_at(progress.elapsed);
        Self {
            settings,
            data,
            compute,
            watch,
            told: clock.elapsed(),
            clock,
            milestones,
            writer,
            progress,
            evaluation: None,
            trained: 0,
            pulse: Tally::default(),
            last: None,
        }
    }

    /// Whether the goal was met before anything began.
    pub(crate) fn is_done(&self) -> Option<Ending> {
        self.settings
            .goal
            .is_done(&self.progress, self.clock.elapsed())
    }

    /// Whether the time is up.
    pub(crate) fn is_late(&self) -> bool {
        let goal = &self.settings.goal;
        goal.time.is_some_and(|most| self.clock.elapsed() >= most)
    }

    /// Looks at a snapshot; says whether it ends the training.
    pub(crate) fn hear(&mut self, snapshot: Snapshot) -> Result<Option<Ending>, TrainError> {
        let progress = &mut self.progress;
        let per_epoch = self.milestones.per_epoch;
        progress.steps = snapshot.steps;
        progress.epochs = snapshot.steps / per_epoch;
        progress.position = 0;
        progress.loss_sum += snapshot.tally.loss;
        // Counts of other members: none may be too much.
        progress.hits = progress.hits.saturating_add(snapshot.tally.hits);
        progress.rows = progress.rows.saturating_add(snapshot.tally.rows);
        self.trained = self.trained.saturating_add(snapshot.tally.rows);
        let due = snapshot.due;
        let elapsed = self.clock.elapsed();
        let mut ending = due
            .end
            .then(|| self.settings.goal.is_done(&self.progress, elapsed))
            .flatten();
        if due.evaluation {
            let found = self.evaluate(&snapshot.parameters);
            self.watch.evaluated(&found);
            self.evaluation = Some(found);
            if !found.test.loss.is_finite() {
                ending = Some(Ending::Diverged);
            } else if ending.is_none() {
                ending = self.settings.goal.judge(&mut self.progress, &found);
            }
        }
        self.progress.elapsed = self.clock.elapsed();
        if let (true, Some(writer)) = (due.checkpoint && ending.is_none(), &self.writer) {
            writer
                .offer(|| self.checkpoint(&snapshot))
                .map_err(|source| self.failed(source))?;
        }
        self.last = Some(snapshot);
        Ok(ending)
    }

    /// The last snapshot that was looked at, if any was.
    pub(crate) fn last(&self) -> Option<&Snapshot> {
        self.last.as_ref()
    }

    /// The training begins only now: waiting for its members took no time.
    pub(crate) fn begin(&mut self) {
        self.clock = Stopwatch::starting_at(self.progress.elapsed);
        self.told = self.clock.elapsed();
        self.watch.began();
    }

    /// Tells what happened in the last moment, if it is time.
    pub(crate) fn tell(
        &mut self,
        pulse: Tally,
        steps: u64,
        totals: impl FnOnce() -> Vec<WorkerTotals>,
    ) {
        self.pulse.add(pulse);
        let elapsed = self.clock.elapsed();
        let since = elapsed.saturating_sub(self.told);
        if since < PROGRESS_EVERY || self.pulse.rows == 0 {
            return;
        }
        let tally = std::mem::take(&mut self.pulse);
        self.told = elapsed;
        let per_epoch = self.milestones.per_epoch;
        self.watch.progressed(&ProgressReport {
            steps,
            epochs: steps as f64 / per_epoch as f64,
            loss: tally.mean_loss(),
            accuracy: tally.accuracy(),
            rows_per_second: tally.rows as f64 / since.as_secs_f64(),
            elapsed,
            done: self.settings.goal.share_done(steps, per_epoch, elapsed),
        });
        self.watch.workers(&totals());
    }

    /// Writes the last checkpoint and says what came of it.
    pub(crate) fn end(mut self, ending: Ending) -> Result<(Outcome, Option<Snapshot>), TrainError> {
        self.progress.elapsed = self.clock.elapsed();
        if let (Some(writer), Some(last)) = (self.writer.take(), &self.last) {
            // Parameters that diverged are no use to anybody: the last good
            // checkpoint stays.
            if ending != Ending::Diverged {
                writer
                    .close(self.checkpoint(last))
                    .map_err(|source| self.failed(source))?;
            }
        }
        let outcome = Outcome {
            ending,
            evaluation: self.evaluation,
            progress: self.progress,
            rows: self.trained,
        };
        Ok((outcome, self.last))
    }

    fn evaluate(&mut self, parameters: &[f32]) -> Evaluation {
        let test = self.compute.evaluate(&self.data.test, parameters);
        let progress = &mut self.progress;
        let train = Tally {
            loss: std::mem::take(&mut progress.loss_sum),
            hits: std::mem::take(&mut progress.hits),
            rows: std::mem::take(&mut progress.rows),
        };
        Evaluation {
            steps: progress.steps,
            epochs: progress.steps as f64 / self.milestones.per_epoch as f64,
            train,
            test,
            elapsed: self.clock.elapsed(),
        }
    }

    fn checkpoint(&self, snapshot: &Snapshot) -> Checkpoint {
        let settings = self
            .settings
            .checkpoint
            .as_ref()
            .expect("a writer comes with its settings");
        Checkpoint {
            parameters: (*snapshot.parameters).clone(),
            optimizer: snapshot.optimizer.clone(),
            progress: self.progress,
            words: settings.words.clone(),
        }
    }

    fn failed(&self, source: crate::tensors::WriteTensorsError) -> TrainError {
        let settings = self
            .settings
            .checkpoint
            .as_ref()
            .expect("a writer comes with its settings");
        TrainError::Checkpoint {
            path: settings.path.clone(),
            source,
        }
    }
}
