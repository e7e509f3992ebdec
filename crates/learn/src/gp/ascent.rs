//! Climbing a smooth function within bounds.

use paceline_numeric::dot;

/// Where the climb ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summit {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
}

/// The most evaluations of one climb.
const MOST_STEPS: usize = 100;
/// A climb ends when a step gains less than this.
const SMALL_GAIN: f64 = 1e-9;
/// The fraction of the predicted gain that a step must reach.
const SUFFICIENT: f64 = 1e-4;

/// Climbs from `start` by the quasi-Newton method BFGS (Nocedal and Wright,
/// Numerical Optimization, 2nd edition, chapter 6) with backtracking. Steps are
/// projected into the bounds; coordinates that push against a bound rest.
///
/// `evaluate` returns the value and a way to compute the gradient, which is
/// asked for only where the climb goes on; `None` where the function is not
/// defined. The climb is `None` if that is so at the start.
pub(super) fn climb<G: FnOnce() -> Vec<f64>>(
    start: &[f64],
    bounds: &[(f64, f64)],
    mut evaluate: impl FnMut(&[f64]) -> Option<(f64, G)>,
) -> Option<Summit> {
    let mut point = project(start.iter().copied(), bounds);
    let (mut value, slope) = evaluate(&point)?;
    let mut gradient = slope();
    let size = point.len();
    let mut inverse_curvature = identity(size);
    let mut evaluations = 1;
    while evaluations < MOST_STEPS {
        let free: Vec<bool> = (0..size)
            .map(|i| {
                let (low, high) = bounds[i];
                !(point[i] <= low && gradient[i] < 0.0 || point[i] >= high && gradient[i] > 0.0)
            })
            .collect();
        let mut direction = ascent_direction(&inverse_curvature, &gradient, &free);
        if dot(&direction, &gradient) <= 0.0 {
            inverse_curvature = identity(size);
            direction = ascent_direction(&inverse_curvature, &gradient, &free);
        }
        // One e-fold is a large change of a scale; a first step should not leap
        // across the whole range.
        let longest = direction.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
        if longest == 0.0 {
            break;
        }
        let mut length = (1.0 / longest).min(1.0);
        let accepted = loop {
            let moved = point.iter().zip(&direction).map(|(x, d)| x + length * d);
            let candidate = project(moved, bounds);
            let step: Vec<f64> = candidate.iter().zip(&point).map(|(a, b)| a - b).collect();
            let predicted = dot(&step, &gradient);
            evaluations += 1;
            let evaluation = evaluate(&candidate);
            if let Some((reached, slope)) = evaluation
                && reached >= value + SUFFICIENT * predicted
            {
                break Some((candidate, step, reached, slope()));
            }
            length *= 0.5;
            if length * longest < 1e-8 || evaluations >= MOST_STEPS {
                break None;
            }
        };
        let Some((candidate, step, reached, slope)) = accepted else {
            break;
        };
        // The gradient of the negated function, which BFGS minimises.
        let change: Vec<f64> = gradient
            .iter()
            .zip(&slope)
            .map(|(old, new)| old - new)
            .collect();
        update(&mut inverse_curvature, &step, &change);
        let gain = reached - value;
        (point, value, gradient) = (candidate, reached, slope);
        if gain < SMALL_GAIN {
            break;
        }
    }
    Some(Summit { point, value })
}

fn project(point: impl Iterator<Item = f64>, bounds: &[(f64, f64)]) -> Vec<f64> {
    let bounded = point.zip(bounds);
    bounded
        .map(|(x, &(low, high))| x.clamp(low, high))
        .collect()
}

fn identity(size: usize) -> Vec<Vec<f64>> {
    let row = |i| (0..size).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
    (0..size).map(row).collect()
}

fn ascent_direction(inverse_curvature: &[Vec<f64>], gradient: &[f64], free: &[bool]) -> Vec<f64> {
    let masked: Vec<f64> = gradient
        .iter()
        .zip(free)
        .map(|(&g, &free)| if free { g } else { 0.0 })
        .collect();
    inverse_curvature
        .iter()
        .zip(free)
        .map(|(row, &free)| if free { dot(row, &masked) } else { 0.0 })
        .collect()
}

/// Nocedal and Wright, equation 6.17; skipped where the curvature is not
/// positive, which keeps the matrix positive definite.
fn update(inverse: &mut [Vec<f64>], step: &[f64], change: &[f64]) {
    let curvature = dot(step, change);
    if curvature <= 1e-12 {
        return;
    }
    let along: Vec<f64> = inverse.iter().map(|row| dot(row, change)).collect();
    let scale = (1.0 + dot(change, &along) / curvature) / curvature;
    for (i, row) in inverse.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            *entry +=
                scale * step[i] * step[j] - (along[i] * step[j] + step[i] * along[j]) / curvature;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, upside down; its summit is at (1, 1).
    fn valley(x: &[f64]) -> Option<(f64, impl FnOnce() -> Vec<f64> + use<>)> {
        let bend = x[1] - x[0] * x[0];
        let value = -(1.0 - x[0]).powi(2) - 10.0 * bend * bend;
        let slope = vec![2.0 * (1.0 - x[0]) + 40.0 * bend * x[0], -20.0 * bend];
        Some((value, move || slope))
    }

    #[test]
    fn the_summit_of_a_curved_valley_is_reached() {
        let summit = climb(&[-1.0, 1.0], &[(-5.0, 5.0); 2], valley).unwrap();
        assert!((summit.point[0] - 1.0).abs() < 1e-4, "{summit:?}");
        assert!((summit.point[1] - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_summit_beyond_the_bounds_is_met_at_the_bound() {
        let summit = climb(&[-1.0, 0.0], &[(-2.0, 0.5), (-5.0, 5.0)], valley).unwrap();
        assert_eq!(summit.point[0], 0.5);
        assert!((summit.point[1] - 0.25).abs() < 1e-4, "{summit:?}");
    }
}
