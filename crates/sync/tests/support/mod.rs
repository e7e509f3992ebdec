//! A run in simulated time over a network that delays, loses, repeats and
//! reorders, with workers that crash and come back.

pub(crate) mod network;
pub(crate) mod problem;
pub(crate) mod simulation;
