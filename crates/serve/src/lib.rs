//! The live page and the deadline queue.
//!
//! - [`queue`] decides: which jobs are taken on, in which order, with which promise, and
//!   what is done for a promise that is threatened. It touches nothing.
//! - [`scheduler`] acts: it is the only writer of the queue's journal, and starts,
//!   watches and steers the processes that run jobs.
//! - [`http`] serves the page and the API, [`view`] says what is seen, [`client`] asks.
//! - [`request`] and [`options`] turn what somebody wants into what the queue decides on.
//!
//! This crate deliberately neither runs a job nor draws a chart: a job is run by a
//! process of its own through `runner`, and pages are those of `report`.

pub mod client;
pub mod http;
pub mod options;
pub mod place;
mod process;
pub mod queue;
pub mod request;
pub mod scheduler;
pub mod view;
