//! One module per command.

pub(crate) mod agent;
pub(crate) mod analyze;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod design;
pub(crate) mod diagnose;
pub(crate) mod doctor;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod import;
#[cfg(feature = "serve")]
pub(crate) mod job;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod pick;
pub(crate) mod predict;
pub(crate) mod predict_batch;
pub(crate) mod promises;
pub(crate) mod queue;
pub(crate) mod quickstart;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod size;
pub(crate) mod study;
#[cfg(feature = "serve")]
pub(crate) mod submit;
mod table_args;
pub(crate) mod train;
pub(crate) mod tune;
pub(crate) mod version;
