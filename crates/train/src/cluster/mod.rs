//! Training with several workers.

mod account;
mod conductor;
mod plan;
mod round;
mod rows;
mod session;
mod store;
mod threads;
mod update;

pub use account::Account;
pub use plan::{Cluster, ParseSlowdownError, Slowdown};
pub use session::{ClusterOutcome, ClusterSession};
pub(crate) use update::Update;
