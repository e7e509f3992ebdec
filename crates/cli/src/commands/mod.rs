//! One module per command.

pub(crate) mod analyze;
pub(crate) mod design;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod ls;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod study;
mod table_file;
