//! Mean and peak of each resource.

use crate::Tally;

/// The mean over the run and the highest interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// The mean over all intervals in which the value was read.
    pub mean: f64,
    /// The highest value of any interval.
    pub peak: f64,
    /// The sum over the run, for amounts; the last value, for levels.
    pub total: f64,
}

/// What a run used. Anything that was never read is absent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// CPUs in use by the run.
    pub cpus: Option<Amount>,
    /// CPUs in use on the node by others than the run.
    pub foreign_cpus: Option<Amount>,
    /// Memory of the run, in bytes.
    pub memory_bytes: Option<Amount>,
    /// Disk reads of the run, in bytes per second.
    pub disk_read_bytes_per_s: Option<Amount>,
    /// Disk writes of the run, in bytes per second.
    pub disk_write_bytes_per_s: Option<Amount>,
    /// Whether the traffic below is that of the run's own TCP sockets; else it
    /// is the whole machine's, because nobody knows whose.
    pub net_is_own: bool,
    /// Bytes received per second from other hosts.
    pub net_rx_bytes_per_s: Option<Amount>,
    /// Bytes sent per second to other hosts.
    pub net_tx_bytes_per_s: Option<Amount>,
    /// Bytes per second over loopback.
    pub loopback_bytes_per_s: Option<Amount>,
    /// CPUs taken by the hypervisor.
    pub steal_cpus: Option<Amount>,
    /// CPUs idle while a disk request was outstanding.
    pub iowait_cpus: Option<Amount>,
}

impl From<&Tally> for Usage {
    fn from(tally: &Tally) -> Self {
        Self {
            cpus: tally.run_cpus.amount(),
            foreign_cpus: tally.foreign_cpus.amount(),
            memory_bytes: tally.memory(),
            disk_read_bytes_per_s: tally.disk_read.amount(),
            disk_write_bytes_per_s: tally.disk_write.amount(),
            net_is_own: tally.net_is_own(),
            net_rx_bytes_per_s: tally.net().received.amount(),
            net_tx_bytes_per_s: tally.net().sent.amount(),
            loopback_bytes_per_s: tally.net().loopback.amount(),
            steal_cpus: tally.steal.amount(),
            iowait_cpus: tally.iowait.amount(),
        }
    }
}
