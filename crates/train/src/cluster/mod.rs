//! Training with several workers.

mod allreduce;
mod compress;
mod config;
mod connecting;
mod controller;
mod evaluator;
mod frames;
mod handover;
mod identity;
mod launcher;
mod membership;
mod notice;
mod partition;
mod server;
mod session;
mod store;
mod thread_reports;
mod threads;
mod totals;
mod update;
mod worker;
mod worker_compute;
mod worker_log;

pub use compress::{Compression, ParseCompressionError};
pub use config::{Cluster, ParseSlowdownError, Slowdown};
pub use frames::Rendezvous;
pub use launcher::{Ended, External, Kill, Launcher, Moment, ParseKillError, StartMemberError};
pub use notice::Notice;
pub use server::{ServeError, serve, serve_at};
pub use session::{ClusterOutcome, ClusterSession};
pub use totals::WorkerTotals;
pub(crate) use update::Update;
pub use worker::{WorkError, work};
pub use worker_log::RunRecord;
