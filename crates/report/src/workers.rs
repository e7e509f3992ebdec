//! Who did how much in a training by several workers, and who waited for whom.

use std::collections::BTreeMap;

use crate::number::{bytes, count, duration, percent, significant};
use crate::text::{Column, Style, Table};
use paceline_model::{Event, EventKind, WorkerId, WorkerMetric, waited_for_of};

/// What one worker reported last, in totals since the start of the run.
///
/// The built-in trainer reports all of it under the names of these fields; any
/// other program may report what it knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Worker {
    /// The worker.
    pub worker: WorkerId,
    /// Iterations it completed.
    pub iterations: Option<f64>,
    /// Seconds computing.
    pub computing_s: Option<f64>,
    /// Seconds waiting for others.
    pub waiting_s: Option<f64>,
    /// Seconds handing over updates.
    pub sending_s: Option<f64>,
    /// Seconds fetching parameters.
    pub receiving_s: Option<f64>,
    /// Seconds compressing updates.
    pub serialising_s: Option<f64>,
    /// Seconds during which updates and parameters were on their way.
    pub on_wire_s: Option<f64>,
    /// Seconds in the server's queue.
    pub queued_s: Option<f64>,
    /// Bytes of updates handed over.
    pub sent_bytes: Option<f64>,
    /// The mean lag of its parameters, in clocks.
    pub staleness_mean: Option<f64>,
    /// The largest lag.
    pub staleness_max: Option<f64>,
    /// Updates that came too late to count.
    pub dropped: Option<f64>,
    /// How often it was started anew.
    pub restarts: Option<f64>,
    /// Of the waiting, how many seconds were for whom.
    pub waited_for_s: BTreeMap<WorkerId, f64>,
}

impl Worker {
    /// Seconds moving updates and parameters, the server's included; none if nothing
    /// of it was reported.
    #[must_use]
    pub fn moving_s(&self) -> Option<f64> {
        let parts = [
            self.sending_s,
            self.receiving_s,
            self.serialising_s,
            self.on_wire_s,
            self.queued_s,
        ];
        let told = parts.iter().any(Option::is_some);
        told.then(|| parts.iter().flatten().sum())
    }

    /// The share of its time that the worker waited, from 0 to 1.
    #[must_use]
    pub fn wait_share(&self) -> Option<f64> {
        let (computing, waiting) = (self.computing_s?, self.waiting_s?);
        let total = computing + waiting + self.moving_s().unwrap_or(0.0);
        (total > 0.0).then(|| waiting / total)
    }

    /// For whom it waited longest.
    #[must_use]
    pub fn straggler(&self) -> Option<WorkerId> {
        let waits = self.waited_for_s.iter().filter(|(_, wait)| **wait > 0.0);
        waits
            .max_by(|one, other| one.1.total_cmp(other.1))
            .map(|(other, _)| *other)
    }

    /// Where a metric is kept, if it is: the rest is derived, or told elsewhere.
    fn field(&mut self, metric: WorkerMetric) -> Option<&mut Option<f64>> {
        Some(match metric {
            WorkerMetric::Iterations => &mut self.iterations,
            WorkerMetric::Computing => &mut self.computing_s,
            WorkerMetric::Waiting => &mut self.waiting_s,
            WorkerMetric::Sending => &mut self.sending_s,
            WorkerMetric::Receiving => &mut self.receiving_s,
            WorkerMetric::Serialising => &mut self.serialising_s,
            WorkerMetric::OnWire => &mut self.on_wire_s,
            WorkerMetric::Queued => &mut self.queued_s,
            WorkerMetric::SentBytes => &mut self.sent_bytes,
            WorkerMetric::StalenessMean => &mut self.staleness_mean,
            WorkerMetric::StalenessMax => &mut self.staleness_max,
            WorkerMetric::Dropped => &mut self.dropped,
            WorkerMetric::Restarts => &mut self.restarts,
            WorkerMetric::Rows | WorkerMetric::WaitShare | WorkerMetric::ReceivedBytes => {
                return None;
            }
        })
    }
}

/// What else is reported of every evaluation without being about the training.
const ELAPSED: &str = "elapsed_s";

/// Whether a metric tells how a worker spends its time rather than how the
/// training goes.
pub(crate) fn is_account(metric: &str) -> bool {
    metric == ELAPSED
        || waited_for_of(metric).is_some()
        || WorkerMetric::from_name(metric).is_some()
}

/// The workers that reported how they spent their time, by number.
#[must_use]
pub fn workers(events: &[Event]) -> Vec<Worker> {
    let mut found: BTreeMap<WorkerId, Worker> = BTreeMap::new();
    for event in events
        .iter()
        .filter(|event| event.kind == EventKind::Metric)
    {
        let (Some(id), Some(value)) = (event.worker, event.value) else {
            continue;
        };
        let worker = found.entry(id).or_default();
        worker.worker = id;
        // The last report of each name counts.
        if let Some(other) = waited_for_of(&event.name) {
            worker.waited_for_s.insert(other, value);
        } else if let Some(metric) = WorkerMetric::from_name(&event.name)
            && let Some(field) = worker.field(metric)
        {
            *field = Some(value);
        }
    }
    found
        .into_values()
        .filter(|worker| worker.computing_s.is_some() || worker.waiting_s.is_some())
        .collect()
}

/// A table of the workers; empty if there are none.
#[must_use]
pub fn table(workers: &[Worker], width: usize, style: Style) -> String {
    if workers.is_empty() {
        return String::new();
    }
    let has = |value: fn(&Worker) -> Option<f64>| {
        workers
            .iter()
            .any(|worker| value(worker).is_some_and(|value| value > 0.0))
    };
    let (late, restarted) = (has(|worker| worker.dropped), has(|worker| worker.restarts));
    let sends = has(|worker| worker.sent_bytes);
    let mut columns = vec![
        Column::words("worker"),
        Column::amounts("iterations"),
        Column::amounts("computing"),
        Column::amounts("waiting"),
        Column::amounts("share"),
        Column::amounts("moving"),
        Column::words("mostly for"),
        Column::amounts("staleness"),
    ];
    if sends {
        columns.push(Column::amounts("sent").optional());
    }
    if late {
        columns.push(Column::amounts("dropped"));
    }
    if restarted {
        columns.push(Column::amounts("restarts"));
    }
    let mut table = Table::new(columns);
    for worker in workers {
        let mut cells = vec![
            worker.worker.to_string(),
            told(worker.iterations, whole),
            told(worker.computing_s, duration),
            told(worker.waiting_s, duration),
            told(worker.wait_share(), percent),
            told(worker.moving_s(), duration),
            told(worker.straggler(), |other| other.to_string()),
            match (worker.staleness_mean, worker.staleness_max) {
                (Some(mean), Some(max)) => {
                    format!("{} (max {})", significant(mean, 2), whole(max))
                }
                _ => String::new(),
            },
        ];
        if sends {
            cells.push(told(worker.sent_bytes, bytes));
        }
        if late {
            cells.push(told(worker.dropped, whole));
        }
        if restarted {
            cells.push(told(worker.restarts, whole));
        }
        table.row(cells);
    }
    table.render(width, style)
}

/// The workers for programs; the keys are those of the trainer's events, and
/// absent where a worker did not report them.
#[must_use]
pub fn json(workers: &[Worker]) -> serde_json::Value {
    let one = |worker: &Worker| {
        let mut object = serde_json::json!({
            "worker": worker.worker.0,
            "straggler": worker.straggler().map(|other| other.0),
        });
        let fields = [
            ("iterations", worker.iterations),
            ("computing_s", worker.computing_s),
            ("waiting_s", worker.waiting_s),
            ("sending_s", worker.sending_s),
            ("receiving_s", worker.receiving_s),
            ("serialising_s", worker.serialising_s),
            ("on_wire_s", worker.on_wire_s),
            ("queued_s", worker.queued_s),
            ("wait_share", worker.wait_share()),
            ("sent_bytes", worker.sent_bytes),
            ("staleness_mean", worker.staleness_mean),
            ("staleness_max", worker.staleness_max),
            ("dropped", worker.dropped),
            ("restarts", worker.restarts),
        ];
        for (key, value) in fields {
            if let Some(value) = value {
                object[key] = value.into();
            }
        }
        object
    };
    workers.iter().map(one).collect()
}

fn told<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or(String::new(), text)
}

fn whole(value: f64) -> String {
    count(value.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::Micros;

    fn event(worker: u32, name: &str, value: f64) -> Event {
        Event {
            at: Micros(1_000_000),
            worker: Some(WorkerId(worker)),
            kind: EventKind::Metric,
            step: None,
            name: name.to_owned(),
            value: Some(value),
            text: None,
        }
    }

    fn events() -> Vec<Event> {
        let mut events = Vec::new();
        for (worker, iterations, computing, waiting) in [
            (0, 10.0, 1.0, 0.0),
            (0, 7700.0, 1.0, 3.0),
            (1, 7700.0, 4.0, 0.0),
        ] {
            events.push(event(worker, "iterations", iterations));
            events.push(event(worker, "computing_s", computing));
            events.push(event(worker, "waiting_s", waiting));
        }
        events.push(event(0, "waited_for_worker1_s", 2.5));
        events.push(event(0, "waited_for_worker2_s", 0.5));
        events.push(event(9, "loss", 0.5));
        events
    }

    #[test]
    fn the_last_report_of_each_worker_counts() {
        let found = workers(&events());
        assert_eq!(found.len(), 2, "a rank that reports a loss is no worker");
        assert_eq!(found[0].iterations, Some(7700.0));
        assert_eq!(found[0].wait_share(), Some(0.75));
        assert_eq!(found[0].straggler(), Some(WorkerId(1)));
        assert_eq!(found[1].straggler(), None);
        assert_eq!(found[0].moving_s(), None);
    }

    #[test]
    fn what_moved_counts_for_the_share_of_waiting() {
        let mut events = events();
        events.push(event(0, "sending_s", 0.5));
        events.push(event(0, "receiving_s", 0.5));
        let found = workers(&events);
        assert_eq!(found[0].moving_s(), Some(1.0));
        assert_eq!(found[0].wait_share(), Some(0.6));
    }

    #[test]
    fn the_table_names_the_straggler() {
        let text = table(&workers(&events()), 100, Style::default());
        let row = text.lines().find(|line| line.contains("worker0")).unwrap();
        assert!(row.contains("7,700") && row.contains("75.0%") && row.contains("worker1"));
        assert!(!text.contains("dropped"));
        assert!(table(&[], 80, Style::default()).is_empty());
    }

    #[test]
    fn accounts_are_told_from_results() {
        assert!(is_account("waited_for_worker12_s") && is_account("sent_bytes"));
        assert!(!is_account("loss") && !is_account("rows_per_second"));
    }
}
