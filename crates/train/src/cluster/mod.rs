//! Training with several workers.

mod account;
mod charter;
mod compress;
mod conductor;
mod controller;
mod crew;
mod desk;
mod dial;
mod frames;
mod handover;
mod ledger;
mod notice;
mod plan;
mod reduce;
mod roll;
mod round;
mod rows;
mod server;
mod session;
mod store;
mod threads;
mod update;
mod worker;

pub use account::Account;
pub use compress::{Compression, ParseCompressionError};
pub use crew::{Crew, Elsewhere, Fallen, Kill, Moment, ParseKillError, StartMemberError};
pub use frames::Meeting;
pub use ledger::RunRecord;
pub use notice::Notice;
pub use plan::{Cluster, ParseSlowdownError, Slowdown};
pub use server::{ServeError, serve, serve_at};
pub use session::{ClusterOutcome, ClusterSession};
pub(crate) use update::Update;
pub use worker::{WorkError, work};
