//! Training with several workers.

mod allreduce;
mod compress;
mod config;
mod connecting;
mod controller;
mod evaluator;
mod identity;
mod launcher;
mod members;
mod membership;
mod milestones;
mod notice;
mod partition;
mod protocol;
mod rendezvous;
mod server;
mod session;
mod shard;
#[cfg(test)]
mod simulation;
mod snapshot;
mod thread_account;
mod thread_reports;
mod threads;
mod totals;
mod update;
mod welcomes;
mod work_error;
mod worker;
mod worker_compute;
mod worker_log;

pub use compress::{Compression, ParseCompressionError};
pub use config::{Cluster, ParseSlowdownError, Slowdown};
pub use identity::TrainingIdentity;
pub use launcher::{
    Ended, External, Kill, Launcher, Moment, ParseKillError, StartMemberError, is_process_stopped,
};
pub use notice::Notice;
pub use rendezvous::Rendezvous;
pub use server::{ServeError, serve, serve_at};
pub use session::{ClusterOutcome, ClusterSession};
pub use totals::WorkerTotals;
pub(crate) use update::Update;
pub use work_error::WorkError;
pub use worker::work;
pub use worker_log::RunRecord;
