//! What runs used, as their samples tell.

/// What a run used of the processors and of the disk, in seconds, all its jobs
/// together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Processor time, all cores.
    pub cpu_s: f64,
    /// Time in which the disk had a request.
    pub disk_s: f64,
}

/// Where the operational law has its service demands from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DemandSource {
    /// From the recorded samples of the runs; only the queue at the disk and what
    /// samples do not see are estimated from the times.
    Samples,
    /// From the times in the table alone.
    Table,
}

impl Demand {
    /// Whether a law can be fitted to it: a run that trained has used a processor.
    pub fn is_usable(&self) -> bool {
        self.cpu_s.is_finite() && self.cpu_s > 0.0 && self.disk_s.is_finite() && self.disk_s >= 0.0
    }
}
