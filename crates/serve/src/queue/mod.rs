//! The deadline queue's decisions: no file, no clock, no process.
//!
//! [`State`] is a replay of the journal's [`Entry`]s. [`admit`] decides on a newcomer,
//! [`measures`] on promises that are threatened, both by the same [`ends`].

mod admission;
mod belief;
mod entry;
mod measures;
mod outlook;
mod state;

pub use admission::{Accepted, Candidate, Decision, Refused, Wish, admit, place_of};
pub use belief::Belief;
pub use entry::{Act, Entry, Job, Work};
pub use measures::{Measure, Subject, measures};
pub use outlook::{End, Item, ends};
pub use state::{Kept, Known, Progress, Stage, State};
