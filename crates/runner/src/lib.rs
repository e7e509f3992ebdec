//! Executes runs.
//!
//! [`study`] executes a whole study and survives anything. [`Host`] says what a
//! command is started with. [`execute`] starts a run's commands through an engine,
//! merges everything that happens into one order, and writes it into the record.
//! [`reports`]
//! reads what a job says of itself. [`Interrupt`] passes on the user's wish to
//! stop.
//!
//! The runner deliberately neither prints nor decides what a result means: it
//! closes the record, and others read it.

mod event_files;
mod host;
mod interrupt;
pub mod placement;
mod reporting;
pub mod reports;
mod spark;
mod standstill;
pub mod study;
mod supervise;
mod tail;
mod time_limit;

pub use host::{Host, Opening, RecordedEnv};
pub use interrupt::Interrupt;
pub use paceline_engine::leftovers::guard;
pub use standstill::Standstill;
pub use supervise::{
    Ended, ExecuteError, Executed, Execution, Exit, GRACE, Observer, Results, Stops, execute,
};
