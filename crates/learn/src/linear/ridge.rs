//! Ridge regression: least squares with a penalty on squared coefficients.

use super::centred::Centred;
use crate::learner::require_rows;
use crate::parameter::require;
use crate::{Dataset, FitError, Learner, Model, ParameterError, Threads};
use paceline_numeric::{Dependent, dot, least_squares};

/// Hyper-parameters of [`Ridge`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RidgeParams {
    /// The weight α of the penalty; zero is ordinary least squares.
    pub penalty: f64,
    /// Whether the model has a constant term, which is not penalised.
    pub intercept: bool,
}

impl Default for RidgeParams {
    fn default() -> Self {
        Self {
            penalty: 1.0,
            intercept: true,
        }
    }
}

impl RidgeParams {
    /// Accepts a finite penalty of at least zero.
    pub fn check(self) -> Result<Ridge, ParameterError> {
        require("penalty", self.penalty, self.penalty >= 0.0, "at least 0")?;
        Ok(Ridge(self))
    }
}

/// Minimises `‖y − Xw − b‖² + α‖w‖²` (Hoerl and Kennard 1970).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ridge(RidgeParams);

/// A linear model with its coefficients.
#[derive(Debug, Clone, PartialEq)]
pub struct RidgeModel {
    coefficients: Vec<f64>,
    intercept: f64,
}

impl Ridge {
    /// Solves for the coefficients.
    ///
    /// The penalty is `√α · I` appended below the features, so the normal
    /// equations, which square the condition number, are never formed.
    pub fn fit(&self, data: &Dataset) -> Result<RidgeModel, FitError> {
        let count = data.columns();
        let constant = usize::from(self.0.intercept);
        let needed = if self.0.penalty > 0.0 {
            1
        } else {
            count + constant
        };
        require_rows(data.rows(), needed)?;
        let centred = Centred::new(data, self.0.intercept);
        let mut columns = centred.columns.clone();
        let mut target = centred.target.clone();
        if self.0.penalty > 0.0 {
            let root = self.0.penalty.sqrt();
            for (j, column) in columns.iter_mut().enumerate() {
                column.extend((0..count).map(|i| if i == j { root } else { 0.0 }));
            }
            target.resize(target.len() + count, 0.0);
        }
        let coefficients = least_squares(columns, target)
            .map_err(|Dependent(column)| FitError::Collinear { column })?;
        let intercept = centred.intercept(&coefficients);
        if !intercept.is_finite() || coefficients.iter().any(|c| !c.is_finite()) {
            return Err(FitError::Overflow);
        }
        Ok(RidgeModel {
            coefficients,
            intercept,
        })
    }
}

impl RidgeModel {
    /// One coefficient per feature.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The constant term; zero without one.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }
}

impl Model for RidgeModel {
    fn columns(&self) -> usize {
        self.coefficients.len()
    }

    fn predict_checked(&self, row: &[f64]) -> f64 {
        self.intercept + dot(&self.coefficients, row)
    }
}

impl Learner for Ridge {
    fn learn(&self, data: &Dataset, _: u64, _: Threads) -> Result<Box<dyn Model>, FitError> {
        Ok(Box::new(self.fit(data)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Features;

    fn data(rows: &[[f64; 2]], target: &[f64]) -> Dataset {
        Dataset::new(Features::from_rows(rows).unwrap(), target.to_vec()).unwrap()
    }

    #[test]
    fn without_penalty_it_recovers_the_generating_plane() {
        let rows = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 3.0]];
        let target: Vec<f64> = rows.iter().map(|r| 3.0 + 2.0 * r[0] - r[1]).collect();
        let ridge = RidgeParams {
            penalty: 0.0,
            intercept: true,
        }
        .check()
        .unwrap();
        let model = ridge.fit(&data(&rows, &target)).unwrap();
        assert!((model.intercept() - 3.0).abs() < 1e-13);
        assert!((model.predict_row(&[10.0, 5.0]).unwrap() - 18.0).abs() < 1e-12);
    }

    #[test]
    fn collinear_features_are_named_without_penalty_and_shared_with_one() {
        let table = data(
            &[[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [5.0, 10.0]],
            &[1.0, 2.0, 3.0, 5.0],
        );
        let plain = RidgeParams {
            penalty: 0.0,
            intercept: true,
        }
        .check()
        .unwrap();
        assert_eq!(plain.fit(&table), Err(FitError::Collinear { column: 1 }));
        let model = RidgeParams {
            penalty: 1e-9,
            intercept: true,
        }
        .check()
        .unwrap()
        .fit(&table)
        .unwrap();
        assert!((model.coefficients()[1] - 2.0 * model.coefficients()[0]).abs() < 1e-6);
    }

    #[test]
    fn too_few_rows_says_how_many_are_needed() {
        let plain = RidgeParams {
            penalty: 0.0,
            intercept: true,
        }
        .check()
        .unwrap();
        let error = plain
            .fit(&data(&[[1.0, 2.0], [2.0, 1.0]], &[1.0, 2.0]))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "2 rows are too few; this learner needs at least 3"
        );
    }

    #[test]
    fn a_negative_or_undefined_penalty_is_refused() {
        for penalty in [-1.0, f64::NAN, f64::INFINITY] {
            let error = RidgeParams {
                penalty,
                intercept: true,
            }
            .check()
            .unwrap_err();
            assert_eq!(error.parameter, "penalty");
        }
    }

    #[test]
    fn a_constant_target_is_predicted_everywhere() {
        let table = data(&[[1.0, 2.0], [2.0, 1.0], [4.0, 4.0]], &[7.0; 3]);
        let model = RidgeParams::default().check().unwrap().fit(&table).unwrap();
        assert_eq!(model.predict_row(&[100.0, -3.0]).unwrap(), 7.0);
    }
}
