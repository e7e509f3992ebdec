//! The trainer: what turns a model and a data set into trained parameters.
//!
//! [`Session`] is one worker: it draws batches, has [`Compute`] work out the
//! gradient on a team of threads, applies the [`Optimizer`], evaluates, writes
//! [`Checkpoint`]s on the side and ends at its [`Goal`]. For a given seed and
//! number of threads every result is the same to the last bit, also across a
//! stop and a resume.
//!
//! [`ClusterSession`] is several workers, as threads that share memory or as
//! processes ([`work`], [`serve`]) that a [`Launcher`] starts. The rules by which they
//! agree are those of `sync`, the connections those of `wire`.
//!
//! [`ClassicSpec`] names the models that are solved as a whole (support vector
//! machines, exact logistic regression, random forests): they are fitted in one
//! call and kept as a [`ClassicModel`].
//!
//! # A model of one's own
//!
//! Whatever implements [`Model`](paceline_nets::Model) is trained: it says where
//! its parameters lie, how they start, and what the gradient of its loss is.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//! use paceline_data::{DataSpec, Options};
//! use paceline_nets::{Batch, Gradient, Input, Inputs, Layout, Model, ModelBase, Tally};
//! use paceline_train::{
//!     Cadence, Evaluation, Goal, Optimizer, ProgressReport, Schedule, Session, Settings, Watch,
//! };
//!
//! /// Least squares: the score w·x is to be −1 for class 0 and 1 for class 1.
//! struct LeastSquares {
//!     base: ModelBase,
//!     width: usize,
//! }
//!
//! impl LeastSquares {
//!     fn new(width: usize) -> Self {
//!         let mut layout = Layout::builder();
//!         layout.vector("weight", width, width);
//!         let base = ModelBase {
//!             layout: layout.build(),
//!             input: Input::Dense { width },
//!             classes: 2,
//!         };
//!         Self { base, width }
//!     }
//!
//!     /// Row, score and how far the score is off, for every row of a batch.
//!     fn errors<'a>(
//!         &self,
//!         weights: &'a [f32],
//!         batch: &Batch<'a>,
//!     ) -> impl Iterator<Item = (&'a [f32], f32, f32)> {
//!         let Inputs::Dense { values, width } = batch.inputs else {
//!             unreachable!("`base` says that rows are dense")
//!         };
//!         values.chunks(width).zip(batch.labels).map(move |(row, label)| {
//!             let score: f32 = row.iter().zip(weights).map(|(x, w)| x * w).sum();
//!             let target = if *label == 0 { -1.0 } else { 1.0 };
//!             (row, score, score - target)
//!         })
//!     }
//! }
//!
//! fn tally(score: f32, error: f32) -> Tally {
//!     // The target is the score less the error.
//!     let hit = (score > 0.0) == (score - error > 0.0);
//!     Tally { loss: f64::from(error * error) / 2.0, hits: hit.into(), rows: 1 }
//! }
//!
//! impl Model for LeastSquares {
//!     fn base(&self) -> &ModelBase {
//!         &self.base
//!     }
//!     fn scratch_len(&self, _rows: usize) -> usize {
//!         0
//!     }
//!     fn gradient(
//!         &self,
//!         weights: &[f32],
//!         batch: &Batch<'_>,
//!         scale: f32,
//!         gradient: &mut Gradient,
//!         _scratch: &mut [f32],
//!     ) -> Tally {
//!         let slopes = gradient.dense_mut();
//!         slopes.fill(0.0);
//!         let mut sum = Tally::default();
//!         for (row, score, error) in self.errors(weights, batch) {
//!             for (slope, x) in slopes.iter_mut().zip(row) {
//!                 *slope += scale * error * x;
//!             }
//!             sum.add(tally(score, error));
//!         }
//!         sum
//!     }
//!     fn evaluate(&self, weights: &[f32], batch: &Batch<'_>, _scratch: &mut [f32]) -> Tally {
//!         let mut sum = Tally::default();
//!         for (_, score, error) in self.errors(weights, batch) {
//!             sum.add(tally(score, error));
//!         }
//!         sum
//!     }
//!     fn scores(
//!         &self,
//!         weights: &[f32],
//!         batch: &Batch<'_>,
//!         scores: &mut [f32],
//!         _scratch: &mut [f32],
//!     ) {
//!         let rows = self.errors(weights, batch);
//!         for (pair, (_, score, _)) in scores.chunks_mut(2).zip(rows) {
//!             pair.copy_from_slice(&[-score, score]);
//!         }
//!     }
//!     fn flops_per_row(&self) -> f64 {
//!         4.0 * self.width as f64
//!     }
//! }
//!
//! struct Silent;
//! impl Watch for Silent {
//!     fn progressed(&mut self, _: &ProgressReport) {}
//!     fn evaluated(&mut self, _: &Evaluation) {}
//! }
//!
//! let spec: DataSpec = "synthetic:dense,rows=1000,width=16,signal=4".parse()?;
//! let data = paceline_data::open(&spec, &Options::default())?;
//! let settings = Settings {
//!     batch_size: 32,
//!     threads: 1,
//!     seed: 1,
//!     optimizer: Optimizer::Sgd,
//!     rate: 0.02,
//!     schedule: Schedule::CONSTANT,
//!     decay: 0.0,
//!     clip: None,
//!     goal: Goal { epochs: Some(5), ..Goal::default() },
//!     evaluate_every: Cadence::Epochs(1.0),
//!     checkpoint: None,
//! };
//! let mut session = Session::new(Arc::new(LeastSquares::new(16)), data, settings);
//! let outcome = session.run(&mut Silent, &AtomicBool::new(false))?;
//! assert!(outcome.evaluation.is_some_and(|found| found.test.accuracy() > 0.7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//!
//! Not here are the models (`nets`), the arithmetic (`kernels`), the
//! solvers of the classic models (`learn`), files of data (`data`), and anything
//! a user reads: a caller hears of progress through [`Watch`].

mod checkpoint;
mod classic;
mod clock;
mod cluster;
mod compute;
mod defaults;
mod descent;
mod feed;
mod goal;
mod optimizer;
mod schedule;
mod session;
mod tensors;
mod train_error;

pub use checkpoint::{Checkpoint, LoadCheckpointError, Progress};
pub use classic::{
    AskClassicError, ClassicModel, ClassicSpec, Duality, FitClassicError, Fitted, Judged,
    ParseClassicError, RowsRefused,
};
pub use cluster::{
    Cluster, ClusterOutcome, ClusterSession, Compression, Ended, External, Kill, Launcher, Moment,
    Notice, ParseCompressionError, ParseKillError, ParseSlowdownError, Rendezvous, RunRecord,
    ServeError, Slowdown, StartMemberError, TrainingIdentity, WorkError, WorkerTotals,
    is_process_stopped, serve, serve_at, work,
};
pub use compute::Compute;
pub use defaults::Defaults;
pub use feed::input_of;
pub use goal::{Cadence, Condition, Goal, Metric, ParseCadenceError, ParseConditionError, Side};
pub use optimizer::{Optimizer, OptimizerState, ParseOptimizerError};
pub use schedule::{ParseScheduleError, Schedule, Shape};
pub use session::{
    CheckpointSettings, Ending, Evaluation, Outcome, ProgressReport, Session, Settings, TrainError,
    Watch,
};
pub use tensors::{Numbers, ReadTensorsError, Tensor, TensorFile, WriteTensorsError};
