//! Who did how much in a training by several workers, and who waited for whom.

use std::collections::BTreeMap;

use crate::number::{count, duration, percent, significant};
use crate::text::{Column, Style, Table};
use paceline_model::{Event, EventKind};

/// What one worker reported last, as the trainer's events name it.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// Its number.
    pub worker: u32,
    /// Iterations it completed.
    pub iterations: f64,
    /// Seconds computing.
    pub computing_s: f64,
    /// Seconds waiting for others.
    pub waiting_s: f64,
    /// Seconds handing over updates and fetching parameters.
    pub talking_s: f64,
    /// The mean lag of its parameters, in clocks.
    pub staleness_mean: f64,
    /// The largest lag.
    pub staleness_max: f64,
    /// Updates that came too late to count.
    pub dropped: f64,
    /// How often it was started anew.
    pub restarts: f64,
    /// For whom it waited longest, and how long.
    pub straggler: Option<(u32, f64)>,
}

impl Worker {
    /// The share of its time that it waited.
    #[must_use]
    pub fn wait_share(&self) -> f64 {
        let all = self.computing_s + self.waiting_s + self.talking_s;
        if all > 0.0 { self.waiting_s / all } else { 0.0 }
    }
}

/// The workers of a training, by number; none if the events are not of one.
#[must_use]
pub fn workers(events: &[Event]) -> Vec<Worker> {
    let mut last: BTreeMap<u32, BTreeMap<&str, f64>> = BTreeMap::new();
    for event in events
        .iter()
        .filter(|event| event.kind == EventKind::Metric)
    {
        if let (Some(worker), Some(value)) = (event.worker, event.value) {
            last.entry(worker.0).or_default().insert(&event.name, value);
        }
    }
    last.into_iter()
        .filter(|(_, numbers)| {
            ["iterations", "computing_s", "waiting_s"]
                .iter()
                .all(|name| numbers.contains_key(name))
        })
        .map(|(worker, numbers)| {
            let number = |name: &str| numbers.get(name).copied().unwrap_or_default();
            let straggler = numbers
                .iter()
                .filter_map(|(name, value)| {
                    let other = name.strip_prefix("waited_for_worker")?.strip_suffix("_s")?;
                    Some((other.parse().ok()?, *value))
                })
                .filter(|(_, value)| *value > 0.0)
                .max_by(|one: &(u32, f64), other| one.1.total_cmp(&other.1));
            Worker {
                worker,
                iterations: number("iterations"),
                computing_s: number("computing_s"),
                waiting_s: number("waiting_s"),
                talking_s: number("sending_s") + number("receiving_s"),
                staleness_mean: number("staleness_mean"),
                staleness_max: number("staleness_max"),
                dropped: number("dropped"),
                restarts: number("restarts"),
                straggler,
            }
        })
        .collect()
}

/// A table of the workers; empty if there are none.
#[must_use]
pub fn table(workers: &[Worker], width: usize, style: Style) -> String {
    if workers.is_empty() {
        return String::new();
    }
    let has = |value: fn(&Worker) -> f64| workers.iter().any(|worker| value(worker) > 0.0);
    let (late, restarted) = (has(|worker| worker.dropped), has(|worker| worker.restarts));
    let mut columns = vec![
        Column::words("worker"),
        Column::amounts("iterations"),
        Column::amounts("computing"),
        Column::amounts("waiting"),
        Column::amounts("share"),
        Column::words("mostly for"),
        Column::amounts("staleness"),
    ];
    if late {
        columns.push(Column::amounts("dropped"));
    }
    if restarted {
        columns.push(Column::amounts("restarts"));
    }
    let mut table = Table::new(columns);
    for worker in workers {
        let mut cells = vec![
            format!("worker{}", worker.worker),
            whole(worker.iterations),
            duration(worker.computing_s),
            duration(worker.waiting_s),
            percent(worker.wait_share()),
            worker
                .straggler
                .map_or(String::new(), |(other, _)| format!("worker{other}")),
            format!(
                "{} (max {})",
                significant(worker.staleness_mean, 2),
                whole(worker.staleness_max)
            ),
        ];
        if late {
            cells.push(whole(worker.dropped));
        }
        if restarted {
            cells.push(whole(worker.restarts));
        }
        table.row(cells);
    }
    table.render(width, style)
}

/// The workers for programs; the keys are those of the trainer's events.
#[must_use]
pub fn json(workers: &[Worker]) -> serde_json::Value {
    workers
        .iter()
        .map(|worker| {
            serde_json::json!({
                "worker": worker.worker,
                "iterations": worker.iterations,
                "computing_s": worker.computing_s,
                "waiting_s": worker.waiting_s,
                "wait_share": worker.wait_share(),
                "straggler": worker.straggler.map(|(other, _)| other),
                "staleness_mean": worker.staleness_mean,
                "staleness_max": worker.staleness_max,
                "dropped": worker.dropped,
                "restarts": worker.restarts,
            })
        })
        .collect()
}

fn whole(value: f64) -> String {
    count(value.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::{Micros, WorkerId};

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
        assert!((found[0].iterations - 7700.0).abs() < 1e-9);
        assert!((found[0].wait_share() - 0.75).abs() < 1e-9);
        assert_eq!(found[0].straggler, Some((1, 2.5)));
        assert_eq!(found[1].straggler, None);
    }

    #[test]
    fn the_table_names_the_straggler() {
        let text = table(&workers(&events()), 100, Style::default());
        let row = text.lines().find(|line| line.contains("worker0")).unwrap();
        assert!(row.contains("7,700") && row.contains("75.0%") && row.contains("worker1"));
        assert!(!text.contains("dropped"));
        assert!(table(&[], 80, Style::default()).is_empty());
    }
}
