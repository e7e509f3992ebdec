//! Lasso: least squares with a penalty on absolute coefficients.

use super::centred::Centred;
use crate::learner::require_rows;
use crate::parameter::{require, require_count};
use crate::{Dataset, FitError, Learner, Model, ParameterError, Threads};
use paceline_numeric::dot;

/// Hyper-parameters of [`Lasso`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LassoParams {
    /// The weight α of the penalty.
    pub penalty: f64,
    /// Whether the model has a constant term, which is not penalised.
    pub intercept: bool,
    /// The duality gap, relative to `‖y‖²/n`, at which the descent ends.
    pub tolerance: f64,
    /// The most sweeps over all coefficients.
    pub max_sweeps: usize,
}

impl Default for LassoParams {
    fn default() -> Self {
        Self {
            penalty: 1.0,
            intercept: true,
            tolerance: 1e-10,
            max_sweeps: 100_000,
        }
    }
}

impl LassoParams {
    /// Accepts a penalty and a tolerance above zero and at least one sweep.
    pub fn check(self) -> Result<Lasso, ParameterError> {
        require("penalty", self.penalty, self.penalty > 0.0, "above 0")?;
        require("tolerance", self.tolerance, self.tolerance > 0.0, "above 0")?;
        require_count("max_sweeps", self.max_sweeps, 1)?;
        Ok(Lasso(self))
    }
}

/// Minimises `‖y − Xw − b‖² / 2n + α‖w‖₁` (Tibshirani 1996) by coordinate
/// descent (Friedman, Hastie and Tibshirani, J. Stat. Software 33, 2010).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lasso(LassoParams);

/// A linear model in which the penalty has set some coefficients to zero.
#[derive(Debug, Clone, PartialEq)]
pub struct LassoModel {
    coefficients: Vec<f64>,
    intercept: f64,
    sweeps: usize,
    gap: f64,
}

impl Lasso {
    /// Descends until the duality gap is below the tolerance or the sweeps are
    /// used up; [`LassoModel::duality_gap`] tells which.
    pub fn fit(&self, data: &Dataset) -> Result<LassoModel, FitError> {
        require_rows(data.rows(), 2)?;
        let centred = Centred::new(data, self.0.intercept);
        let rows = data.rows() as f64;
        let penalty = self.0.penalty * rows;
        let squares: Vec<f64> = centred.columns.iter().map(|x| dot(x, x)).collect();
        let target_square = dot(&centred.target, &centred.target);
        if !target_square.is_finite() || squares.iter().any(|s| !s.is_finite()) {
            return Err(FitError::Overflow);
        }
        let enough = self.0.tolerance * target_square;
        let mut coefficients = vec![0.0; data.columns()];
        let mut residual = centred.target.clone();
        let mut sweeps = 0;
        let mut gap = duality_gap(&centred, &residual, &coefficients, penalty);
        while gap > enough && sweeps < self.0.max_sweeps {
            sweeps += 1;
            for ((coefficient, column), &square) in
                coefficients.iter_mut().zip(&centred.columns).zip(&squares)
            {
                if square == 0.0 {
                    continue;
                }
                let old = *coefficient;
                let along = dot(column, &residual) + old * square;
                let new = along.signum() * (along.abs() - penalty).max(0.0) / square;
                if new != old {
                    for (rest, x) in residual.iter_mut().zip(column) {
                        *rest -= (new - old) * x;
                    }
                    *coefficient = new;
                }
            }
            gap = duality_gap(&centred, &residual, &coefficients, penalty);
        }
        Ok(LassoModel {
            intercept: centred.intercept(&coefficients),
            coefficients,
            sweeps,
            gap: gap / rows,
        })
    }
}

/// How far the objective, times n, may be above its minimum: primal minus dual
/// value at the residual scaled into the dual's feasible set (Kim, Koh, Lustig,
/// Boyd and Gorinevsky, IEEE J. Sel. Topics Signal Process. 1, 2007).
fn duality_gap(centred: &Centred, residual: &[f64], coefficients: &[f64], penalty: f64) -> f64 {
    let steepest = centred
        .columns
        .iter()
        .map(|column| dot(column, residual).abs())
        .fold(0.0, f64::max);
    let residual_square = dot(residual, residual);
    let scale = if steepest > penalty {
        penalty / steepest
    } else {
        1.0
    };
    let absolute: f64 = coefficients.iter().map(|c| c.abs()).sum();
    0.5 * residual_square * (1.0 + scale * scale) + penalty * absolute
        - scale * dot(residual, &centred.target)
}

impl LassoModel {
    /// One coefficient per feature; many are exactly zero.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The constant term; zero without one.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// How many sweeps over the coefficients were made.
    pub fn sweeps(&self) -> usize {
        self.sweeps
    }

    /// An upper bound of how far the objective is above its minimum.
    pub fn duality_gap(&self) -> f64 {
        self.gap
    }
}

impl Model for LassoModel {
    fn columns(&self) -> usize {
        self.coefficients.len()
    }

    fn predict_checked(&self, row: &[f64]) -> f64 {
        self.intercept + dot(&self.coefficients, row)
    }
}

impl Learner for Lasso {
    fn learn(&self, data: &Dataset, _: u64, _: Threads) -> Result<Box<dyn Model>, FitError> {
        Ok(Box::new(self.fit(data)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Features;

    #[test]
    fn a_penalty_above_the_steepest_slope_leaves_only_the_mean() {
        let features = Features::from_rows(&[[1.0], [2.0], [3.0]]).unwrap();
        let data = Dataset::new(features, vec![1.0, 2.0, 6.0]).unwrap();
        // max |xᵀ(y − ȳ)| / n = 5 / 3 for these data.
        let at = |penalty| {
            let params = LassoParams {
                penalty,
                ..Default::default()
            };
            params.check().unwrap().fit(&data).unwrap()
        };
        assert_eq!(at(1.67).coefficients(), [0.0]);
        assert_eq!(at(1.67).intercept(), 3.0);
        assert!(at(1.66).coefficients()[0] > 0.0);
    }

    #[test]
    fn constant_features_and_targets_are_no_obstacle() {
        let features = Features::from_rows(&[[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]).unwrap();
        let data = Dataset::new(features, vec![4.0; 3]).unwrap();
        let model = LassoParams::default().check().unwrap().fit(&data).unwrap();
        assert_eq!(model.coefficients(), [0.0, 0.0]);
        assert_eq!(model.predict_row(&[9.0, 9.0]).unwrap(), 4.0);
    }
}
