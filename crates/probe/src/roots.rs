//! Where the kernel's files are.

use std::path::PathBuf;

/// The two file systems through which the kernel tells what it counts, and the
/// library through which a GPU's driver does.
///
/// They are parameters so that a test can lay out a machine of its own, and so
/// that a probe in a container can look at the host's files where they are
/// mounted elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// The mount point of procfs, usually `/proc`.
    pub proc: PathBuf,
    /// The mount point of sysfs, usually `/sys`.
    pub sys: PathBuf,
    /// NVIDIA's management library: a name that the dynamic linker finds, or a path.
    pub nvml: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: PathBuf::from("/proc"),
            sys: PathBuf::from("/sys"),
            nvml: PathBuf::from("libnvidia-ml.so.1"),
        }
    }
}
