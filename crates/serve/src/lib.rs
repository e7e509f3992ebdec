//! The live page and the deadline queue.

pub mod queue;
