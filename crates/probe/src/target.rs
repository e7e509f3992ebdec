//! What a probe looks at besides the node.

use crate::cgroup::GroupPaths;

/// The run whose processes a probe follows. The default follows none: the
/// samples then speak of the node alone.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// Its processes, by descent.
    pub processes: Option<Processes>,
    /// The cgroup it lives in. Its members and their descendants are the
    /// run's, whatever their parents are.
    pub cgroup: Option<GroupPaths>,
    /// From when on its usage counts.
    pub counted: Counted,
}

/// A run's processes, by descent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processes {
    /// This process, its descendants, and every member of the process group
    /// that it leads.
    ///
    /// A process that loses its parent and is adopted by one outside the tree
    /// stays the run's once a sample has seen it. When the root is waited for,
    /// its account is gone: whoever waits for it should let the probe take a
    /// last sample first (`waitid` with `WNOWAIT` leaves the process in place).
    Tree(i32),
    /// Every descendant of this process, but not the process itself: the run
    /// of a supervisor that has nothing else below it. Processes it has waited
    /// for count, and so do orphans if it is their reaper
    /// ([`become_subreaper`]).
    Below(i32),
}

/// From when on a run's usage counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counted {
    /// From the start of its processes and of its cgroup, which were made for
    /// it: what they did before the probe's first reading is in the first
    /// sample.
    #[default]
    FromStart,
    /// From the probe's first reading on, for processes that were already at
    /// work.
    FromBaseline,
}

/// Makes the calling process the one that adopts its orphaned descendants, so
/// that daemons of a run stay below it and it can wait for them.
///
/// # Errors
/// Whatever `prctl(PR_SET_CHILD_SUBREAPER)` says; Linux before 3.4 lacks it.
pub fn become_subreaper() -> std::io::Result<()> {
    let me = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(me))?)
}
