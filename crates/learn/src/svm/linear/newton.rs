//! Truncated Newton for the losses with a derivative.

use super::SmoothLoss;
use super::matrix::{Matrix, Problem, Solved};
// The order of additions is part of the weights that were trained before.
use paceline_numeric::dot_in_order as dot;

/// What bounds the iteration.
pub(super) struct Newton {
    pub(super) loss: SmoothLoss,
    pub(super) cost: f64,
    pub(super) tolerance: f64,
    pub(super) max_passes: usize,
}

/// A step must achieve this part of the decrease that the slope promises.
const SUFFICIENT: f64 = 0.01;
const MAX_HALVINGS: usize = 30;
const MAX_CONJUGATE_STEPS: usize = 250;

impl Newton {
    /// Minimises `½‖w‖² + cost·Σ loss(y·wx)`: Newton steps found approximately by
    /// preconditioned conjugate gradients, and shortened until they decrease the
    /// objective (Nocedal and Wright, Numerical Optimization, 2006, section 7.1).
    /// Ends when the gradient has fallen by the tolerance times the share of the
    /// rarer label, as LIBLINEAR does.
    pub(super) fn solve<M: Matrix>(&self, problem: &Problem<'_, M>) -> Solved {
        let mut weights = vec![0.0; problem.weights()];
        let mut margins = vec![0.0; problem.rows()];
        let positive = problem.labels.iter().filter(|&&label| label > 0.0).count();
        let rarer = positive.min(problem.rows() - positive).max(1);
        let goal = self.tolerance * rarer as f64 / problem.rows() as f64;
        let mut first_norm = None;
        for _ in 0..self.max_passes {
            let gradient = self.gradient(problem, &weights, &margins);
            let norm = dot(&gradient, &gradient).sqrt();
            if norm <= goal * *first_norm.get_or_insert(norm) || norm == 0.0 {
                return Solved {
                    weights,
                    converged: true,
                };
            }
            let direction = self.direction(problem, &margins, &gradient, norm);
            let moves: Vec<f64> = (0..problem.rows())
                .map(|row| problem.labels[row] * problem.dot(row, &direction))
                .collect();
            let Some(length) = self.length(&weights, &margins, &direction, &moves, &gradient)
            else {
                // Rounding hides any further decrease.
                return Solved {
                    weights,
                    converged: true,
                };
            };
            add(length, &direction, &mut weights);
            add(length, &moves, &mut margins);
        }
        Solved {
            weights,
            converged: false,
        }
    }

    fn gradient<M: Matrix>(
        &self,
        problem: &Problem<'_, M>,
        weights: &[f64],
        margins: &[f64],
    ) -> Vec<f64> {
        let mut gradient = weights.to_vec();
        for (row, &margin) in margins.iter().enumerate() {
            let slope = self.loss.slope(margin);
            if slope != 0.0 {
                let factor = self.cost * slope * problem.labels[row];
                problem.add_to(row, factor, &mut gradient);
            }
        }
        gradient
    }

    /// Solves `H d = −g` until the residual is small against the gradient; the
    /// smaller the gradient, the smaller relatively.
    fn direction<M: Matrix>(
        &self,
        problem: &Problem<'_, M>,
        margins: &[f64],
        gradient: &[f64],
        norm: f64,
    ) -> Vec<f64> {
        let curved: Vec<(usize, f64)> = margins
            .iter()
            .map(|&margin| self.cost * self.loss.curvature(margin))
            .enumerate()
            .filter(|&(_, curvature)| curvature > 0.0)
            .collect();
        let mut diagonal = vec![1.0; problem.weights()];
        for &(row, curvature) in &curved {
            problem.add_squares_to(row, curvature, &mut diagonal);
        }
        let precondition = |residual: &[f64]| -> Vec<f64> {
            let scaled = residual.iter().zip(&diagonal);
            scaled
                .map(|(residual, diagonal)| residual / diagonal)
                .collect()
        };
        let goal = norm * norm.sqrt().min(0.1);
        let mut direction = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
        let mut scaled = precondition(&residual);
        let mut search = scaled.clone();
        let mut energy = dot(&residual, &scaled);
        for _ in 0..MAX_CONJUGATE_STEPS {
            let mut image = search.clone();
            for &(row, curvature) in &curved {
                let factor = curvature * problem.dot(row, &search);
                problem.add_to(row, factor, &mut image);
            }
            let step = energy / dot(&search, &image);
            add(step, &search, &mut direction);
            add(-step, &image, &mut residual);
            if dot(&residual, &residual).sqrt() <= goal {
                break;
            }
            scaled = precondition(&residual);
            let next = dot(&residual, &scaled);
            let ratio = next / energy;
            energy = next;
            for (search, scaled) in search.iter_mut().zip(&scaled) {
                *search = scaled + ratio * *search;
            }
        }
        direction
    }

    /// How far to go along a direction; `None` if no length decreases the
    /// objective.
    fn length(
        &self,
        weights: &[f64],
        margins: &[f64],
        direction: &[f64],
        moves: &[f64],
        gradient: &[f64],
    ) -> Option<f64> {
        let promised = dot(gradient, direction);
        let (along, own) = (dot(weights, direction), dot(direction, direction));
        let mut length = 1.0;
        for _ in 0..MAX_HALVINGS {
            let penalty = length * along + 0.5 * length * length * own;
            let losses: f64 = margins
                .iter()
                .zip(moves)
                .map(|(&margin, moved)| {
                    self.loss.value(margin + length * moved) - self.loss.value(margin)
                })
                .sum();
            if penalty + self.cost * losses <= SUFFICIENT * length * promised {
                return Some(length);
            }
            length *= 0.5;
        }
        None
    }
}

fn add(factor: f64, from: &[f64], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}
