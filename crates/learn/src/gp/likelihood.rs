//! How probable the targets are under a kernel.

use super::kernel::Kernel;
use crate::{Features, FitError};
use paceline_numeric::{Cholesky, SymmetricMatrix, dot};

/// Jitter on the diagonal, relative to it: none, then ten times more each time.
/// Beyond the last one the answer would depend on the jitter.
const JITTERS: [f64; 6] = [0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8];

/// A kernel matrix with noise, factored, and the targets solved against it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Posterior {
    pub(super) factor: Cholesky,
    /// `K⁻¹ y`.
    pub(super) weights: Vec<f64>,
    pub(super) log_likelihood: f64,
}

impl Posterior {
    /// Rasmussen and Williams 2006, algorithm 2.1.
    pub(super) fn new(
        kernel: &Kernel,
        features: &Features,
        target: &[f64],
    ) -> Result<Self, FitError> {
        let rows = features.rows();
        let diagonal = kernel.variance + kernel.noise;
        let matrix = SymmetricMatrix::from_lower(rows, |i, j| {
            if i == j {
                diagonal
            } else {
                kernel.covariance(features.row(i), features.row(j))
            }
        });
        let factor = JITTERS
            .iter()
            .find_map(|jitter| Cholesky::of(matrix.with_diagonal(diagonal * (1.0 + jitter))))
            .ok_or(FitError::SingularKernel { rows })?;
        let mut weights = target.to_vec();
        factor.solve(&mut weights);
        let log_likelihood = -0.5
            * (dot(target, &weights)
                + factor.log_determinant()
                + rows as f64 * std::f64::consts::TAU.ln());
        if !log_likelihood.is_finite() {
            return Err(FitError::Overflow);
        }
        Ok(Self {
            factor,
            weights,
            log_likelihood,
        })
    }

    /// The derivatives of the log likelihood by the logarithms of variance,
    /// noise and length scales: `½ tr((ααᵀ − K⁻¹) ∂K/∂θ)` (Rasmussen and
    /// Williams 2006, equation 5.9).
    pub(super) fn gradient(&self, kernel: &Kernel, features: &Features) -> Vec<f64> {
        let rows = features.rows();
        let inverse = self.factor.inverse();
        let scales = kernel.length_scales.len();
        let mut by_variance = 0.0;
        let mut by_noise = 0.0;
        let mut by_scales = vec![0.0; scales];
        for i in 0..rows {
            let a = features.row(i);
            let inverse = inverse.row(i);
            let on_diagonal = self.weights[i] * self.weights[i] - inverse[i];
            by_variance += 0.5 * kernel.variance * on_diagonal;
            by_noise += 0.5 * kernel.noise * on_diagonal;
            for (j, &inverse) in inverse[..i].iter().enumerate() {
                // The matrix is symmetric: each pair counts twice, which
                // cancels the factor one half.
                let b = features.row(j);
                let factor = self.weights[i] * self.weights[j] - inverse;
                let square = kernel.squared_distance(a, b);
                let root = (5.0 * square).sqrt();
                let decay = kernel.variance * (-root).exp();
                by_variance += factor * decay * (1.0 + root + root * root / 3.0);
                let slope = factor * decay * 5.0 / 3.0 * (1.0 + root);
                if scales == 1 {
                    by_scales[0] += slope * square;
                } else {
                    let differences = a.iter().zip(b).map(|(a, b)| a - b);
                    let pairs = differences.zip(&kernel.length_scales);
                    for (sum, (difference, scale)) in by_scales.iter_mut().zip(pairs) {
                        *sum += slope * (difference / scale) * (difference / scale);
                    }
                }
            }
        }
        let mut gradient = vec![by_variance, by_noise];
        gradient.extend(by_scales);
        gradient
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_numeric::Chance;

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let mut draws = Chance::of_learner(8, 0);
        let rows: Vec<[f64; 2]> = (0..12).map(|_| [draws.unit(), draws.unit()]).collect();
        let target: Vec<f64> = rows
            .iter()
            .map(|r| (3.0 * r[0]).sin() + r[1] * r[1])
            .collect();
        let features = Features::from_rows(&rows).unwrap();
        for scales in [1, 2] {
            let at = |logs: &[f64]| Kernel {
                variance: logs[0].exp(),
                noise: logs[1].exp(),
                length_scales: logs[2..].iter().map(|l| l.exp()).collect(),
            };
            let logs: Vec<f64> = [0.3, -2.0, -0.5, 0.4][..2 + scales].to_vec();
            let likelihood = |logs: &[f64]| {
                Posterior::new(&at(logs), &features, &target)
                    .unwrap()
                    .log_likelihood
            };
            let posterior = Posterior::new(&at(&logs), &features, &target).unwrap();
            let gradient = posterior.gradient(&at(&logs), &features);
            for (index, derivative) in gradient.iter().enumerate() {
                let step = 1e-5;
                let mut up = logs.clone();
                let mut down = logs.clone();
                up[index] += step;
                down[index] -= step;
                let slope = (likelihood(&up) - likelihood(&down)) / (2.0 * step);
                assert!((slope - derivative).abs() < 1e-6 * (1.0 + slope.abs()));
            }
        }
    }
}
