//! From measurements to advice.
//!
//! [`queue`] says how long jobs wait and how many a cluster can take. From a table of [`runs`],
//! [`predict`] says what a response will be and how surely, [`pick`] which
//! configuration keeps its promises at the best objective and which run to make
//! next, [`size`] how many machines a deadline takes at least cost. [`curve`]
//! makes the number of epochs a variable, [`overlap`] tells when jobs that share
//! a cluster end, [`climb`], [`bayes`] and [`halving`] decide what a search runs next.
//!
//! This crate deliberately reads no files and prints nothing: it takes what
//! runs measured and returns findings with their evidence; how they look is the
//! report's business.

pub mod bayes;
pub mod climb;
pub mod curve;
pub mod halving;
pub mod least_squares;
pub mod overlap;
pub mod pick;
pub mod predict;
pub mod queue;
pub mod runs;
pub mod size;

pub use paceline_learn::Threads;
