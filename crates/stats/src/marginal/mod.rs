//! What a fitted model says at chosen settings: means, differences and slopes,
//! each with the error of just that combination of coefficients.
//!
//! Raw means of unbalanced tables mix the factors up. A mean here is the
//! model's, at given settings of some variables and at a reference of the
//! others: equal shares of every level, and the mean of a number (the middle of
//! one that takes two values), as in R's `emmeans` (S. R. Searle, F. M. Speed and
//! G. A. Milliken, "Population marginal means in the linear model", The American
//! Statistician 34, 1980). A slope is averaged over the rows of the data, so that
//! it speaks of settings that occur and not of zero.

mod covariance;
mod grid;

pub use covariance::Covariance;
pub use grid::Setting;

use paceline_dist::StudentT;

use crate::fit::Fit;
use grid::Reference;

/// An estimated combination of coefficients. Interval and p-value are those of
/// the same number: the interval leaves zero out exactly if p is below one minus
/// its coverage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom of the error.
    pub df: f64,
    /// The lower end of the interval at the fit's confidence.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The two-sided p-value of the estimate against zero.
    pub p: f64,
}

/// The margins of a fit.
#[derive(Debug)]
pub struct Margins<'a> {
    fit: &'a Fit<'a>,
    reference: Reference,
    covariance: Covariance,
    student: Option<StudentT>,
    reach: f64,
}

impl<'a> Margins<'a> {
    /// The margins of a fit, with errors by the given covariance.
    pub fn new(fit: &'a Fit<'a>, covariance: Covariance) -> Margins<'a> {
        let student = StudentT::new(fit.residual_df() as f64).ok();
        let reach = student
            .as_ref()
            .map_or(f64::NAN, |t| t.quantile(0.5 + fit.confidence() / 2.0));
        Margins {
            fit,
            reference: Reference::of(fit.matrix().frame()),
            covariance,
            student,
            reach,
        }
    }

    /// The fit.
    pub fn fit(&self) -> &'a Fit<'a> {
        self.fit
    }

    /// The mean at these settings; `None` if the runs do not determine it.
    pub fn mean(&self, at: &[Setting]) -> Option<Estimate> {
        self.estimate(&self.weights(at)?)
    }

    /// How much larger the mean is at `to` than at `from`.
    pub fn difference(&self, from: &[Setting], to: &[Setting]) -> Option<Estimate> {
        let (from, to) = (self.weights(from)?, self.weights(to)?);
        let weights: Vec<f64> = to.iter().zip(&from).map(|(to, from)| to - from).collect();
        self.estimate(&weights)
    }

    /// The slope along a numeric variable, averaged over the rows of the data
    /// but for the variables that `at` sets.
    pub fn slope(&self, variable: usize, at: &[Setting]) -> Option<Estimate> {
        let values = self.reference.values(self.fit.matrix().frame(), at)?;
        let fixed: Vec<bool> = self.reference.fixed(self.fit.matrix().frame(), at);
        let weights = grid::slope_weights(self.fit, variable, &values, &fixed);
        self.estimate(&weights)
    }

    /// The value of a combination of coefficients without its error; `None` if
    /// the runs do not determine it.
    pub(crate) fn value(&self, weights: &[f64]) -> Option<f64> {
        let solution = &self.fit.solution;
        let estimable = solution.dependent.iter().all(|(column, combination)| {
            let (sum, size) =
                combination
                    .iter()
                    .fold((0.0, 0.0_f64), |(sum, size), &(other, factor)| {
                        let part = factor * weights[other];
                        (sum + part, size.max(part.abs()))
                    });
            (weights[*column] - sum).abs() <= 1e-8 * size.max(weights[*column].abs())
        });
        let value: f64 = solution
            .independent
            .iter()
            .zip(&solution.coefficients)
            .map(|(&column, coefficient)| weights[column] * coefficient)
            .sum();
        (estimable && value.is_finite()).then_some(value)
    }

    /// The weight of every column of the model matrix at these settings.
    pub(crate) fn weights(&self, at: &[Setting]) -> Option<Vec<f64>> {
        let values = self.reference.values(self.fit.matrix().frame(), at)?;
        Some(grid::weights(self.fit.matrix(), &values))
    }

    /// Estimates a combination of coefficients given by the weight of every
    /// column of the model matrix; `None` if the runs do not determine it or
    /// leave nothing to judge it by.
    pub(crate) fn estimate(&self, weights: &[f64]) -> Option<Estimate> {
        let estimate = self.value(weights)?;
        let student = self.student.as_ref()?;
        let standard_error = self.covariance.variance(self.fit, weights).sqrt();
        if !standard_error.is_finite() {
            return None;
        }
        if self.is_robust() {
            // Runs that happen to be equal, such as a pair, show no spread of
            // their own; that is no certainty.
            let common = Covariance::Common.variance(self.fit, weights).sqrt();
            if standard_error < 1e-6 * common {
                return None;
            }
        }
        let p = match standard_error > 0.0 {
            true => student.two_sided(estimate / standard_error),
            // A fit without error: what is not zero is certainly not zero.
            false => f64::from(u8::from(estimate == 0.0)),
        };
        Some(Estimate {
            estimate,
            standard_error,
            df: self.fit.residual_df() as f64,
            lower: estimate - self.reach * standard_error,
            upper: estimate + self.reach * standard_error,
            p,
        })
    }

    /// Whether errors allow for unequal spread.
    pub(crate) fn is_robust(&self) -> bool {
        matches!(self.covariance, Covariance::Robust(_))
    }

    /// The lowest and the highest value of a numeric column in the fitted rows.
    pub(crate) fn range(&self, column: &str) -> Option<(f64, f64)> {
        self.reference.range(column)
    }
}
