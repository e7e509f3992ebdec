//! Mixtures of Student's t distributions with common degrees of freedom.

use paceline_dist::StudentT;
use std::sync::Arc;

/// Student's t, tabulated: a mixture asks for it some thousand times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Student {
    exact: StudentT,
    /// Probability and density at `0, STEP, 2·STEP, …`.
    table: Vec<(f64, f64)>,
}

const STEP: f64 = 0.02;
/// Beyond this the exact function is asked.
const TABULATED: f64 = 30.0;

impl Student {
    pub(crate) fn new(freedom: f64) -> Self {
        let exact = StudentT::new(freedom).expect("the degrees of freedom are above zero");
        let points = (TABULATED / STEP) as usize + 2;
        let table = (0..points).map(|i| {
            let t = i as f64 * STEP;
            (exact.cdf(t), exact.pdf(t))
        });
        Self {
            table: table.collect(),
            exact,
        }
    }

    pub(crate) fn upper_quantile(&self, p: f64) -> f64 {
        self.exact.upper_quantile(p)
    }

    /// The probability of a value up to `t`, to about 1e-9: a cubic between the
    /// points of the table that has their densities as its slopes (Hermite).
    fn cdf(&self, t: f64) -> f64 {
        let size = t.abs();
        if size >= TABULATED || t.is_nan() {
            return self.exact.cdf(t);
        }
        let place = size / STEP;
        let at = place as usize;
        let ((y0, d0), (y1, d1)) = (self.table[at], self.table[at + 1]);
        let x = place - at as f64;
        let (d0, d1, rise) = (d0 * STEP, d1 * STEP, y1 - y0);
        let above = y0 + x * (d0 + x * (3.0 * rise - 2.0 * d0 - d1 + x * (d0 + d1 - 2.0 * rise)));
        if t < 0.0 { 1.0 - above } else { above }
    }
}

/// A mixture of t distributions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mixture {
    student: Arc<Student>,
    /// Weight, mean and scale of each part; the weights add up to one.
    parts: Vec<(f64, f64, f64)>,
}

/// With every third step a halving, so many steps leave nothing of an interval.
const MOST_STEPS: usize = 300;
/// The table is not better than this, so that nothing is gained by going on.
const CLOSE: f64 = 1e-11;

impl Mixture {
    pub(crate) fn new(student: Arc<Student>, parts: Vec<(f64, f64, f64)>) -> Self {
        Self { student, parts }
    }

    /// The probability of a value up to `x`.
    pub(crate) fn cdf(&self, x: f64) -> f64 {
        let parts = self.parts.iter();
        parts
            .map(|&(weight, mean, scale)| {
                let below = if scale > 0.0 {
                    self.student.cdf((x - mean) / scale)
                } else {
                    f64::from(x >= mean)
                };
                weight * below
            })
            .sum::<f64>()
            .clamp(0.0, 1.0)
    }

    /// The value that is not exceeded with probability `p`, between the least and
    /// the greatest quantile of a part: by chords whose stale end loses half its
    /// weight (the Illinois method, Dowell and Jarratt 1971), and by halving in every
    /// third step, which also ends where the probability jumps.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let standard = self.student.exact.quantile(p);
        let ends = self.parts.iter();
        let ends = ends.map(|(_, mean, scale)| mean + scale * standard);
        let (mut low, mut high) = ends
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
                (low.min(x), high.max(x))
            });
        let (mut below, mut above) = (self.cdf(low) - p, self.cdf(high) - p);
        let mut moved_low = None;
        for step in 1..MOST_STEPS {
            let middle = low + 0.5 * (high - low);
            if high - low <= 1e-13 * (low.abs() + high.abs()) || middle <= low || middle >= high {
                break;
            }
            let chord = low + (high - low) * below / (below - above);
            let inside = chord > low && chord < high && !step.is_multiple_of(3);
            let at = if inside { chord } else { middle };
            let missed = self.cdf(at) - p;
            if missed.abs() <= CLOSE {
                return at;
            }
            if missed < 0.0 {
                (low, below) = (at, missed);
                if moved_low == Some(true) {
                    above *= 0.5;
                }
                moved_low = Some(true);
            } else {
                (high, above) = (at, missed);
                if moved_low == Some(false) {
                    below *= 0.5;
                }
                moved_low = Some(false);
            }
        }
        low + 0.5 * (high - low)
    }

    /// The same shape around another centre, `factor` times as wide.
    pub(crate) fn stretched(mut self, from: f64, to: f64, factor: f64) -> Self {
        for (_, mean, scale) in &mut self.parts {
            *mean = to + factor * (*mean - from);
            *scale *= factor;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn numbers(value: &Value) -> Vec<f64> {
        let list = value.as_array().expect("a list");
        list.iter().map(|v| v.as_f64().expect("a number")).collect()
    }

    #[test]
    fn quantiles_and_probabilities_agree_with_scipy() {
        let text = include_str!("../../oracle/mixture.json");
        let reference: Value = serde_json::from_str(text).expect("the reference is JSON");
        for case in reference["cases"].as_array().expect("cases") {
            let of = |name: &str| numbers(&case[name]);
            let pairs = of("weights").into_iter().zip(of("means")).zip(of("scales"));
            let parts = pairs.map(|((w, m), s)| (w, m, s)).collect();
            let student = Student::new(case["freedom"].as_f64().expect("a number"));
            let mixture = Mixture::new(Arc::new(student), parts);
            for (&x, expected) in of("at").iter().zip(of("below")) {
                assert!((mixture.cdf(x) - expected).abs() < 2e-9, "{x}");
            }
            for (&p, expected) in of("levels").iter().zip(of("quantiles")) {
                let found = mixture.quantile(p);
                // What the table's 1e-9 makes of a quantile depends on the density
                // there; the probability of the quantile says how good it is.
                let slope = (mixture.cdf(found + 1e-6) - mixture.cdf(found - 1e-6)) / 2e-6;
                let allowed = 4e-9 / slope.max(1e-12) + 1e-9 * expected.abs().max(1.0);
                assert!(
                    (found - expected).abs() <= allowed,
                    "{p}: {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn parts_without_width_are_steps() {
        let parts = vec![(0.5, 1.0, 0.0), (0.5, 3.0, 0.0)];
        let steps = Mixture::new(Arc::new(Student::new(5.0)), parts);
        assert_eq!(
            [0.9, 1.0, 2.0, 3.0].map(|x| steps.cdf(x)),
            [0.0, 0.5, 0.5, 1.0]
        );
        assert!((steps.quantile(0.2) - 1.0).abs() < 1e-9);
        let moved = steps.stretched(2.0, 10.0, 2.0);
        assert_eq!(
            (moved.cdf(7.9), moved.cdf(8.0), moved.cdf(12.0)),
            (0.0, 0.5, 1.0)
        );
    }
}
