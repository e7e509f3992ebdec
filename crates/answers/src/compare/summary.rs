//! Repeated runs of one command, summed up.

use super::{Group, Quantity};
use paceline_dist::StudentT;
use serde_json::{Value, json};
use std::path::Path;

/// One quantity over the runs.
#[derive(Debug, Clone)]
pub struct Spread {
    /// What it is.
    pub quantity: Quantity,
    /// How many runs have a value.
    pub count: usize,
    /// The mean.
    pub mean: f64,
    /// The 95% interval of the mean, by Student's t; nothing for a single value.
    pub interval: Option<(f64, f64)>,
    /// The standard deviation; nothing for a single value.
    pub deviation: Option<f64>,
    /// The least, middle and greatest value.
    pub range: (f64, f64, f64),
}

/// The runs of one command.
#[derive(Debug, Clone)]
pub struct Summary {
    /// What was run.
    pub what: String,
    /// Runs that did what they were asked to.
    pub done: usize,
    /// Runs that failed.
    pub failed: usize,
    /// Runs that other work disturbed.
    pub disturbed: usize,
    /// Every quantity that is not nought throughout.
    pub spreads: Vec<Spread>,
}

impl Summary {
    /// Sums up the runs of a group that were done.
    #[must_use]
    pub fn of(group: &Group) -> Self {
        let spreads = group.quantities().into_iter().filter_map(|quantity| {
            let mut values = group.values(&quantity.key);
            values.sort_by(f64::total_cmp);
            spread(quantity, &values)
        });
        Self {
            what: group.what.clone(),
            done: group.done().count(),
            failed: group.failed(),
            disturbed: group.done().filter(|run| !run.disturbed.is_empty()).count(),
            spreads: spreads.collect(),
        }
    }

    /// The summary for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self, dir: &Path) -> Value {
        let spreads = self.spreads.iter().map(|spread| {
            let value = json!({
                "count": spread.count,
                "mean": spread.mean,
                "mean_low": spread.interval.map(|interval| interval.0),
                "mean_high": spread.interval.map(|interval| interval.1),
                "standard_deviation": spread.deviation,
                "min": spread.range.0,
                "median": spread.range.1,
                "max": spread.range.2,
            });
            (spread.quantity.key.clone(), value)
        });
        json!({
            "version": 1,
            "records": dir.to_string_lossy(),
            "command": self.what,
            "done": self.done,
            "failed": self.failed,
            "disturbed": self.disturbed,
            "quantities": Value::Object(spreads.collect()),
        })
    }
}

/// Of ascending values; nothing if there are none, or all are nought.
fn spread(quantity: Quantity, values: &[f64]) -> Option<Spread> {
    let (first, last) = (values.first()?, values.last()?);
    if *first == 0.0 && *last == 0.0 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (square / (count - 1.0)).sqrt());
    let interval = deviation.and_then(|deviation| {
        let t = StudentT::new(count - 1.0).ok()?.upper_quantile(0.025);
        let half = t * deviation / count.sqrt();
        Some((mean - half, mean + half))
    });
    let middle = values.len() / 2;
    let median = match values.len() % 2 {
        1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    };
    Some(Spread {
        quantity,
        count: values.len(),
        mean,
        interval,
        deviation,
        range: (*first, median, *last),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Unit};
    use super::*;

    #[test]
    fn a_summary_is_that_of_scipy() {
        let quantity = Quantity {
            key: "x".to_owned(),
            name: "x".to_owned(),
            kind: Kind::Time,
            unit: Unit::Seconds,
        };
        // SciPy 1.17.1: t.interval(0.95, 4, mean, sem) of these five.
        let found = spread(quantity.clone(), &[9.8, 9.9, 10.0, 10.2, 10.6]).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((found.mean - 10.1).abs() < 1e-12);
        assert!(
            (low - LOW).abs() < 1e-9 && (high - HIGH).abs() < 1e-9,
            "{low} {high}"
        );
        assert!((found.range.1 - 10.0).abs() < 1e-12);
        let one = spread(quantity.clone(), &[3.0]).unwrap();
        assert_eq!((one.interval, one.deviation), (None, None));
        assert!(spread(quantity, &[0.0, 0.0]).is_none());
    }

    const LOW: f64 = 9.70735136770449;
    const HIGH: f64 = 10.492648632295513;
}
