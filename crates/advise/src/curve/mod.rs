//! Learning curves: a metric against the epoch, and the number of epochs as a
//! variable.

mod over_epochs;
mod table;

pub use over_epochs::{OverEpochs, Trace};
pub use table::{EpochRecord, candidates_over_epochs, epochs_as_factor, thin_epochs, traces};

use thiserror::Error;

/// A power law with an asymptote, `y(e) = a + b · e^(−c)`, as learning curves
/// follow (Cortes and others 1994; Viering and Loog 2023, section 4).
///
/// For an accuracy `b` is below zero and `a` is what it tends to; for a loss `b`
/// is above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    /// What the metric tends to.
    pub asymptote: f64,
    /// How far the first epoch is from it.
    pub amplitude: f64,
    /// How fast the distance falls; zero for a flat curve.
    pub rate: f64,
    /// The root of the mean squared residual.
    pub residual: f64,
    /// How the curve was found.
    pub method: CurveMethod,
}

/// How a curve was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurveMethod {
    /// All three parameters were fitted.
    PowerLaw,
    /// The fitted asymptote left the metric's range, so it is held at the bound.
    Bounded,
    /// The metric does not move beyond its scatter: a constant.
    Flat,
}

/// Why there is no curve.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum CurveError {
    /// Three parameters need more points.
    #[error("{found} epochs are too few for a learning curve; it needs at least {LEAST_EPOCHS}")]
    TooFewEpochs {
        /// How many distinct epochs there are.
        found: usize,
    },
    /// There are more or fewer values than epochs.
    #[error("{values} values for {epochs} epochs")]
    Length {
        /// How many epochs were given.
        epochs: usize,
        /// How many values were given.
        values: usize,
    },
    /// An epoch is below one or not a number.
    #[error("epoch {0} is not at least 1")]
    Epoch(f64),
    /// A value is NaN or infinite, as after a divergence.
    #[error("the metric of epoch {epoch} is {value}")]
    NotFinite {
        /// The epoch.
        epoch: f64,
        /// The value.
        value: f64,
    },
}

/// The fewest distinct epochs: one more than there are parameters.
const LEAST_EPOCHS: usize = 4;
/// Slower laws cannot be told from a straight line in the logarithm, faster ones
/// are over after one epoch.
const RATES: (f64, f64) = (0.02, 8.0);

impl Curve {
    /// Fits epochs and values. `range` is what the metric can be, as `(0, 1)` for
    /// an accuracy.
    ///
    /// For a fixed rate the other two parameters are a linear least-squares
    /// problem, so the search is over the rate alone (variable projection, Golub
    /// and Pereyra 1973): a scan, then golden sections around its best point.
    pub fn fit(
        epochs: &[f64],
        values: &[f64],
        range: Option<(f64, f64)>,
    ) -> Result<Self, CurveError> {
        check(epochs, values)?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let total: f64 = values.iter().map(|y| (y - mean) * (y - mean)).sum();
        let project = |rate: f64| Projection::new(epochs, values, rate, range);
        let scan: Vec<f64> = (0..=40)
            .map(|i| RATES.0 * (RATES.1 / RATES.0).powf(f64::from(i) / 40.0))
            .collect();
        let squares: Vec<f64> = scan.iter().map(|&rate| project(rate).squares).collect();
        let best = (0..scan.len())
            .min_by(|&a, &b| squares[a].total_cmp(&squares[b]))
            .expect("the scan is not empty");
        let low = scan[best.saturating_sub(1)].ln();
        let high = scan[(best + 1).min(scan.len() - 1)].ln();
        let rate = golden(low, high, |log| project(log.exp()).squares).exp();
        let found = project(rate);
        // Three parameters always explain something; below this the curve is
        // what scatter alone would give (F at one half, roughly).
        let explained = 1.0 - found.squares / total.max(f64::MIN_POSITIVE);
        if total <= 1e-24 * mean * mean * count || explained < 2.0 / count {
            return Ok(Self {
                asymptote: mean,
                amplitude: 0.0,
                rate: 0.0,
                residual: (total / count).sqrt(),
                method: CurveMethod::Flat,
            });
        }
        Ok(Self {
            asymptote: found.asymptote,
            amplitude: found.amplitude,
            rate,
            residual: (found.squares / count).sqrt(),
            method: if found.bounded {
                CurveMethod::Bounded
            } else {
                CurveMethod::PowerLaw
            },
        })
    }

    /// The metric after so many epochs; below one epoch, that of the first.
    pub fn at(&self, epoch: f64) -> f64 {
        self.asymptote + self.amplitude * epoch.max(1.0).powf(-self.rate)
    }

    /// After how many epochs the metric reaches a value; `None` if it never does.
    pub fn epochs_to(&self, value: f64) -> Option<f64> {
        let first = self.asymptote + self.amplitude;
        let reached = if self.amplitude > 0.0 {
            first <= value
        } else {
            first >= value
        };
        if reached {
            return Some(1.0);
        }
        let share = (value - self.asymptote) / self.amplitude;
        (self.rate > 0.0 && share > 0.0 && share < 1.0).then(|| share.powf(-1.0 / self.rate))
    }
}

/// The best asymptote and amplitude for a rate.
struct Projection {
    asymptote: f64,
    amplitude: f64,
    squares: f64,
    bounded: bool,
}

impl Projection {
    fn new(epochs: &[f64], values: &[f64], rate: f64, range: Option<(f64, f64)>) -> Self {
        let basis: Vec<f64> = epochs.iter().map(|epoch| epoch.powf(-rate)).collect();
        let count = values.len() as f64;
        let centre = basis.iter().sum::<f64>() / count;
        let mean = values.iter().sum::<f64>() / count;
        let across: f64 = basis.iter().map(|x| (x - centre) * (x - centre)).sum();
        let along: f64 = basis
            .iter()
            .zip(values)
            .map(|(x, y)| (x - centre) * (y - mean))
            .sum();
        let mut amplitude = along / across;
        let mut asymptote = mean - amplitude * centre;
        let inside = range.map_or(asymptote, |(low, high)| asymptote.clamp(low, high));
        let bounded = inside != asymptote;
        if bounded {
            asymptote = inside;
            let squares: f64 = basis.iter().map(|x| x * x).sum();
            let products = basis.iter().zip(values).map(|(x, y)| x * (y - asymptote));
            amplitude = products.sum::<f64>() / squares;
        }
        let residuals = basis.iter().zip(values);
        Self {
            asymptote,
            amplitude,
            squares: residuals
                .map(|(x, y)| (y - asymptote - amplitude * x).powi(2))
                .sum(),
            bounded,
        }
    }
}

/// The minimum of a function of one valley, by golden sections.
fn golden(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..60 {
        let left = high - ratio * (high - low);
        let right = low + ratio * (high - low);
        if value(left) <= value(right) {
            high = right;
        } else {
            low = left;
        }
    }
    (low + high) / 2.0
}

fn check(epochs: &[f64], values: &[f64]) -> Result<(), CurveError> {
    if epochs.len() != values.len() {
        return Err(CurveError::Length {
            epochs: epochs.len(),
            values: values.len(),
        });
    }
    for (&epoch, &value) in epochs.iter().zip(values) {
        if !(epoch >= 1.0 && epoch.is_finite()) {
            return Err(CurveError::Epoch(epoch));
        }
        if !value.is_finite() {
            return Err(CurveError::NotFinite { epoch, value });
        }
    }
    let mut distinct = epochs.to_vec();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() < LEAST_EPOCHS {
        return Err(CurveError::TooFewEpochs {
            found: distinct.len(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(count: u32) -> Vec<f64> {
        (1..=count).map(f64::from).collect()
    }

    #[test]
    fn a_power_law_is_recovered() {
        let truth = |e: f64| 0.97 - 0.3 * e.powf(-0.8);
        let xs = epochs(10);
        let ys: Vec<f64> = xs.iter().map(|&e| truth(e)).collect();
        let curve = Curve::fit(&xs, &ys, Some((0.0, 1.0))).unwrap();
        assert_eq!(curve.method, CurveMethod::PowerLaw);
        assert!((curve.asymptote - 0.97).abs() < 1e-6, "{curve:?}");
        assert!((curve.rate - 0.8).abs() < 1e-5, "{curve:?}");
        assert!((curve.at(40.0) - truth(40.0)).abs() < 1e-6);
        let needed = curve.epochs_to(0.95).unwrap();
        assert!((truth(needed) - 0.95).abs() < 1e-6);
        assert_eq!(curve.epochs_to(0.98), None);
        assert_eq!(curve.epochs_to(0.5), Some(1.0));
    }

    #[test]
    fn an_asymptote_beyond_the_range_is_held_at_its_bound() {
        let xs = epochs(6);
        let ys: Vec<f64> = xs.iter().map(|e| 0.5 + 0.08 * e).collect();
        let curve = Curve::fit(&xs, &ys, Some((0.0, 1.0))).unwrap();
        assert_eq!((curve.method, curve.asymptote), (CurveMethod::Bounded, 1.0));
        assert!(curve.at(1e6) <= 1.0);
    }

    #[test]
    fn a_metric_that_does_not_move_is_flat() {
        let curve = Curve::fit(&epochs(5), &[0.4; 5], None).unwrap();
        assert_eq!((curve.method, curve.at(9.0)), (CurveMethod::Flat, 0.4));
        assert_eq!(curve.epochs_to(0.6), None);
    }

    #[test]
    fn what_cannot_be_fitted_says_why() {
        let check = |xs: &[f64], ys: &[f64], text: &str| {
            assert_eq!(Curve::fit(xs, ys, None).unwrap_err().to_string(), text);
        };
        check(
            &[1.0, 2.0, 2.0],
            &[0.1, 0.2, 0.2],
            "2 epochs are too few for a learning curve; it needs at least 4",
        );
        check(&[0.0; 4], &[0.1; 4], "epoch 0 is not at least 1");
        check(
            &epochs(4),
            &[0.1, f64::NAN, 0.2, 0.3],
            "the metric of epoch 2 is NaN",
        );
        check(&epochs(4), &[0.1], "1 values for 4 epochs");
    }
}
