//! What a run reported over its steps: loss, accuracy and the like.

use super::detail::groups;
use crate::base64;
use crate::workers::is_account;
use indexmap::IndexMap;
use paceline_model::{Event, EventKind, WorkerId};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names that say where the training is and are no result of it.
const PLACES: [&str; 3] = ["step", "epoch", "iteration"];

/// How many ranks have a line of their own.
const MOST_RANKS: usize = 16;
/// The fewest points of a rank's line.
const LEAST_POINTS: usize = 8;

/// One metric of a run, thinned.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The metric's name.
    pub metric: String,
    /// The number that stands for it in the run's summary: the last value, or the mean
    /// of the ranks' last values.
    pub last: f64,
    line: Line,
    /// The lines of the ranks, if several reported it; `line` is then their mean.
    ranks: Vec<(WorkerId, Line)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Line {
    /// The steps that the job named, if it named any.
    steps: Option<Vec<f32>>,
    seconds: Vec<f32>,
    values: Vec<f32>,
}

/// One report of a metric.
#[derive(Debug, Clone, Copy)]
struct Point {
    step: Option<u64>,
    seconds: f64,
    value: f64,
}

/// The metrics that a run reported at least twice, in the order of their first
/// report, each in at most `points` points. Of ranks that report the same metric,
/// each has its line, and the curve is their mean.
#[must_use]
pub fn curves(events: &[Event], points: usize) -> Vec<Curve> {
    let mut found: IndexMap<&str, BTreeMap<WorkerId, Vec<Point>>> = IndexMap::new();
    for event in events.iter().filter(|e| e.kind == EventKind::Metric) {
        let told = PLACES.contains(&event.name.as_str()) || is_account(&event.name);
        let Some(value) = event.value.filter(|_| !told) else {
            continue;
        };
        let ranks = found.entry(&event.name).or_default();
        let reports = ranks.entry(event.worker.unwrap_or_default()).or_default();
        reports.push(Point {
            step: event.step,
            seconds: event.at.as_secs(),
            value,
        });
    }
    found
        .into_iter()
        .filter(|(_, ranks)| ranks.values().any(|reports| reports.len() > 1))
        .map(|(name, ranks)| curve(name, &ranks, points))
        .collect()
}

fn curve(metric: &str, ranks: &BTreeMap<WorkerId, Vec<Point>>, points: usize) -> Curve {
    let mean = match ranks.len() {
        1 => ranks.values().flatten().copied().collect(),
        _ => mean(ranks),
    };
    let each = (points / ranks.len()).max(LEAST_POINTS);
    let lines = ranks.iter().filter(|_| ranks.len() > 1).take(MOST_RANKS);
    Curve {
        metric: metric.to_owned(),
        last: mean.last().map_or(f64::NAN, |point| point.value),
        line: thinned(&mean, points),
        ranks: lines
            .map(|(&rank, reports)| (rank, thinned(reports, each)))
            .collect(),
    }
}

/// The mean over the ranks that have reported by each step, or by each time if not
/// every report names a step. Each counts with its latest value, so that the end is
/// the mean of all last values.
fn mean(ranks: &BTreeMap<WorkerId, Vec<Point>>) -> Vec<Point> {
    let mut all: Vec<(WorkerId, Point)> = ranks
        .iter()
        .flat_map(|(&rank, reports)| reports.iter().map(move |&point| (rank, point)))
        .collect();
    let stepped = all.iter().all(|(_, point)| point.step.is_some());
    // The sort is stable: a rank's reports stay in their order.
    match stepped {
        true => all.sort_by_key(|(_, point)| point.step),
        false => all.sort_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds)),
    }
    let mut latest: BTreeMap<WorkerId, f64> = BTreeMap::new();
    let mut means: Vec<Point> = Vec::new();
    for (rank, point) in all {
        latest.insert(rank, point.value);
        let value = latest.values().sum::<f64>() / latest.len() as f64;
        match means.last_mut() {
            Some(last) if stepped && last.step == point.step => {
                last.value = value;
                last.seconds = last.seconds.max(point.seconds);
            }
            _ => means.push(Point { value, ..point }),
        }
    }
    means
}

/// At most about `points` of them: each group keeps its least and its greatest value,
/// in the order of their times; one report is kept once.
fn thinned(reports: &[Point], points: usize) -> Line {
    let value = |at: usize| reports[at].value;
    let mut kept: Vec<usize> = Vec::new();
    if reports.len() <= points {
        kept.extend(0..reports.len());
    } else {
        for group in groups(reports.len(), (points / 2).max(1)) {
            let by_value = |a: &usize, b: &usize| value(*a).total_cmp(&value(*b));
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
    let of = |pick: &dyn Fn(&Point) -> f64| -> Vec<f32> {
        kept.iter().map(|&i| pick(&reports[i]) as f32).collect()
    };
    let stepped = reports.iter().all(|point| point.step.is_some());
    Line {
        steps: stepped.then(|| of(&|point| point.step.map_or(f64::NAN, |step| step as f64))),
        seconds: of(&|point| point.seconds),
        values: of(&|point| point.value),
    }
}

impl Line {
    fn data(&self) -> [Value; 3] {
        [
            json!(self.steps.as_deref().map(base64::of_f32)),
            json!(base64::of_f32(&self.seconds)),
            json!(base64::of_f32(&self.values)),
        ]
    }
}

impl Curve {
    /// The page's data, with the metric by its number.
    pub(crate) fn data(&self, metric: usize) -> Value {
        let [steps, seconds, values] = self.line.data();
        let mut data = vec![json!(metric), steps, seconds, values];
        if !self.ranks.is_empty() {
            let ranks = self.ranks.iter().map(|(rank, line)| {
                let [steps, seconds, values] = line.data();
                json!([rank.0, steps, seconds, values])
            });
            data.push(ranks.collect());
        }
        Value::Array(data)
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
    fn ranks_have_their_lines_and_the_curve_is_their_mean() {
        let events = [
            metric(1, Some(1), "loss", 9.0),
            metric(1, Some(0), "loss", 2.0),
            metric(2, Some(1), "loss", 8.0),
            metric(2, Some(0), "loss", 1.0),
            // One rank goes on alone: the other counts with what it said last.
            metric(3, Some(1), "loss", 7.0),
        ];
        let found = curves(&events, 10);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line.values, [5.5, 4.5, 4.0]);
        assert_eq!(found[0].line.steps.as_deref(), Some(&[1.0, 2.0, 3.0][..]));
        // As the run's summary has it: the mean of the last values.
        assert_eq!(found[0].last, (1.0 + 7.0) / 2.0);
        let ranks: Vec<_> = found[0]
            .ranks
            .iter()
            .map(|(rank, line)| (rank.0, &line.values[..]))
            .collect();
        assert_eq!(ranks, [(0, &[2.0, 1.0][..]), (1, &[9.0, 8.0, 7.0][..])]);
    }

    #[test]
    fn ranks_without_steps_are_averaged_along_the_time() {
        let without = |at, rank, value| Event {
            step: None,
            ..metric(at, Some(rank), "loss", value)
        };
        let events = [without(1, 0, 4.0), without(2, 1, 2.0), without(3, 0, 1.0)];
        let found = &curves(&events, 10)[0];
        assert_eq!(found.line.values, [4.0, 3.0, 1.5]);
        assert_eq!(found.line.steps, None);
    }

    #[test]
    fn a_long_curve_keeps_its_peaks_and_its_end() {
        let mut events: Vec<Event> = (0..1_000)
            .map(|i| metric(i, None, "loss", 1.0 / (i as f64 + 1.0)))
            .collect();
        events[500].value = Some(77.0);
        let found = &curves(&events, 40)[0];
        assert!(found.line.values.len() <= 41);
        assert!(found.line.values.contains(&77.0));
        assert_eq!(found.line.seconds.last(), Some(&999.0));
    }

    #[test]
    fn a_loss_that_is_not_a_number_is_kept() {
        let events = [
            metric(1, None, "loss", 1.0),
            metric(2, None, "loss", f64::NAN),
        ];
        assert!(curves(&events, 10)[0].line.values[1].is_nan());
    }
}
