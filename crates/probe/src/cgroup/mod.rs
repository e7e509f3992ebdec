//! Control groups: one of its own for a run, with its limits.
//!
//! A group is made to measure. It shapes the run only where a limit is asked
//! for: a run in a CPU group of its own would compete with the rest of the
//! machine as one unit instead of by process, so the `cpu` controller is left
//! alone unless there is a quota.

mod group;
mod layout;
mod limits;

pub use group::{CreateGroupError, Entry, GroupPaths, KillGroupError, RunGroup};
pub use layout::{Layout, Version};
pub use limits::{CpuSet, CpuSetError, Limit, Limits};
