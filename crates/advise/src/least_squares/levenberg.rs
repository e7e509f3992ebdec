//! Nonlinear least squares over positive parameters.

use paceline_numeric::least_squares;

/// The most accepted or refused steps of one descent.
const STEPS: usize = 60;

/// Minimises the sum of squared residuals over positive parameters, from each
/// start; the best end is returned with its sum of squares.
///
/// Levenberg (1944) and Marquardt (1963) in the logarithms of the parameters:
/// the bounds `p > 0` cannot be left, and steps are relative. The Jacobian is
/// by forward differences. A residual that is not finite refuses the step.
pub(crate) fn positive_least_squares(
    starts: &[Vec<f64>],
    bounds: (f64, f64),
    residuals: impl Fn(&[f64]) -> Vec<f64>,
) -> Option<(Vec<f64>, f64)> {
    let ends = starts.iter().filter_map(|start| {
        let logs: Vec<f64> = start
            .iter()
            .map(|p| p.clamp(bounds.0, bounds.1).ln())
            .collect();
        descend(logs, (bounds.0.ln(), bounds.1.ln()), &residuals)
    });
    ends.min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(logs, squares)| (logs.iter().map(|log| log.exp()).collect(), squares))
}

fn descend(
    mut at: Vec<f64>,
    bounds: (f64, f64),
    residuals: &impl Fn(&[f64]) -> Vec<f64>,
) -> Option<(Vec<f64>, f64)> {
    let evaluate = |logs: &[f64]| {
        let parameters: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        let residuals = residuals(&parameters);
        let squares: f64 = residuals.iter().map(|r| r * r).sum();
        squares.is_finite().then_some((residuals, squares))
    };
    let (mut current, mut squares) = evaluate(&at)?;
    let mut damping = 1e-2;
    for _ in 0..STEPS {
        let jacobian = jacobian(&at, &current, &evaluate)?;
        let step = damped_step(&jacobian, &current, damping)?;
        let next: Vec<f64> = at
            .iter()
            .zip(&step)
            .map(|(log, step)| (log - step.clamp(-2.0, 2.0)).clamp(bounds.0, bounds.1))
            .collect();
        match evaluate(&next) {
            Some((found, lower)) if lower < squares => {
                let settled = squares - lower <= 1e-12 * squares;
                (at, current, squares) = (next, found, lower);
                if settled {
                    break;
                }
                damping = (damping * 0.3).max(1e-12);
            }
            _ if damping > 1e8 => break,
            _ => damping *= 4.0,
        }
    }
    Some((at, squares))
}

/// One column per parameter.
fn jacobian(
    at: &[f64],
    current: &[f64],
    evaluate: &impl Fn(&[f64]) -> Option<(Vec<f64>, f64)>,
) -> Option<Vec<Vec<f64>>> {
    const STEP: f64 = 1e-6;
    (0..at.len())
        .map(|j| {
            let mut moved = at.to_vec();
            moved[j] += STEP;
            let slope = |sign: f64, moved: &[f64]| {
                let (found, _) = evaluate(moved)?;
                let pairs = found.iter().zip(current);
                Some(pairs.map(|(to, from)| sign * (to - from) / STEP).collect())
            };
            slope(1.0, &moved).or_else(|| {
                moved[j] = at[j] - STEP;
                slope(-1.0, &moved)
            })
        })
        .collect()
}

/// Solves `min |J s - r|² + damping |s|²`; the rows of damping keep the columns
/// independent.
fn damped_step(jacobian: &[Vec<f64>], residuals: &[f64], damping: f64) -> Option<Vec<f64>> {
    let count = jacobian.len();
    let columns = jacobian
        .iter()
        .enumerate()
        .map(|(j, column)| {
            let below = (0..count).map(|i| if i == j { damping.sqrt() } else { 0.0 });
            column.iter().copied().chain(below).collect()
        })
        .collect();
    let target = residuals.iter().copied().chain((0..count).map(|_| 0.0));
    least_squares(columns, target.collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saturating_curve_is_found_from_a_poor_start() {
        let truth = |x: f64, p: &[f64]| p[0] * x / (p[1] + x);
        let data: Vec<(f64, f64)> = (1..12)
            .map(|i| (f64::from(i), truth(f64::from(i), &[7.0, 3.0])))
            .collect();
        let (found, squares) = positive_least_squares(&[vec![100.0, 0.01]], (1e-9, 1e9), |p| {
            data.iter().map(|&(x, y)| truth(x, p) - y).collect()
        })
        .unwrap();
        assert!(
            (found[0] - 7.0).abs() < 1e-5 && (found[1] - 3.0).abs() < 1e-5,
            "{found:?}"
        );
        assert!(squares < 1e-10);
    }
}
