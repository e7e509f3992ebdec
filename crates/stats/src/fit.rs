//! A fitted linear model and everything its summary prints.

use std::f64::consts::PI;

use paceline_dist::{FisherF, StudentT};

use crate::lstsq::{Solution, singular_values, solve};
use crate::matrix::ModelMatrix;

pub use crate::lstsq::Precision;

/// How a model is fitted and how its intervals are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// The coverage of confidence intervals, between 0 and 1.
    pub confidence: f64,
    /// The precision of the factorisation.
    pub precision: Precision,
    /// Whether a model with as many parameters as runs is fitted. It reproduces
    /// every row and leaves no error: standard errors, intervals and tests are
    /// NaN or absent.
    pub saturated: bool,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions {
            confidence: 0.95,
            precision: Precision::Automatic,
            saturated: false,
        }
    }
}

/// Why a model cannot be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The response never varies, so there is nothing to explain.
    #[error("the response `{response}` is {value} in every row")]
    ConstantResponse {
        /// The response.
        response: String,
        /// Its only value.
        value: f64,
    },
    /// Every degree of freedom is spent on parameters.
    #[error(
        "the model has {parameters} parameters and there are {runs} runs; \
         at least one run more than parameters is needed to estimate error"
    )]
    NoResidualDegrees {
        /// Columns of the model matrix.
        parameters: usize,
        /// Complete rows.
        runs: usize,
    },
    /// The model has neither intercept nor terms.
    #[error("the model has no terms and no intercept")]
    NoTerms,
    /// The confidence level is not a probability.
    #[error("a confidence level lies between 0 and 1, not {0}")]
    BadConfidence(f64),
}

/// A least-squares fit.
#[derive(Clone, Debug)]
pub struct Fit<'a> {
    matrix: &'a ModelMatrix<'a>,
    pub(crate) solution: Solution,
    confidence: f64,
    coefficients: Vec<Coefficient>,
    aliases: Vec<Alias>,
}

/// An estimated coefficient.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficient {
    /// The column of the model matrix it belongs to.
    pub name: String,
    /// The column in people's words, such as `batch_size 64 vs 32`.
    pub label: String,
    /// The term, by index into the frame's terms; `None` is the intercept.
    pub term: Option<usize>,
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Estimate over standard error.
    pub t: f64,
    /// The two-sided p-value of `t`.
    pub p: f64,
    /// The lower end of the confidence interval.
    pub lower: f64,
    /// The upper end of the confidence interval.
    pub upper: f64,
}

/// A column of the model that is a combination of columns before it, so that its
/// coefficient cannot be told from theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// The column set aside.
    pub column: String,
    /// Its term, by index into the frame's terms.
    pub term: Option<usize>,
    /// The columns it is made of, each with its factor. Empty for a column that
    /// is zero in every row.
    pub equals: Vec<(f64, String)>,
}

impl Alias {
    /// The combination in words, such as `0.5·a + b`.
    pub fn combination(&self) -> String {
        self.combination_of(str::to_owned)
    }

    /// The same, with columns named by `name`.
    pub(crate) fn combination_of(&self, name: impl Fn(&str) -> String) -> String {
        if self.equals.is_empty() {
            return "0".to_owned();
        }
        let mut text = String::new();
        for (index, (factor, column)) in self.equals.iter().enumerate() {
            let sign = match (*factor < 0.0, index) {
                (true, 0) => "-",
                (true, _) => " - ",
                (false, 0) => "",
                (false, _) => " + ",
            };
            text.push_str(sign);
            let size = factor.abs();
            if (size - 1.0).abs() > 1e-9 {
                text.push_str(&format!("{}·", (size * 1e9).round() / 1e9));
            }
            text.push_str(&name(column));
        }
        text
    }
}

/// Fits a model matrix to its frame's response.
///
/// # Errors
///
/// When the response is constant or no degree of freedom is left for error.
pub fn fit<'a>(matrix: &'a ModelMatrix<'a>, options: &FitOptions) -> Result<Fit<'a>, FitError> {
    if !(options.confidence > 0.0 && options.confidence < 1.0) {
        return Err(FitError::BadConfidence(options.confidence));
    }
    let frame = matrix.frame();
    if matrix.columns().is_empty() {
        return Err(FitError::NoTerms);
    }
    let values = frame.response_values();
    if values.iter().all(|&value| value == values[0]) {
        return Err(FitError::ConstantResponse {
            response: frame.response().label().to_owned(),
            value: values[0],
        });
    }
    let solution = solve(matrix, options.precision);
    let saturated = solution.independent.len() >= values.len();
    if saturated && !options.saturated {
        return Err(FitError::NoResidualDegrees {
            parameters: matrix.columns().len(),
            runs: values.len(),
        });
    }
    let mut fit = Fit {
        matrix,
        solution,
        confidence: options.confidence,
        coefficients: Vec::new(),
        aliases: Vec::new(),
    };
    fit.coefficients = fit.estimate();
    fit.aliases = fit.name_aliases();
    Ok(fit)
}

impl<'a> Fit<'a> {
    /// The model matrix that was fitted.
    pub fn matrix(&self) -> &'a ModelMatrix<'a> {
        self.matrix
    }

    /// The estimated coefficients in model order, aliased columns left out.
    pub fn coefficients(&self) -> &[Coefficient] {
        &self.coefficients
    }

    /// The coefficient of this name.
    pub fn coefficient(&self, name: &str) -> Option<&Coefficient> {
        self.coefficients.iter().find(|c| c.name == name)
    }

    /// The columns that could not be estimated, and why.
    pub fn aliases(&self) -> &[Alias] {
        &self.aliases
    }

    /// The coverage of the intervals.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// How many rows were fitted.
    pub fn observations(&self) -> usize {
        self.solution.residuals.len()
    }

    /// How many distinct rows had to be looked at: one per setting where settings
    /// repeat a lot, all of them otherwise.
    pub(crate) fn distinct_rows(&self) -> usize {
        match &self.solution.cells {
            Some(cells) => cells.len(),
            None => self.observations(),
        }
    }

    /// How many coefficients were estimated.
    pub fn rank(&self) -> usize {
        self.solution.independent.len()
    }

    /// Degrees of freedom left for error.
    pub fn residual_df(&self) -> usize {
        self.observations() - self.rank()
    }

    /// Degrees of freedom of the model, a constant aside.
    pub fn model_df(&self) -> usize {
        self.rank() - usize::from(self.solution.has_constant)
    }

    /// Whether a constant lies in the span of the columns. R² is about the mean
    /// if so and about zero otherwise.
    pub fn has_constant(&self) -> bool {
        self.solution.has_constant
    }

    /// Whether the factorisation carried 32 digits.
    pub fn is_extended(&self) -> bool {
        self.solution.extended
    }

    /// Response minus fitted value, row by row of the frame.
    pub fn residuals(&self) -> &[f64] {
        &self.solution.residuals
    }

    /// The fitted values, row by row of the frame.
    pub fn fitted(&self) -> Vec<f64> {
        let values = self.matrix.frame().response_values();
        values
            .iter()
            .zip(self.residuals())
            .map(|(value, residual)| value - residual)
            .collect()
    }

    /// The residual sum of squares.
    pub fn residual_sum_of_squares(&self) -> f64 {
        self.solution.residual_square
    }

    /// The sum of squares about the mean, or about zero without a constant.
    pub fn total_sum_of_squares(&self) -> f64 {
        match self.solution.has_constant {
            true => self.solution.total_centred,
            false => self.solution.total_raw,
        }
    }

    /// Whether every row is reproduced to rounding, so that residuals say nothing
    /// about error.
    pub fn is_exact(&self) -> bool {
        // Residuals below 1e-12 of the response's spread are rounding.
        self.is_saturated() || self.residual_sum_of_squares() <= 1e-24 * self.total_sum_of_squares()
    }

    /// Whether there are as many parameters as runs, so that nothing is left to
    /// judge them by.
    pub fn is_saturated(&self) -> bool {
        self.residual_df() == 0
    }

    /// The residual mean square, an estimate of the error variance.
    pub fn error_variance(&self) -> f64 {
        if self.is_saturated() {
            return f64::NAN;
        }
        self.residual_sum_of_squares() / self.residual_df() as f64
    }

    /// The residual standard deviation.
    pub fn error_sd(&self) -> f64 {
        self.error_variance().sqrt()
    }

    /// The share of the variation that the model explains.
    pub fn r_squared(&self) -> f64 {
        1.0 - self.residual_sum_of_squares() / self.total_sum_of_squares()
    }

    /// R² corrected for the number of parameters.
    pub fn adjusted_r_squared(&self) -> f64 {
        let total_df = self.observations() - usize::from(self.solution.has_constant);
        1.0 - total_df as f64 / self.residual_df() as f64 * (1.0 - self.r_squared())
    }

    /// The F statistic of all terms together, and its p-value; `None` for a model
    /// that is only a constant.
    pub fn f_test(&self) -> Option<(f64, f64)> {
        let df = self.model_df();
        if df == 0 || self.is_saturated() {
            return None;
        }
        let explained = self.total_sum_of_squares() - self.residual_sum_of_squares();
        let f = explained / df as f64 / self.error_variance();
        Some((f, upper_f(f, df, self.residual_df())))
    }

    /// The Gaussian log-likelihood at the estimates.
    pub fn log_likelihood(&self) -> f64 {
        let n = self.observations() as f64;
        -n / 2.0 * ((2.0 * PI).ln() + (self.residual_sum_of_squares() / n).ln() + 1.0)
    }

    /// Akaike's information criterion, counting coefficients only (as statsmodels
    /// does; R counts the error variance too and is larger by 2).
    pub fn aic(&self) -> f64 {
        2.0 * self.rank() as f64 - 2.0 * self.log_likelihood()
    }

    /// Schwarz's information criterion, counting coefficients only.
    pub fn bic(&self) -> f64 {
        (self.observations() as f64).ln() * self.rank() as f64 - 2.0 * self.log_likelihood()
    }

    /// The ratio of the largest to the smallest singular value of the model
    /// matrix as it stands, like statsmodels' `condition_number`; infinite when a
    /// column is aliased.
    pub fn condition_number(&self) -> f64 {
        if !self.aliases.is_empty() {
            return f64::INFINITY;
        }
        ratio(self.upper_unscaled())
    }

    /// The same ratio with every column scaled to length one, which tells
    /// collinearity from mere units (D. A. Belsley, E. Kuh and R. E. Welsch,
    /// *Regression Diagnostics*, 1980).
    pub fn scaled_condition_number(&self) -> f64 {
        if !self.aliases.is_empty() {
            return f64::INFINITY;
        }
        let mut columns = self.upper_unscaled();
        for column in &mut columns {
            let length = column.iter().map(|x| x * x).sum::<f64>().sqrt();
            for x in column.iter_mut() {
                *x /= length;
            }
        }
        ratio(columns)
    }

    /// The covariance of two estimates, by position in [`Fit::coefficients`].
    pub fn covariance(&self, a: usize, b: usize) -> f64 {
        self.unscaled_covariance(a, b) * self.error_variance()
    }

    /// Element (a, b) of (XᵀX)⁻¹.
    pub(crate) fn unscaled_covariance(&self, a: usize, b: usize) -> f64 {
        let scales = &self.solution.scales;
        let sum: f64 = self
            .solution
            .scaled_inverse
            .iter()
            .map(|column| column[a] * column[b])
            .sum();
        sum * scales[a] * scales[b]
    }

    /// The columns of R in the units of the data.
    pub(crate) fn upper_unscaled(&self) -> Vec<Vec<f64>> {
        let mut columns = self.solution.factored.upper(&self.solution.independent);
        for (column, scale) in columns.iter_mut().zip(&self.solution.scales) {
            for x in column.iter_mut() {
                *x /= scale;
            }
        }
        columns
    }

    fn estimate(&self) -> Vec<Coefficient> {
        let columns = self.matrix.columns();
        let student = StudentT::new(self.residual_df() as f64).ok();
        let reach = student.map_or(f64::NAN, |t| t.quantile(0.5 + self.confidence / 2.0));
        let sd = self.error_sd();
        self.solution
            .independent
            .iter()
            .zip(&self.solution.coefficients)
            .enumerate()
            .map(|(index, (&column, &estimate))| {
                let standard_error = sd * self.unscaled_covariance(index, index).sqrt();
                let t = estimate / standard_error;
                Coefficient {
                    name: columns[column].name().to_owned(),
                    label: columns[column].label().to_owned(),
                    term: columns[column].term(),
                    estimate,
                    standard_error,
                    t,
                    p: student.map_or(f64::NAN, |student| student.two_sided(t)),
                    lower: estimate - reach * standard_error,
                    upper: estimate + reach * standard_error,
                }
            })
            .collect()
    }

    fn name_aliases(&self) -> Vec<Alias> {
        let columns = self.matrix.columns();
        self.solution
            .dependent
            .iter()
            .map(|(column, combination)| Alias {
                column: columns[*column].name().to_owned(),
                term: columns[*column].term(),
                equals: combination
                    .iter()
                    .map(|&(other, factor)| (factor, columns[other].name().to_owned()))
                    .collect(),
            })
            .collect()
    }
}

/// The p-value of an F statistic; both degrees of freedom are at least one.
pub(crate) fn upper_f(f: f64, df: usize, residual_df: usize) -> f64 {
    FisherF::new(df as f64, residual_df as f64)
        .expect("a test has degrees of freedom on both sides")
        // Rounding can leave a sum of squares a hair below zero.
        .sf(f.max(0.0))
}

fn ratio(columns: Vec<Vec<f64>>) -> f64 {
    let values = singular_values(columns);
    match (values.first(), values.last()) {
        (Some(largest), Some(smallest)) => largest / smallest,
        _ => 1.0,
    }
}
