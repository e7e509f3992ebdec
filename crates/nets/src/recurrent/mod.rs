//! Recurrent classifiers: a sequence is read step by step into a state, and a
//! softmax of the last state names the class.
//!
//! A sequence is either a row of tokens, each of which has a vector in a table
//! that is learned too, or a dense row cut into steps of equal width (the lines
//! of an image). Reading both ways runs a second set of weights from the end
//! to the start; the head sees both last states side by side.

mod cell;
mod classifier;
mod direction;
mod lookups;
mod memory;
mod panels;

pub use cell::Cell;
pub use classifier::{Reading, RecurrentClassifier, RecurrentShape, Sequence};
