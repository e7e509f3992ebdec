//! How a response goes on with the epochs, over all configurations.

use super::{Projection, RATES, golden};

/// A response of one configuration after each of its epochs; replicates follow
/// one another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// The epochs, counted from one.
    pub epochs: Vec<f64>,
    /// The response after each of them.
    pub values: Vec<f64>,
}

/// How a response goes on with the epochs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OverEpochs {
    /// It approaches an end like `e^(−rate)`, as a metric does. The rate is common
    /// to all configurations; the end and the distance to it are each one's own.
    LevellingOff {
        /// The rate.
        rate: f64,
    },
    /// It grows in proportion, as a time does.
    Growing,
}

/// A configuration with fewer distinct epochs lies on any line.
const LEAST_EPOCHS: usize = 3;
/// A straight line must leave this part, at most, of what levelling off leaves:
/// the first epochs of a metric are nearly straight, and a line has no end.
const CLEARLY_LESS: f64 = 0.5;

impl OverEpochs {
    /// Fits every configuration's own line, in the epochs and in a power of them
    /// that all share, by least squares (for the power, variable projection).
    pub fn of(traces: &[Trace]) -> Self {
        let traces: Vec<&Trace> = traces
            .iter()
            .filter(|trace| trace.distinct_epochs() >= LEAST_EPOCHS)
            .collect();
        let left_by_power = |rate: f64| -> f64 {
            let each = traces.iter();
            each.map(|trace| Projection::new(&trace.epochs, &trace.values, rate, None).squares)
                .sum()
        };
        // A line is the power law of rate −1.
        let left_by_line = left_by_power(-1.0);
        let (low, high) = RATES;
        let scan: Vec<f64> = (0..=40)
            .map(|i| low * (high / low).powf(f64::from(i) / 40.0))
            .collect();
        let squares: Vec<f64> = scan.iter().map(|&rate| left_by_power(rate)).collect();
        let best = (0..scan.len())
            .min_by(|&a, &b| squares[a].total_cmp(&squares[b]))
            .expect("the scan is not empty");
        let around = (
            scan[best.saturating_sub(1)].ln(),
            scan[(best + 1).min(scan.len() - 1)].ln(),
        );
        let rate = golden(around.0, around.1, |log| left_by_power(log.exp())).exp();
        if traces.is_empty() || left_by_line < CLEARLY_LESS * left_by_power(rate) {
            Self::Growing
        } else {
            Self::LevellingOff { rate }
        }
    }
}

impl Trace {
    /// The response's slope over the epochs and its value before the first, by
    /// least squares; `None` with fewer than two distinct epochs.
    pub fn line(&self) -> Option<(f64, f64)> {
        if self.distinct_epochs() < 2 {
            return None;
        }
        let line = Projection::new(&self.epochs, &self.values, -1.0, None);
        Some((line.asymptote, line.amplitude))
    }

    /// The mean response after each distinct epoch, in order.
    pub fn means(&self) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = self
            .epochs
            .iter()
            .copied()
            .zip(self.values.iter().copied())
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| {
                let sum: f64 = same.iter().map(|(_, value)| value).sum();
                (same[0].0, sum / same.len() as f64)
            })
            .collect()
    }

    fn distinct_epochs(&self) -> usize {
        let mut epochs = self.epochs.clone();
        epochs.sort_by(f64::total_cmp);
        epochs.dedup();
        epochs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(value: impl Fn(f64, f64) -> f64) -> Vec<Trace> {
        [1.0, 2.0, 4.0]
            .map(|size| {
                let epochs: Vec<f64> = (1..=8).map(f64::from).collect();
                let values = epochs.iter().map(|&epoch| value(size, epoch)).collect();
                Trace { epochs, values }
            })
            .to_vec()
    }

    #[test]
    fn configurations_share_the_rate_and_nothing_else() {
        let accuracy = |size: f64, epoch: f64| 0.9 - 0.02 * size - 0.1 * size * epoch.powf(-0.7);
        let OverEpochs::LevellingOff { rate } = OverEpochs::of(&traces(accuracy)) else {
            panic!("an accuracy levels off");
        };
        assert!((rate - 0.7).abs() < 1e-4, "{rate}");
    }

    #[test]
    fn a_time_grows_and_its_line_is_start_up_and_seconds_per_epoch() {
        let found = traces(|size, epoch| 5.0 + 3.0 * size * epoch);
        assert_eq!(OverEpochs::of(&found), OverEpochs::Growing);
        let (start, slope) = found[1].line().unwrap();
        assert!((start - 5.0).abs() < 1e-9 && (slope - 6.0).abs() < 1e-9);
    }

    #[test]
    fn replicates_count_as_one_point_each_and_few_points_say_nothing() {
        let trace = Trace {
            epochs: vec![1.0, 2.0, 1.0, 2.0],
            values: vec![0.4, 0.6, 0.6, 0.8],
        };
        let means = trace.means();
        assert_eq!((means[0].0, means[1].0), (1.0, 2.0));
        assert!((means[0].1 - 0.5).abs() < 1e-12 && (means[1].1 - 0.7).abs() < 1e-12);
        assert_eq!(OverEpochs::of(&[trace]), OverEpochs::Growing);
        assert_eq!(Trace::default().line(), None);
    }
}
