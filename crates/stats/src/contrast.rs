//! Planned contrasts: linear combinations of coefficients, tested.

use paceline_dist::StudentT;

use crate::fit::{Fit, upper_f};
use paceline_model::spelling::nearest;

/// An estimated linear combination of coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContrastEstimate {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Estimate over standard error.
    pub t: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// The lower end of the fit's confidence interval.
    pub lower: f64,
    /// The upper end of the fit's confidence interval.
    pub upper: f64,
}

/// The joint test of several contrasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointTest {
    /// How many of the contrasts are independent.
    pub df: usize,
    /// Degrees of freedom of the error.
    pub residual_df: usize,
    /// The F statistic.
    pub f: f64,
    /// Its p-value.
    pub p: f64,
}

/// Why a contrast cannot be estimated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ContrastError {
    /// The model has no such column.
    #[error("the model has no coefficient `{name}`{}", match nearest { Some(n) => format!("; did you mean `{n}`?"), None => String::new() })]
    UnknownCoefficient {
        /// What was asked for.
        name: String,
        /// The closest name.
        nearest: Option<String>,
    },
    /// The column is aliased.
    #[error("the coefficient of `{name}` cannot be told from those of {combination}")]
    Aliased {
        /// The column.
        name: String,
        /// What it equals.
        combination: String,
    },
    /// Every weight is zero.
    #[error("a contrast needs a weight that is not zero")]
    Empty,
}

impl Fit<'_> {
    /// Estimates Σ weight · coefficient.
    ///
    /// # Errors
    ///
    /// When a coefficient is unknown or aliased, or all weights are zero.
    pub fn contrast(&self, weights: &[(&str, f64)]) -> Result<ContrastEstimate, ContrastError> {
        let weights = self.weights(weights)?;
        let estimate: f64 = weights
            .iter()
            .zip(self.coefficients())
            .map(|(weight, coefficient)| weight * coefficient.estimate)
            .sum();
        let rotated = self.rotated(&weights);
        let variance: f64 = rotated.iter().map(|x| x * x).sum();
        let standard_error = self.error_sd() * variance.sqrt();
        let student = StudentT::new(self.residual_df() as f64)
            .expect("a fit has at least one residual degree of freedom");
        let reach = student.quantile(0.5 + self.confidence() / 2.0) * standard_error;
        let t = estimate / standard_error;
        Ok(ContrastEstimate {
            estimate,
            standard_error,
            t,
            p: student.two_sided(t),
            lower: estimate - reach,
            upper: estimate + reach,
        })
    }

    /// Tests that several contrasts are all zero.
    ///
    /// # Errors
    ///
    /// As [`Fit::contrast`], for each of them.
    pub fn joint_test(&self, contrasts: &[Vec<(&str, f64)>]) -> Result<JointTest, ContrastError> {
        // Gram–Schmidt on the contrasts in the basis where estimates are
        // independent; each new direction adds one squared normal deviate.
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let mut square = 0.0;
        for contrast in contrasts {
            let weights = self.weights(contrast)?;
            let mut estimate: f64 = weights
                .iter()
                .zip(self.coefficients())
                .map(|(weight, coefficient)| weight * coefficient.estimate)
                .sum();
            let mut direction = self.rotated(&weights);
            let whole = length(&direction);
            for (known, value) in basis.iter().zip(square_roots(&basis, self)) {
                let along: f64 = known.iter().zip(&direction).map(|(a, b)| a * b).sum();
                for (x, k) in direction.iter_mut().zip(known) {
                    *x -= along * k;
                }
                estimate -= along * value;
            }
            let rest = length(&direction);
            if rest <= 1e-10 * whole {
                continue;
            }
            for x in &mut direction {
                *x /= rest;
            }
            square += (estimate / rest).powi(2);
            basis.push(direction);
        }
        if basis.is_empty() {
            return Err(ContrastError::Empty);
        }
        let df = basis.len();
        let f = square / df as f64 / self.error_variance();
        Ok(JointTest {
            df,
            residual_df: self.residual_df(),
            f,
            p: upper_f(f, df, self.residual_df()),
        })
    }

    /// One weight per estimated coefficient.
    fn weights(&self, weights: &[(&str, f64)]) -> Result<Vec<f64>, ContrastError> {
        let mut all = vec![0.0; self.coefficients().len()];
        for &(name, weight) in weights {
            match self.coefficients().iter().position(|c| c.name == name) {
                Some(index) => all[index] += weight,
                None => return Err(self.not_estimable(name)),
            }
        }
        match all.iter().all(|&weight| weight == 0.0) {
            true => Err(ContrastError::Empty),
            false => Ok(all),
        }
    }

    fn not_estimable(&self, name: &str) -> ContrastError {
        match self.aliases().iter().find(|alias| alias.column == name) {
            Some(alias) => ContrastError::Aliased {
                name: name.to_owned(),
                combination: alias.combination(),
            },
            None => ContrastError::UnknownCoefficient {
                name: name.to_owned(),
                nearest: nearest(name, self.coefficients().iter().map(|c| c.name.as_str()))
                    .map(str::to_owned),
            },
        }
    }

    /// R⁻ᵀ·weights: its squared length is the contrast's variance in units of
    /// the error variance.
    fn rotated(&self, weights: &[f64]) -> Vec<f64> {
        self.solution
            .scaled_inverse
            .iter()
            .map(|column| {
                column
                    .iter()
                    .zip(weights)
                    .zip(&self.solution.scales)
                    .map(|((inverse, weight), scale)| inverse * weight * scale)
                    .sum()
            })
            .collect()
    }
}

/// What each basis direction estimates: its product with R·coefficients.
fn square_roots<'a>(basis: &'a [Vec<f64>], fit: &'a Fit<'_>) -> impl Iterator<Item = f64> + 'a {
    let upper = fit.upper_unscaled();
    let mut rotated = vec![0.0; fit.rank()];
    for (column, coefficient) in upper.iter().zip(fit.coefficients()) {
        for (sum, entry) in rotated.iter_mut().zip(column) {
            *sum += entry * coefficient.estimate;
        }
    }
    basis
        .iter()
        .map(move |direction| direction.iter().zip(&rotated).map(|(a, b)| a * b).sum())
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}
