//! Who computed and who waited, where workers report it.

use paceline_model::{Event, EventKind, WorkerId};
use std::collections::BTreeMap;

/// What one worker reported of its time, in totals since the start of the run.
///
/// The built-in trainer reports them under `iterations`, `computing_s`,
/// `waiting_s`, `sending_s`, `receiving_s` and `waited_for_worker1_s`; any other
/// program may.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkerShare {
    /// The worker.
    pub worker: WorkerId,
    /// Completed iterations.
    pub iterations: Option<f64>,
    /// Seconds spent computing.
    pub computing_s: Option<f64>,
    /// Seconds spent waiting for others.
    pub waiting_s: Option<f64>,
    /// Seconds spent sending and receiving.
    pub moving_s: Option<f64>,
    /// Of the waiting, how many seconds were for whom.
    pub waited_for_s: BTreeMap<WorkerId, f64>,
}

impl WorkerShare {
    /// The share of its time that the worker waited, from 0 to 1.
    #[must_use]
    pub fn wait_share(&self) -> Option<f64> {
        let (computing, waiting) = (self.computing_s?, self.waiting_s?);
        let total = computing + waiting + self.moving_s.unwrap_or(0.0);
        (total > 0.0).then(|| waiting / total)
    }
}

/// What a metric says of a worker's time.
enum Said {
    Iterations,
    Computing,
    Waiting,
    Sending,
    Receiving,
    WaitedFor(WorkerId),
}

fn said(name: &str) -> Option<Said> {
    Some(match name {
        "iterations" => Said::Iterations,
        "computing_s" => Said::Computing,
        "waiting_s" => Said::Waiting,
        "sending_s" => Said::Sending,
        "receiving_s" => Said::Receiving,
        _ => {
            let worker = name.strip_prefix("waited_for_worker")?.strip_suffix("_s")?;
            Said::WaitedFor(WorkerId(worker.parse().ok()?))
        }
    })
}

/// Other things that the built-in trainer reports of each worker.
const ACCOUNTS: [&str; 9] = [
    "elapsed_s",
    "rows",
    "wait_share",
    "sent_bytes",
    "received_bytes",
    "staleness_mean",
    "staleness_max",
    "dropped",
    "restarts",
];

/// Whether a metric tells how a worker spends its time rather than how the
/// training goes.
pub(super) fn is_account(name: &str) -> bool {
    said(name).is_some() || ACCOUNTS.contains(&name)
}

/// The workers that reported how they spent their time, by number.
#[must_use]
pub fn worker_shares(events: &[Event]) -> Vec<WorkerShare> {
    // The last report of each name counts; sending and receiving are added up.
    let mut shares: BTreeMap<WorkerId, (WorkerShare, [f64; 2])> = BTreeMap::new();
    for event in events.iter().filter(|e| e.kind == EventKind::Metric) {
        let (Some(worker), Some(said), Some(value)) =
            (event.worker, said(&event.name), event.value)
        else {
            continue;
        };
        let (share, moved) = shares.entry(worker).or_default();
        share.worker = worker;
        match said {
            Said::Iterations => share.iterations = Some(value),
            Said::Computing => share.computing_s = Some(value),
            Said::Waiting => share.waiting_s = Some(value),
            Said::Sending => {
                moved[0] = value;
                share.moving_s = Some(moved[0] + moved[1]);
            }
            Said::Receiving => {
                moved[1] = value;
                share.moving_s = Some(moved[0] + moved[1]);
            }
            Said::WaitedFor(other) => {
                share.waited_for_s.insert(other, value);
            }
        }
    }
    shares
        .into_values()
        .map(|(share, _)| share)
        .filter(|share| share.computing_s.is_some() || share.waiting_s.is_some())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::Micros;

    #[test]
    fn the_last_totals_of_each_worker_count() {
        let report = |worker: u32, name: &str, value: f64| Event {
            at: Micros::ZERO,
            worker: Some(WorkerId(worker)),
            kind: EventKind::Metric,
            step: None,
            name: name.to_owned(),
            value: Some(value),
            text: None,
        };
        let found = worker_shares(&[
            report(1, "computing_s", 1.0),
            report(1, "computing_s", 5.0),
            report(1, "waiting_s", 2.0),
            report(1, "sending_s", 0.5),
            report(1, "receiving_s", 0.5),
            report(1, "waited_for_worker0_s", 1.5),
            report(0, "loss", 0.5),
            report(1, "iterations", 40.0),
        ]);
        assert_eq!(found.len(), 1, "worker 0 said nothing of its time");
        assert_eq!(found[0].moving_s, Some(1.0));
        assert_eq!(found[0].wait_share(), Some(0.25));
        assert_eq!(found[0].iterations, Some(40.0));
        assert_eq!(found[0].waited_for_s[&WorkerId(0)], 1.5);
    }

    #[test]
    fn accounts_are_told_from_results() {
        assert!(is_account("waited_for_worker12_s") && is_account("sent_bytes"));
        assert!(!is_account("loss") && !is_account("rows_per_second"));
    }
}
