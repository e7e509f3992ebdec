//! Executing a study: every planned run once, whatever happens in between.
//!
//! A [`Session`] opens a study's directory, as its only writer, and executes
//! what is still to be done. Its state is a replay of the journal
//! ([`Progress`]); a viewer replays the same journal and can never harm it.
//! A session may also begin without a plan and grow, run by run, as somebody
//! decides from what has ended ([`Session::open_growing`]), and a run that
//! something was promised of is added to any ([`Session::promise`]).

mod attempt;
mod grow;
mod opening;
mod plan;
mod progress;
mod promised;
mod session;
mod table;

pub use attempt::Copies;
pub use opening::{BegunError, OpenStudyError};
pub use plan::{PlanStudyError, plan};
pub use progress::{Counts, Progress, RunState};
pub use promised::{PromiseError, unsettled};
pub use session::{Outlook, RunStudyError, Session, Settings, SyncEngine, Watcher};
pub use table::table;
