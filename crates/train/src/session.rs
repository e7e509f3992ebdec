//! One worker's training, from the first step to the goal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use paceline_data::{Split, epoch_order_into};
use paceline_kernels::AlignedBuffer;
use paceline_nets::{Model, Tally};

use crate::checkpoint::{Checkpoint, CheckpointWriter, Progress};
use crate::clock::Stopwatch;
use crate::cluster::{Notice, WorkerTotals};
use crate::compute::Compute;
use crate::descent::Descent;
use crate::goal::{Cadence, Goal, Metric};
use crate::optimizer::{Optimizer, OptimizerState};
use crate::schedule::Schedule;
pub use crate::train_error::TrainError;

/// How a model is trained.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Rows per step.
    pub batch_size: usize,
    /// Threads that share each batch.
    pub threads: usize,
    /// Decides the starting parameters and the order of the rows.
    pub seed: u64,
    /// What a gradient does.
    pub optimizer: Optimizer,
    /// The learning rate.
    pub rate: f64,
    /// How the rate changes.
    pub schedule: Schedule,
    /// Weight decay; zero for none.
    pub decay: f32,
    /// The largest norm of a step's gradient.
    pub clip: Option<f32>,
    /// When it ends.
    pub goal: Goal,
    /// How often the test split is looked at.
    pub evaluate_every: Cadence,
    /// Where and how often checkpoints are written.
    pub checkpoint: Option<CheckpointSettings>,
}

/// Where and how often checkpoints are written.
#[derive(Clone, Debug)]
pub struct CheckpointSettings {
    /// The file, replaced atomically each time.
    pub path: PathBuf,
    /// How often, besides the end.
    pub every: Cadence,
    /// Kept in the file; see [`Checkpoint::words`].
    pub words: BTreeMap<String, String>,
}

/// Hears how training goes. Calls happen between steps on the training thread:
/// they must not wait.
pub trait Watch {
    /// Some ten times a second.
    fn progressed(&mut self, report: &ProgressReport);
    /// After every evaluation.
    fn evaluated(&mut self, evaluation: &Evaluation);
    /// With several workers, what each has done so far, by number; after every
    /// report of progress.
    fn workers(&mut self, accounts: &[WorkerTotals]) {
        let _ = accounts;
    }
    /// With members that are started elsewhere: everybody has come, and the
    /// training begins.
    fn began(&mut self) {}
    /// Something that a person should know: a worker is lost, a server was
    /// started anew, somebody waits for long.
    fn noticed(&mut self, notice: &Notice) {
        let _ = notice;
    }
}

/// Where training stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgressReport {
    /// Steps taken.
    pub steps: u64,
    /// Epochs, fractions included.
    pub epochs: f64,
    /// Mean loss of the rows since the last report.
    pub loss: f64,
    /// Accuracy on the rows since the last report.
    pub accuracy: f64,
    /// Rows per second since the last report.
    pub rows_per_second: f64,
    /// Training time so far.
    pub elapsed: Duration,
    /// The share of the goal that is behind, from 0 to 1, if the goal tells.
    pub done: Option<f64>,
}

/// What a look at the test split found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// Steps taken.
    pub steps: u64,
    /// Epochs, fractions included.
    pub epochs: f64,
    /// The training rows since the last evaluation.
    pub train: Tally,
    /// The test split.
    pub test: Tally,
    /// Training time so far, evaluations included.
    pub elapsed: Duration,
}

impl Evaluation {
    /// The value of a metric.
    pub fn metric(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Loss => self.train.mean_loss(),
            Metric::Accuracy => self.train.accuracy(),
            Metric::TestLoss => self.test.mean_loss(),
            Metric::TestAccuracy => self.test.accuracy(),
        }
    }
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The epochs are done.
    Epochs,
    /// The steps are done.
    Steps,
    /// The time is up.
    Time,
    /// The condition holds.
    Reached,
    /// The test loss has not improved for long enough.
    Stale,
    /// The loss is not a number any more.
    Diverged,
    /// The caller asked.
    Interrupted,
}

impl Ending {
    /// The word in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Epochs => "epochs",
            Self::Steps => "steps",
            Self::Time => "time",
            Self::Reached => "reached",
            Self::Stale => "stale",
            Self::Diverged => "diverged",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What came of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub ending: Ending,
    /// The last evaluation; none if it diverged or was interrupted before one.
    pub evaluation: Option<Evaluation>,
    /// How far it came.
    pub progress: Progress,
    /// Rows trained on since it began or was resumed.
    pub rows: u64,
}

/// How often progress is told: often enough for the eye.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// A model in training.
pub struct Session {
    settings: Settings,
    data: Split,
    compute: Compute,
    parameters: AlignedBuffer,
    optimizer: OptimizerState,
    progress: Progress,
    order: Vec<u32>,
}

impl Session {
    /// Fresh parameters.
    pub fn new(model: Arc<dyn Model>, data: Split, settings: Settings) -> Self {
        let len = model.layout().len();
        let mut parameters = AlignedBuffer::zeroed(len);
        model.initialize(settings.seed, &mut parameters);
        let optimizer = OptimizerState::new(settings.optimizer, len);
        Self::continue_from(
            model,
            data,
            settings,
            parameters,
            optimizer,
            Progress::default(),
        )
    }

    /// Goes on where a checkpoint stands.
    pub fn resume(
        model: Arc<dyn Model>,
        data: Split,
        settings: Settings,
        checkpoint: Checkpoint,
    ) -> Self {
        let Checkpoint {
            parameters,
            optimizer,
            progress,
            ..
        } = checkpoint;
        Self::continue_from(model, data, settings, parameters, optimizer, progress)
    }

    fn continue_from(
        model: Arc<dyn Model>,
        data: Split,
        settings: Settings,
        parameters: AlignedBuffer,
        optimizer: OptimizerState,
        progress: Progress,
    ) -> Self {
        let compute = Compute::new(model, settings.threads, settings.batch_size);
        Self {
            settings,
            data,
            compute,
            parameters,
            optimizer,
            progress,
            order: Vec::new(),
        }
    }

    /// The flat parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// How far training has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Trains until the goal is met, the loss diverges, or `stop` is set.
    pub fn run(&mut self, watch: &mut dyn Watch, stop: &AtomicBool) -> Result<Outcome, TrainError> {
        let writer = self.settings.checkpoint.as_ref().map(|checkpoint| {
            CheckpointWriter::start(
                self.compute.model().layout().clone(),
                checkpoint.path.clone(),
            )
        });
        let clock = Stopwatch::starting_at(self.progress.elapsed);
        let outcome = self.train(watch, stop, &clock, writer.as_ref())?;
        self.progress.elapsed = clock.elapsed();
        if let (Some(writer), Some(settings)) = (writer, &self.settings.checkpoint) {
            // Parameters that diverged are no use to anybody: the last good
            // checkpoint stays.
            if outcome.ending != Ending::Diverged {
                writer
                    .close(self.snapshot(settings))
                    .map_err(|source| TrainError::Checkpoint {
                        path: settings.path.clone(),
                        source,
                    })?;
            }
        }
        Ok(Outcome {
            progress: self.progress,
            ..outcome
        })
    }

    fn train(
        &mut self,
        watch: &mut dyn Watch,
        stop: &AtomicBool,
        clock: &Stopwatch,
        writer: Option<&CheckpointWriter>,
    ) -> Result<Outcome, TrainError> {
        let rows_of_epoch = self.data.train.rows();
        let steps_per_epoch = rows_of_epoch.div_ceil(self.settings.batch_size) as u64;
        let evaluate_every = self.settings.evaluate_every.in_steps(steps_per_epoch);
        let checkpoint_every = self
            .settings
            .checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.every.in_steps(steps_per_epoch));
        let mut descent = Descent::of(
            self.compute.model(),
            &self.data.train,
            &self.settings,
            &mut self.parameters,
        );
        let mut pulse = Pulse::new(clock.elapsed());
        let mut evaluation = None;
        let mut trained = 0;
        let finish = |ending, evaluation, progress, rows| Outcome {
            ending,
            evaluation,
            progress,
            rows,
        };
        if let Some(ending) = self.settings.goal.is_done(&self.progress, clock.elapsed()) {
            return Ok(finish(ending, None, self.progress, 0));
        }
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(finish(
                    Ending::Interrupted,
                    evaluation,
                    self.progress,
                    trained,
                ));
            }
            let tally = match &mut descent {
                None => self.step(steps_per_epoch),
                Some(descent) => {
                    let most = self.steps_undisturbed(evaluate_every, checkpoint_every);
                    self.descend(descent, most, steps_per_epoch)
                }
            };
            trained += tally.rows;
            if !tally.loss.is_finite() {
                return Ok(finish(Ending::Diverged, evaluation, self.progress, trained));
            }
            let elapsed = clock.elapsed();
            let mut ending = self.settings.goal.is_done(&self.progress, elapsed);
            let is_due = self.progress.steps.is_multiple_of(evaluate_every);
            if is_due || ending.is_some() {
                let found = self.evaluate(steps_per_epoch, clock);
                watch.evaluated(&found);
                evaluation = Some(found);
                if !found.test.loss.is_finite() {
                    return Ok(finish(Ending::Diverged, evaluation, self.progress, trained));
                }
                ending = ending.or_else(|| self.settings.goal.judge(&mut self.progress, &found));
            }
            if let Some(report) = pulse.beat(tally, elapsed) {
                watch.progressed(&ProgressReport {
                    steps: self.progress.steps,
                    epochs: self.epochs(steps_per_epoch),
                    done: self.settings.goal.share_done(
                        self.progress.steps,
                        steps_per_epoch,
                        elapsed,
                    ),
                    ..report
                });
            }
            if let Some(ending) = ending {
                return Ok(finish(ending, evaluation, self.progress, trained));
            }
            if let (Some(writer), Some(every)) = (writer, checkpoint_every)
                && self.progress.steps.is_multiple_of(every)
            {
                self.progress.elapsed = clock.elapsed();
                let settings = self
                    .settings
                    .checkpoint
                    .as_ref()
                    .expect("a writer comes with its settings");
                writer.offer(|| self.snapshot(settings)).map_err(|source| {
                    TrainError::Checkpoint {
                        path: settings.path.clone(),
                        source,
                    }
                })?;
            }
        }
    }

    /// One step. If its loss is not finite, the parameters are as before it.
    fn step(&mut self, steps_per_epoch: u64) -> Tally {
        self.order_rows();
        let rows = self.order.len();
        let start = self.progress.position as usize;
        let end = rows.min(start + self.settings.batch_size);
        let batch = &self.order[start..end];
        let tally = self
            .compute
            .gradient(&self.data.train, batch, &self.parameters);
        if !tally.loss.is_finite() {
            return tally;
        }
        let rate = rate(&self.settings, self.progress.steps, steps_per_epoch);
        self.compute.update(
            &mut self.parameters,
            &mut self.optimizer,
            rate,
            self.settings.decay,
            self.settings.clip,
        );
        self.record(1, tally, end);
        tally
    }

    /// Steps until something else is due.
    fn steps_undisturbed(&self, evaluate_every: u64, checkpoint_every: Option<u64>) -> u64 {
        let taken = self.progress.steps;
        let next = |every: u64| every - taken % every;
        let goal = self.settings.goal.steps.map(|most| most - taken);
        [Some(next(evaluate_every)), checkpoint_every.map(next), goal]
            .into_iter()
            .flatten()
            .fold(u64::MAX, u64::min)
    }

    /// Some steps in the model's own way, at most `most` and not beyond the
    /// epoch. Where a call ends changes no parameter, so that a resumed training
    /// has the bits of one that never stopped. If the loss is not finite, the
    /// parameters are those after the call and no use.
    fn descend(&mut self, descent: &mut Descent, most: u64, steps_per_epoch: u64) -> Tally {
        self.order_rows();
        let start = self.progress.position as usize;
        let batch_size = self.settings.batch_size;
        let end = self
            .order
            .len()
            .min(start + descent.steps(most) * batch_size);
        let (settings, taken) = (&self.settings, self.progress.steps);
        let tally = descent.take(
            &self.data.train,
            &self.order[start..end],
            |step| rate(settings, taken + step, steps_per_epoch),
            &mut self.parameters,
        );
        if tally.loss.is_finite() {
            let steps = (end - start).div_ceil(batch_size) as u64;
            self.optimizer.steps += steps;
            self.record(steps, tally, end);
        }
        tally
    }

    /// Draws the order of an epoch at its start.
    fn order_rows(&mut self) {
        if self.order.is_empty() || self.progress.position == 0 {
            epoch_order_into(
                self.settings.seed,
                self.progress.epochs,
                self.data.train.rows(),
                &mut self.order,
            );
        }
    }

    /// Counts steps that end before row `end` of the epoch's order.
    fn record(&mut self, steps: u64, tally: Tally, end: usize) {
        let progress = &mut self.progress;
        progress.steps += steps;
        progress.loss_sum += tally.loss;
        progress.hits += tally.hits;
        progress.rows += tally.rows;
        progress.position = end as u64;
        if end == self.order.len() {
            progress.position = 0;
            progress.epochs += 1;
        }
    }

    fn evaluate(&mut self, steps_per_epoch: u64, clock: &Stopwatch) -> Evaluation {
        let test = self.compute.evaluate(&self.data.test, &self.parameters);
        let progress = &mut self.progress;
        let train = Tally {
            loss: std::mem::take(&mut progress.loss_sum),
            hits: std::mem::take(&mut progress.hits),
            rows: std::mem::take(&mut progress.rows),
        };
        Evaluation {
            steps: self.progress.steps,
            epochs: self.epochs(steps_per_epoch),
            train,
            test,
            elapsed: clock.elapsed(),
        }
    }

    fn epochs(&self, steps_per_epoch: u64) -> f64 {
        self.progress.steps as f64 / steps_per_epoch as f64
    }

    fn snapshot(&self, settings: &CheckpointSettings) -> Checkpoint {
        Checkpoint {
            parameters: self.parameters.clone(),
            optimizer: self.optimizer.clone(),
            progress: self.progress,
            words: settings.words.clone(),
        }
    }
}

/// The rate of the step after `steps`.
fn rate(settings: &Settings, steps: u64, steps_per_epoch: u64) -> f32 {
    let epochs = steps as f64 / steps_per_epoch as f64;
    (settings.rate * settings.schedule.factor(epochs)) as f32
}

/// Gathers what happened between two progress reports.
struct Pulse {
    last: Duration,
    tally: Tally,
}

impl Pulse {
    fn new(now: Duration) -> Self {
        Self {
            last: now,
            tally: Tally::default(),
        }
    }

    fn beat(&mut self, tally: Tally, now: Duration) -> Option<ProgressReport> {
        self.tally.add(tally);
        let since = now.saturating_sub(self.last);
        if since < PROGRESS_EVERY {
            return None;
        }
        let tally = std::mem::take(&mut self.tally);
        self.last = now;
        Some(ProgressReport {
            steps: 0,
            epochs: 0.0,
            loss: tally.mean_loss(),
            accuracy: tally.accuracy(),
            rows_per_second: tally.rows as f64 / since.as_secs_f64(),
            elapsed: now,
            done: None,
        })
    }
}
