//! Stochastic gradient descent on the primal.

use super::LinearLoss;
use super::matrix::{Matrix, Problem, Solved};
use paceline_numeric::Chance;

/// What bounds the descent.
pub(super) struct Stochastic {
    pub(super) loss: LinearLoss,
    pub(super) cost: f64,
    pub(super) epochs: usize,
}

/// The decay of all weights is one factor outside them; below this it is
/// multiplied in, before digits are lost.
const LEAST_SCALE: f64 = 1e-9;

impl Stochastic {
    /// Steps along one row at a time, in a new random order each epoch, with the
    /// step `1 / (λ·(t + t₀))` of Pegasos (Shalev-Shwartz, Singer, Srebro and
    /// Cotter, 2011), where λ = 1 / (cost · rows). `t₀` keeps the first steps
    /// below the inverse of the largest curvature of any row (Bottou, "Stochastic
    /// gradient descent tricks", 2012), so that they do not overshoot.
    /// There is no test of convergence: the epochs are what was asked for.
    pub(super) fn solve<M: Matrix>(&self, problem: &Problem<'_, M>, draws: &mut Chance) -> Solved {
        let rows = problem.rows();
        let decay = 1.0 / (self.cost * rows as f64);
        let longest = problem.row_squares().into_iter().fold(0.0, f64::max);
        let first = (1.0 + 2.0 * longest) / decay;
        let mut order: Vec<u32> = (0..rows as u32).collect();
        let mut weights = vec![0.0; problem.weights()];
        let mut scale = 1.0;
        let mut time = 0.0;
        for _ in 0..self.epochs {
            draws.shuffle(&mut order);
            for &row in &order {
                let row = row as usize;
                let step = 1.0 / (decay * (time + first));
                time += 1.0;
                let margin = problem.labels[row] * scale * problem.dot(row, &weights);
                scale *= 1.0 - step * decay;
                let slope = self.loss.slope(margin);
                if slope != 0.0 {
                    let factor = -step * slope * problem.labels[row] / scale;
                    problem.add_to(row, factor, &mut weights);
                }
                if scale < LEAST_SCALE {
                    weights.iter_mut().for_each(|weight| *weight *= scale);
                    scale = 1.0;
                }
            }
        }
        weights.iter_mut().for_each(|weight| *weight *= scale);
        Solved {
            weights,
            converged: true,
        }
    }
}
