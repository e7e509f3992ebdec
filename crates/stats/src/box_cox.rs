//! Which power of the response a linear model fits best.

use paceline_dist::ChiSquared;

use crate::fit::{Fit, FitError, FitOptions, fit};
use crate::lstsq::{Scalar, mean, sum_of_squares};
use crate::matrix::{Contrast, ModelMatrix};

/// The profile likelihood of the Box–Cox parameter λ, where the response is
/// transformed to (y^λ − 1)/λ, or ln y at λ = 0 (G. E. P. Box and D. R. Cox, "An
/// analysis of transformations", J. R. Statist. Soc. B 26, 1964).
#[derive(Clone, Debug, PartialEq)]
pub struct BoxCox {
    /// The λ of greatest likelihood.
    pub lambda: f64,
    /// The lower end of the likelihood interval, at the fit's confidence.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The log-likelihood at `lambda`.
    pub log_likelihood: f64,
    /// λ and log-likelihood on an even grid, for a plot.
    pub profile: Vec<(f64, f64)>,
    /// The simplest transformation within the interval.
    pub suggestion: Transformation,
}

/// A transformation with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transformation {
    /// λ = 1: leave it.
    None,
    /// λ = 2.
    Square,
    /// λ = 1/2.
    SquareRoot,
    /// λ = 0.
    Log,
    /// λ = −1/2.
    ReciprocalSquareRoot,
    /// λ = −1.
    Reciprocal,
    /// λ = −2.
    ReciprocalSquare,
}

/// Why there is no Box–Cox profile.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoxCoxError {
    /// Powers and logarithms need positive values.
    #[error("row {row}: the response is {value}; Box–Cox needs positive values")]
    NotPositive {
        /// The row of the frame, counted from one.
        row: usize,
        /// The value found.
        value: f64,
    },
    /// The model could not be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
}

impl Transformation {
    /// Every transformation, the ones preferred at equal fit first.
    const ALL: [Transformation; 7] = [
        Transformation::None,
        Transformation::Log,
        Transformation::SquareRoot,
        Transformation::Reciprocal,
        Transformation::ReciprocalSquareRoot,
        Transformation::Square,
        Transformation::ReciprocalSquare,
    ];

    /// Its λ.
    pub fn lambda(self) -> f64 {
        match self {
            Transformation::None => 1.0,
            Transformation::Square => 2.0,
            Transformation::SquareRoot => 0.5,
            Transformation::Log => 0.0,
            Transformation::ReciprocalSquareRoot => -0.5,
            Transformation::Reciprocal => -1.0,
            Transformation::ReciprocalSquare => -2.0,
        }
    }

    /// The transformed value of a positive number.
    pub fn apply(self, y: f64) -> f64 {
        match self {
            Transformation::None => y,
            Transformation::Square => y * y,
            Transformation::SquareRoot => y.sqrt(),
            Transformation::Log => y.ln(),
            Transformation::ReciprocalSquareRoot => 1.0 / y.sqrt(),
            Transformation::Reciprocal => 1.0 / y,
            Transformation::ReciprocalSquare => 1.0 / (y * y),
        }
    }

    /// The positive number whose transformed value this is; zero or infinite where
    /// there is none.
    pub fn inverse(self, z: f64) -> f64 {
        match self {
            Transformation::None => z,
            Transformation::Square | Transformation::SquareRoot if z < 0.0 => 0.0,
            Transformation::Square => z.sqrt(),
            Transformation::SquareRoot => z * z,
            Transformation::Log => z.exp(),
            _ if z <= 0.0 => f64::INFINITY,
            Transformation::ReciprocalSquareRoot => 1.0 / (z * z),
            Transformation::Reciprocal => 1.0 / z,
            Transformation::ReciprocalSquare => 1.0 / z.sqrt(),
        }
    }

    /// The transformed response as a formula writes it.
    pub fn written(self, response: &str) -> String {
        match self {
            Transformation::None => response.to_owned(),
            Transformation::Square => format!("I({response}^2)"),
            Transformation::SquareRoot => format!("sqrt({response})"),
            Transformation::Log => format!("log({response})"),
            Transformation::ReciprocalSquareRoot => format!("I(1/sqrt({response}))"),
            Transformation::Reciprocal => format!("I(1/{response})"),
            Transformation::ReciprocalSquare => format!("I({response}^-2)"),
        }
    }
}

/// λ is sought between these; beyond them the data are not a power of anything.
const RANGE: (f64, f64) = (-5.0, 5.0);

impl BoxCox {
    /// The profile for the model of a fit.
    ///
    /// # Errors
    ///
    /// When a response is not positive.
    pub fn of(model: &Fit<'_>) -> Result<BoxCox, BoxCoxError> {
        let frame = model.matrix().frame();
        let values = frame.response_values();
        if let Some(row) = values.iter().position(|&value| value <= 0.0) {
            return Err(BoxCoxError::NotPositive {
                row: row + 1,
                value: values[row],
            });
        }
        let profile = Profile::new(model)?;
        let likelihood = |lambda: f64| profile.log_likelihood(lambda);
        let lambda = maximum(&likelihood, RANGE);
        let best = likelihood(lambda);
        let drop = ChiSquared::new(1.0)
            .expect("one is a valid number of degrees of freedom")
            .quantile(model.confidence())
            / 2.0;
        let excess = |lambda: f64| likelihood(lambda) - (best - drop);
        let lower = crossing(&excess, lambda, RANGE.0);
        let upper = crossing(&excess, lambda, RANGE.1);
        let grid = (0..=80).map(|step| -2.0 + 0.05 * f64::from(step));
        let inside = |t: &Transformation| (lower..=upper).contains(&t.lambda());
        let closeness = |t: Transformation| (t.lambda() - lambda).abs();
        let suggestion = match inside(&Transformation::None) {
            true => Transformation::None,
            // An interval too narrow to hold a simple power gets the nearest.
            false => {
                let mut known: Vec<Transformation> =
                    Transformation::ALL.into_iter().filter(inside).collect();
                if known.is_empty() {
                    known = Transformation::ALL.to_vec();
                }
                known
                    .into_iter()
                    .min_by(|&a, &b| closeness(a).total_cmp(&closeness(b)))
                    .expect("the list of transformations is not empty")
            }
        };
        Ok(BoxCox {
            lambda,
            lower,
            upper,
            log_likelihood: best,
            profile: grid.map(|lambda| (lambda, likelihood(lambda))).collect(),
            suggestion,
        })
    }
}

/// The model's column space and the response's logarithms.
struct Profile {
    /// An orthonormal basis of the column space.
    basis: Vec<Vec<f64>>,
    /// Logarithms of the response, relative to their mean: transformed values
    /// then have the same scale at every λ.
    logs: Vec<f64>,
    mean_log: f64,
}

impl Profile {
    fn new(model: &Fit<'_>) -> Result<Profile, BoxCoxError> {
        let frame = model.matrix().frame();
        let mut logs: Vec<f64> = frame.response_values().iter().map(|y| y.ln()).collect();
        let mean_log = mean(&logs);
        for log in &mut logs {
            *log -= mean_log;
        }
        let matrix = ModelMatrix::new(frame, Contrast::Sum);
        let coded = fit(&matrix, &FitOptions::default())?;
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(coded.rank());
        for &column in &coded.solution.independent {
            let mut values = matrix.column_values(column);
            let scale = matrix.columns()[column].scale();
            for value in &mut values {
                *value *= scale;
            }
            // Twice is enough (W. Kahan, in B. N. Parlett, *The Symmetric
            // Eigenvalue Problem*, 1980).
            for _ in 0..2 {
                for known in &basis {
                    let along = f64::dot(known, &values);
                    f64::subtract_multiple(&mut values, along, known);
                }
            }
            let length = f64::dot(&values, &values).sqrt();
            for value in &mut values {
                *value /= length;
            }
            basis.push(values);
        }
        Ok(Profile {
            basis,
            logs,
            mean_log,
        })
    }

    /// −n/2·ln(RSS/n) of the transformed response divided by the Jacobian's
    /// geometric mean, less the constants that do not depend on λ, plus the
    /// Jacobian of the original scale.
    fn log_likelihood(&self, lambda: f64) -> f64 {
        let mut z: Vec<f64> = self
            .logs
            .iter()
            .map(|log| match lambda.abs() < 1e-8 {
                true => *log,
                false => (lambda * log).exp_m1() / lambda,
            })
            .collect();
        for known in &self.basis {
            let along = f64::dot(known, &z);
            f64::subtract_multiple(&mut z, along, known);
        }
        let n = z.len() as f64;
        -n / 2.0 * (sum_of_squares(z.into_iter()) / n).ln() - n * self.mean_log
    }
}

/// The place of the maximum of a unimodal function, by golden section.
fn maximum(f: &impl Fn(f64) -> f64, range: (f64, f64)) -> f64 {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = range;
    let mut c = b - golden * (b - a);
    let mut d = a + golden * (b - a);
    let (mut fc, mut fd) = (f(c), f(d));
    while b - a > 1e-9 {
        if fc > fd {
            (b, d, fd) = (d, c, fc);
            c = b - golden * (b - a);
            fc = f(c);
        } else {
            (a, c, fc) = (c, d, fd);
            d = a + golden * (b - a);
            fd = f(d);
        }
    }
    f64::midpoint(a, b)
}

/// Where `f`, positive at `inside`, becomes negative towards `limit`; the limit
/// itself if it never does.
fn crossing(f: &impl Fn(f64) -> f64, inside: f64, limit: f64) -> f64 {
    if f(limit) >= 0.0 {
        return limit;
    }
    let (mut inside, mut outside) = (inside, limit);
    while (outside - inside).abs() > 1e-10 {
        let middle = f64::midpoint(inside, outside);
        match f(middle) >= 0.0 {
            true => inside = middle,
            false => outside = middle,
        }
    }
    f64::midpoint(inside, outside)
}
