//! The trainer: what turns a model and a data set into trained parameters.
//!
//! [`Session`] is one worker: it draws batches, has [`Compute`] work out the
//! gradient on a team of threads, applies the [`Optimizer`], evaluates, writes
//! [`Checkpoint`]s on the side and ends at its [`Goal`]. For a given seed and
//! number of threads every result is the same to the last bit, also across a
//! stop and a resume.
//!
//! What is not here: the models (`nets`), the arithmetic (`kernels`), files of
//! data (`data`), and anything a user reads: a caller hears of progress through
//! [`Watch`].

mod checkpoint;
mod clock;
mod cluster;
mod compute;
mod feed;
mod goal;
mod optimizer;
mod schedule;
mod session;
mod tensors;

pub use checkpoint::{Checkpoint, LoadCheckpointError, Progress};
pub use cluster::{
    Account, Cluster, ClusterOutcome, ClusterSession, Crew, Fallen, Kill, Meeting, Moment,
    ParseKillError, ParseSlowdownError, ServeError, Slowdown, StartMemberError, WorkError, serve,
    work,
};
pub use compute::Compute;
pub use feed::input_of;
pub use goal::{Cadence, Condition, Goal, Metric, ParseCadenceError, ParseConditionError, Side};
pub use optimizer::{Optimizer, OptimizerState, ParseOptimizerError};
pub use schedule::{ParseScheduleError, Schedule, Shape};
pub use session::{
    CheckpointSettings, Ending, Evaluation, Outcome, ProgressReport, Session, Settings, TrainError,
    Watch,
};
pub use tensors::{Numbers, ReadTensorsError, Tensor, TensorFile, WriteTensorsError};
