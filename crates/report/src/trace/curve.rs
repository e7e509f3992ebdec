//! What a run reported over its steps: loss, accuracy and the like.

use super::detail::groups;
use crate::base64;
use crate::workers::is_account;
use paceline_model::{Event, EventKind, WorkerId};
use serde_json::{Value, json};

/// Names that say where the training is and are no result of it.
const PLACES: [&str; 3] = ["step", "epoch", "iteration"];

/// One metric of a run, thinned.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The metric's name.
    pub metric: String,
    /// The last value reported.
    pub last: f64,
    /// The steps that the job named, if it named any.
    steps: Option<Vec<f32>>,
    seconds: Vec<f32>,
    values: Vec<f32>,
}

/// The metrics that a run reported at least twice, in the order of their first
/// report, each in at most `points` points. Of workers that report the same
/// metric, the first speaks for all.
#[must_use]
pub fn curves(events: &[Event], points: usize) -> Vec<Curve> {
    let mut found: Vec<(&str, Option<WorkerId>, Vec<&Event>)> = Vec::new();
    for event in events.iter().filter(|e| e.kind == EventKind::Metric) {
        let told = PLACES.contains(&event.name.as_str()) || is_account(&event.name);
        if told || event.value.is_none() {
            continue;
        }
        match found.iter_mut().find(|(name, ..)| *name == event.name) {
            Some((_, worker, reports)) => {
                if event.worker < *worker {
                    (*worker, *reports) = (event.worker, Vec::new());
                }
                if event.worker == *worker {
                    reports.push(event);
                }
            }
            None => found.push((&event.name, event.worker, vec![event])),
        }
    }
    found
        .into_iter()
        .filter(|(_, _, reports)| reports.len() > 1)
        .map(|(name, _, reports)| curve(name, &reports, points))
        .collect()
}

fn curve(metric: &str, reports: &[&Event], points: usize) -> Curve {
    let value = |event: &Event| event.value.unwrap_or(f64::NAN);
    // Each group keeps its least and its greatest value, in the order of their
    // times; one report is kept once.
    let mut kept: Vec<usize> = Vec::new();
    if reports.len() <= points {
        kept.extend(0..reports.len());
    } else {
        for group in groups(reports.len(), (points / 2).max(1)) {
            let by_value = |a: &usize, b: &usize| value(reports[*a]).total_cmp(&value(reports[*b]));
            let low = group.clone().min_by(by_value);
            let high = group.max_by(by_value);
            let mut pair: Vec<usize> = low.into_iter().chain(high).collect();
            pair.sort_unstable();
            pair.dedup();
            kept.extend(pair);
        }
        // The last report is the result.
        if kept.last() != Some(&(reports.len() - 1)) {
            kept.push(reports.len() - 1);
        }
    }
    let of = |pick: &dyn Fn(&Event) -> f64| -> Vec<f32> {
        kept.iter().map(|&i| pick(reports[i]) as f32).collect()
    };
    let stepped = reports.iter().all(|event| event.step.is_some());
    Curve {
        metric: metric.to_owned(),
        last: reports.last().map_or(f64::NAN, |event| value(event)),
        steps: stepped.then(|| of(&|event| event.step.map_or(f64::NAN, |step| step as f64))),
        seconds: of(&|event| event.at.as_secs()),
        values: of(&value),
    }
}

impl Curve {
    /// The page's data, with the metric by its number.
    pub(crate) fn data(&self, metric: usize) -> Value {
        json!([
            metric,
            self.steps.as_deref().map(base64::of_f32),
            base64::of_f32(&self.seconds),
            base64::of_f32(&self.values)
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::Micros;

    fn metric(at: u64, worker: Option<u32>, name: &str, value: f64) -> Event {
        Event {
            at: Micros(at * 1_000_000),
            worker: worker.map(WorkerId),
            kind: EventKind::Metric,
            step: Some(at),
            name: name.to_owned(),
            value: Some(value),
            text: None,
        }
    }

    #[test]
    fn places_and_single_reports_are_no_curves() {
        let events = [
            metric(1, None, "epoch", 1.0),
            metric(2, None, "epoch", 2.0),
            metric(2, None, "test_accuracy", 0.9),
        ];
        assert!(curves(&events, 10).is_empty());
    }

    #[test]
    fn the_first_worker_speaks_for_all() {
        let events = [
            metric(1, Some(1), "loss", 9.0),
            metric(1, Some(0), "loss", 2.0),
            metric(2, Some(1), "loss", 8.0),
            metric(2, Some(0), "loss", 1.0),
        ];
        let found = curves(&events, 10);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].values, [2.0, 1.0]);
        assert_eq!(found[0].steps.as_deref(), Some(&[1.0, 2.0][..]));
    }

    #[test]
    fn a_long_curve_keeps_its_peaks_and_its_end() {
        let mut events: Vec<Event> = (0..1_000)
            .map(|i| metric(i, None, "loss", 1.0 / (i as f64 + 1.0)))
            .collect();
        events[500].value = Some(77.0);
        let found = &curves(&events, 40)[0];
        assert!(found.values.len() <= 41);
        assert!(found.values.contains(&77.0));
        assert_eq!(found.seconds.last(), Some(&999.0));
    }

    #[test]
    fn a_loss_that_is_not_a_number_is_kept() {
        let events = [
            metric(1, None, "loss", 1.0),
            metric(2, None, "loss", f64::NAN),
        ];
        assert!(curves(&events, 10)[0].values[1].is_nan());
    }
}
