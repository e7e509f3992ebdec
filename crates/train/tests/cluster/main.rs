//! Several workers, on data with a known answer.

mod allreduce;
mod compress;
mod faults;
mod hosts;
mod processes;
mod strangers;
mod support;
mod threads;
