//! Several workers, on data with a known answer.

mod allreduce;
mod compress;
mod hosts;
mod processes;
mod support;
mod threads;
