//! Dual coordinate descent for the hinge losses.

use super::HingeLoss;
use super::matrix::{Matrix, Problem, Solved};
use paceline_numeric::Chance;

/// What bounds the descent.
pub(super) struct Descent {
    pub(super) hinge: HingeLoss,
    pub(super) cost: f64,
    pub(super) tolerance: f64,
    pub(super) max_passes: usize,
}

impl Descent {
    /// Minimises the dual one variable at a time in random order, and sets aside
    /// variables that stay at a bound (Hsieh, Chang, Lin, Keerthi and
    /// Sundararajan, "A dual coordinate descent method for large-scale linear
    /// SVM", ICML 2008, algorithm 3).
    pub(super) fn solve<M: Matrix>(&self, problem: &Problem<'_, M>, draws: &mut Chance) -> Solved {
        let (diagonal, bound) = match self.hinge {
            HingeLoss::Plain => (0.0, self.cost),
            HingeLoss::Squared => (0.5 / self.cost, f64::INFINITY),
        };
        let rows = problem.rows();
        let squares = problem.row_squares();
        let mut weights = vec![0.0; problem.weights()];
        let mut alpha = vec![0.0; rows];
        let mut order: Vec<u32> = (0..rows as u32).collect();
        let mut active = rows;
        // Projected gradients beyond these let a variable at a bound rest.
        let (mut upper, mut lower) = (f64::INFINITY, f64::NEG_INFINITY);
        for _ in 0..self.max_passes {
            let (mut largest, mut least) = (f64::NEG_INFINITY, f64::INFINITY);
            draws.shuffle(&mut order[..active]);
            let mut at = 0;
            while at < active {
                let row = order[at] as usize;
                let label = problem.labels[row];
                let old: f64 = alpha[row];
                let gradient = label * problem.dot(row, &weights) - 1.0 + diagonal * old;
                let projected = if old == 0.0 {
                    if gradient > upper {
                        active -= 1;
                        order.swap(at, active);
                        continue;
                    }
                    gradient.min(0.0)
                } else if old == bound {
                    if gradient < lower {
                        active -= 1;
                        order.swap(at, active);
                        continue;
                    }
                    gradient.max(0.0)
                } else {
                    gradient
                };
                largest = largest.max(projected);
                least = least.min(projected);
                if projected.abs() > 1e-12 {
                    let curvature = squares[row] + diagonal;
                    // A row of zeros has no curvature under the plain hinge: its
                    // slack is paid whatever the weights.
                    let new = if curvature > 0.0 {
                        (old - gradient / curvature).clamp(0.0, bound)
                    } else {
                        bound
                    };
                    alpha[row] = new;
                    problem.add_to(row, (new - old) * label, &mut weights);
                }
                at += 1;
            }
            if largest - least <= self.tolerance {
                if active == rows {
                    return Solved {
                        weights,
                        converged: true,
                    };
                }
                active = rows;
                (upper, lower) = (f64::INFINITY, f64::NEG_INFINITY);
                continue;
            }
            upper = if largest > 0.0 {
                largest
            } else {
                f64::INFINITY
            };
            lower = if least < 0.0 {
                least
            } else {
                f64::NEG_INFINITY
            };
        }
        Solved {
            weights,
            converged: false,
        }
    }
}
