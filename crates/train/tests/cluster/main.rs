//! Several workers, on data with a known answer.

mod support;
mod threads;
