//! Several workers, on data with a known answer.

mod processes;
mod support;
mod threads;
