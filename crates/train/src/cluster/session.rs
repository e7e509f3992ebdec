//! A training with several workers, from the first step to the goal.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use paceline_data::Split;
use paceline_kernels::AlignedBuffer;
use paceline_nets::{Layout, Model};
use paceline_sync::{Consistency, SettingsError, Strategy};

use super::allreduce;
use super::config::Cluster;
use super::controller;
use super::evaluator::Evaluator;
use super::identity::TrainingIdentity;
use super::launcher::{Kill, Launcher};
use super::milestones::Milestones;
use super::partition::Partition;
use super::rendezvous::Rendezvous;
use super::snapshot::Snapshot;
use super::threads;
use super::totals::WorkerTotals;
use super::worker_log::RunRecord;
use crate::checkpoint::{Checkpoint, Progress};
use crate::compute::Compute;
use crate::optimizer::{Optimizer, OptimizerState};
use crate::session::{Outcome, Settings, TrainError, Watch};

/// A model in training by several workers.
pub struct ClusterSession {
    name: String,
    identity: OnceLock<TrainingIdentity>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) data: Split,
    pub(crate) settings: Settings,
    pub(crate) cluster: Cluster,
    pub(crate) rules: paceline_sync::Settings,
    pub(crate) parameters: AlignedBuffer,
    pub(crate) optimizer: OptimizerState,
    pub(crate) progress: Progress,
    pub(crate) record: Option<RunRecord>,
}

/// What came of a training by several workers.
#[derive(Clone, Debug)]
pub struct ClusterOutcome {
    /// As of a single worker. A step is an iteration of every worker.
    pub outcome: Outcome,
    /// What each worker did, by number.
    pub workers: Vec<WorkerTotals>,
}

impl ClusterSession {
    /// Fresh parameters. `settings.batch_size` and `settings.threads` are those
    /// of each worker. By its `name` members know that they train one model.
    ///
    /// # Errors
    /// If the strategy does not suit the number of workers.
    pub fn new(
        name: &str,
        model: Arc<dyn Model>,
        data: Split,
        settings: Settings,
        cluster: Cluster,
    ) -> Result<Self, SettingsError> {
        let len = model.layout().len();
        let mut parameters = AlignedBuffer::zeroed(len);
        model.initialize(settings.seed, &mut parameters);
        Ok(Self {
            rules: cluster.rules()?,
            optimizer: OptimizerState::new(settings.optimizer, len),
            progress: Progress::default(),
            record: None,
            name: name.to_owned(),
            identity: OnceLock::new(),
            model,
            data,
            settings,
            cluster,
            parameters,
        })
    }

    /// Goes on where a checkpoint stands.
    ///
    /// # Errors
    /// If the strategy does not suit the number of workers.
    pub fn resume(
        name: &str,
        model: Arc<dyn Model>,
        data: Split,
        settings: Settings,
        cluster: Cluster,
        checkpoint: Checkpoint,
    ) -> Result<Self, SettingsError> {
        Ok(Self {
            rules: cluster.rules()?,
            parameters: checkpoint.parameters,
            optimizer: checkpoint.optimizer,
            progress: checkpoint.progress,
            record: None,
            name: name.to_owned(),
            identity: OnceLock::new(),
            model,
            data,
            settings,
            cluster,
        })
    }

    /// Has every worker of this process write down its iterations in a record.
    pub fn record_in(&mut self, record: RunRecord) {
        self.record = Some(record);
    }

    /// What is trained, as members must agree on it.
    pub(crate) fn identity(&self) -> &TrainingIdentity {
        self.identity.get_or_init(|| {
            TrainingIdentity::new(&self.name, &self.data, &self.settings, Some(&self.cluster))
        })
    }

    /// How many threads each worker computes with.
    pub fn threads(&self) -> usize {
        self.settings.threads
    }

    /// Where the parameters lie.
    pub fn layout(&self) -> &Layout {
        self.model.layout()
    }

    /// The flat parameters: those of the last version looked at.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Trains on threads of this process until the goal is met, the loss
    /// diverges, or `stop` is set.
    ///
    /// # Errors
    /// If a checkpoint cannot be written.
    pub fn run_on_threads(
        &mut self,
        watch: &mut dyn Watch,
        stop: &AtomicBool,
    ) -> Result<ClusterOutcome, TrainError> {
        let milestones = self.milestones();
        let mut evaluator = self.evaluator(watch, milestones, self.threads_of_all());
        let (ending, workers) = match evaluator.is_done() {
            Some(ending) => (ending, Vec::new()),
            None if self.cluster.strategy == Strategy::AllReduce => {
                allreduce::train_on_threads(self, &mut evaluator, stop)?
            }
            None => threads::train(self, &mut evaluator, milestones, stop)?,
        };
        let (outcome, last) = evaluator.end(ending)?;
        self.keep(&outcome, last);
        Ok(ClusterOutcome { outcome, workers })
    }

    /// Trains on members that `launcher` starts and that meet at `rendezvous`, until
    /// the goal is met, the loss diverges, or `stop` is set.
    ///
    /// # Errors
    /// If a checkpoint cannot be written, a member cannot be started or does not
    /// come, or the training cannot go on without a worker that was lost.
    pub fn run_on_processes(
        &mut self,
        rendezvous: &Rendezvous,
        launcher: &mut dyn Launcher,
        kills: &[Kill],
        watch: &mut dyn Watch,
        stop: &AtomicBool,
    ) -> Result<ClusterOutcome, TrainError> {
        let milestones = self.milestones();
        // Where the workers run, nobody else uses their threads while the
        // controller evaluates; elsewhere, it has its own host's.
        let threads = if launcher.is_external() {
            self.settings.threads
        } else {
            self.threads_of_all()
        };
        let mut evaluator = self.evaluator(watch, milestones, threads);
        let (ending, workers) = match evaluator.is_done() {
            Some(ending) => (ending, Vec::new()),
            None => {
                let train = match self.cluster.strategy {
                    Strategy::AllReduce => allreduce::train_on_processes,
                    _ => controller::train,
                };
                train(self, rendezvous, launcher, kills, &mut evaluator, stop)?
            }
        };
        let (outcome, last) = evaluator.end(ending)?;
        self.keep(&outcome, last);
        Ok(ClusterOutcome { outcome, workers })
    }

    fn keep(&mut self, outcome: &Outcome, last: Option<Snapshot>) {
        if let Some(last) = last {
            self.parameters = Arc::unwrap_or_clone(last.parameters);
            self.optimizer = last.optimizer;
        }
        self.progress = outcome.progress;
    }

    /// What servers apply. With `local:H` the workers take the optimizer's
    /// steps, and a server's step leads to their mean.
    pub(crate) fn server_optimizer(&self) -> Optimizer {
        match self.cluster.consistency() {
            Consistency::Local { .. } => Optimizer::Sgd,
            _ => self.settings.optimizer,
        }
    }

    pub(crate) fn milestones(&self) -> Milestones {
        let rows = self.data.train.rows();
        let partition = Partition::of(&self.cluster, &self.settings, rows);
        Milestones::new(&self.settings, partition.iterations())
    }

    fn threads_of_all(&self) -> usize {
        self.settings.threads * self.cluster.workers.get() as usize
    }

    pub(crate) fn evaluator<'a>(
        &'a self,
        watch: &'a mut dyn Watch,
        milestones: Milestones,
        threads: usize,
    ) -> Evaluator<'a> {
        let compute = Compute::new(Arc::clone(&self.model), threads, 1);
        Evaluator::new(
            &self.settings,
            &self.data,
            compute,
            watch,
            milestones,
            self.progress,
        )
    }
}
