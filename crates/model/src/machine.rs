//! The machines that runs take place on.

use crate::NodeName;

/// A machine that takes part in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its name in the record, made from its host name.
    pub node: NodeName,
    /// The operating system, as it calls itself.
    pub os: String,
    /// The kernel's release, such as `6.12.0-amd64`.
    pub kernel: String,
    /// The instruction set, such as `x86_64`.
    pub architecture: String,
    /// The processor's name, where the system tells it.
    pub cpu_model: Option<String>,
    /// Logical CPUs that are online; at least one.
    pub cpus_count: u32,
    /// Physical memory.
    pub memory_bytes: Option<u64>,
}
