//! What the built-in trainer reports of each of its workers.

use crate::{WorkerId, named};

named! {
    /// A metric that tells how a worker of a training spends its time, in totals
    /// since the start of the training, in the order in which it is reported.
    pub enum WorkerMetric {
        Iterations = "iterations", "iterations completed";
        Rows = "rows", "rows computed on";
        Computing = "computing_s", "computing gradients, an injected slowdown included";
        Waiting = "waiting_s", "waiting for the other workers until it might start an iteration";
        Sending = "sending_s", "handing over updates; with threads, applying them too";
        Receiving = "receiving_s", "fetching parameters";
        Serialising = "serialising_s", "compressing updates";
        OnWire = "on_wire_s", "updates and parameters on their way; under allreduce, the sums between processes";
        Queued = "queued_s", "in the server's queue, or being applied there; with threads, waiting for the lock";
        WaitShare = "wait_share", "waiting by all of these times";
        SentBytes = "sent_bytes", "bytes sent between processes; zero for threads";
        ReceivedBytes = "received_bytes", "bytes received between processes; zero for threads";
        StalenessMean = "staleness_mean", "how far the parameters lagged behind the iteration, in clocks";
        StalenessMax = "staleness_max", "the largest of these lags";
        Dropped = "dropped", "updates that came after their iteration had closed";
        Restarts = "restarts", "how often the worker was started anew";
    }
}

/// The metric that says how long a worker waited for another.
#[must_use]
pub fn waited_for_metric(WorkerId(other): WorkerId) -> String {
    format!("{WAITED_FOR}{other}{SECONDS}")
}

/// For whom a worker waited, if the metric says that.
#[must_use]
pub fn waited_for_of(metric: &str) -> Option<WorkerId> {
    let other = metric.strip_prefix(WAITED_FOR)?.strip_suffix(SECONDS)?;
    other.parse().ok().map(WorkerId)
}

const WAITED_FOR: &str = "waited_for_worker";
const SECONDS: &str = "_s";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_another_reads_back() {
        assert_eq!(waited_for_metric(WorkerId(3)), "waited_for_worker3_s");
        assert_eq!(waited_for_of("waited_for_worker3_s"), Some(WorkerId(3)));
        assert_eq!(waited_for_of("waited_for_worker_s"), None);
        assert_eq!(waited_for_of("waiting_s"), None);
    }
}
