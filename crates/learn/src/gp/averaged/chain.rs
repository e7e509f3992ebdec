//! Drawing hyper-parameters from their posterior.

use super::density::{Point, Problem};
use paceline_numeric::Chance;

/// How long a chain runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effort {
    /// Steps before the first draw.
    pub(super) burn_in: usize,
    /// Draws that are kept.
    pub(super) draws: usize,
    /// Steps from one draw to the next.
    pub(super) every: usize,
}

/// An ellipse that shrinks this often without a better point is a point.
const MOST_SHRINKS: usize = 60;

/// Elliptical slice sampling (Murray, Adams and MacKay 2010): no step size to
/// choose, and the priors are normal, as it asks for. Empty if the density cannot
/// be computed even at the priors' means.
pub(super) fn draw(problem: &Problem<'_>, effort: Effort, random: &mut Chance) -> Vec<Point> {
    let priors = problem.covariance.priors();
    let place = |state: &[f64]| {
        let pairs = state.iter().zip(&priors);
        let coordinates: Vec<f64> = pairs.map(|(x, (mean, _))| mean + x).collect();
        problem.covariance.point(&coordinates)
    };
    let density = |state: &[f64]| Some(problem.solve(&place(state))?.log_density);
    let mut state = vec![0.0; priors.len()];
    let Some(mut here) = density(&state) else {
        return Vec::new();
    };
    let steps = effort.burn_in + effort.draws * effort.every;
    let mut points = Vec::with_capacity(effort.draws);
    for step in 1..=steps {
        let other: Vec<f64> = priors.iter().map(|(_, sd)| sd * random.normal()).collect();
        // One minus a number in [0, 1) is above zero.
        let bound = here + (1.0 - random.unit()).ln();
        let mut angle = random.unit() * std::f64::consts::TAU;
        let (mut low, mut high) = (angle - std::f64::consts::TAU, angle);
        for _ in 0..MOST_SHRINKS {
            let (sine, cosine) = angle.sin_cos();
            let moved: Vec<f64> = state
                .iter()
                .zip(&other)
                .map(|(x, v)| x * cosine + v * sine)
                .collect();
            if let Some(reached) = density(&moved)
                && reached > bound
            {
                (state, here) = (moved, reached);
                break;
            }
            if angle < 0.0 {
                low = angle;
            } else {
                high = angle;
            }
            angle = low + random.unit() * (high - low);
        }
        if step > effort.burn_in && (step - effort.burn_in).is_multiple_of(effort.every) {
            points.push(place(&state));
        }
    }
    points
}
