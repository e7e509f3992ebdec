//! Searching for the best level of a factor by real runs: what is asked, what
//! the runs so far say, and what to run next.
//!
//! Everything is decided from the finished runs alone, so that a search that is
//! taken up again goes on as it would have.

mod bayesian;
mod epochs;
mod error;
mod halving;
mod history;
mod question;
mod search;

pub use epochs::EpochWatch;
pub use error::TuneError;
pub use halving::same_budget;
pub use history::{History, Tried};
pub use question::{Bound, Direction, Question};
pub use search::{CONFIDENCE, End, Next, NotExplored, Reach, Search};
