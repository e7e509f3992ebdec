//! Several workers, on data with a known answer.

mod compress;
mod hosts;
mod processes;
mod reduce;
mod support;
mod threads;
