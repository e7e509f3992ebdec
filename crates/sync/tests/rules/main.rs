//! The rules as a whole: told as stories, held against simulated networks, and
//! used by real threads.

mod network;
mod problem;
mod properties;
mod shared_memory;
mod simulation;
mod stories;
