//! Are residuals independent of those before them?

use std::f64::consts::PI;
use std::ops::{Add, Div, Mul, Sub};

use paceline_dist::Normal;

use super::column_space::ColumnSpace;
use super::sample::{SampleError, finite};
use crate::lstsq::sum_of_squares;
use paceline_numeric::dot;

/// How the p-values of [`DurbinWatson`] were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurbinWatsonMethod {
    /// From the distribution of the statistic for this design: to ten decimals
    /// with ten or more degrees of freedom, to six with two.
    Exact,
    /// From a normal distribution with the exact mean and variance.
    Normal,
}

/// The result of the test of Durbin and Watson.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DurbinWatson {
    /// Near two without autocorrelation, towards zero if neighbours resemble
    /// each other, towards four if they alternate.
    pub statistic: f64,
    /// The probability of a statistic as small, if the errors are independent:
    /// the p-value against positive autocorrelation.
    pub p_positive: f64,
    /// The probability of a statistic as large: the p-value against negative
    /// autocorrelation.
    pub p_negative: f64,
    /// How the p-values were found.
    pub method: DurbinWatsonMethod,
}

impl DurbinWatson {
    /// The p-value against autocorrelation of either sign.
    pub fn p(&self) -> f64 {
        (2.0 * self.p_positive.min(self.p_negative)).min(1.0)
    }
}

/// Up to this many residuals the exact distribution is computed; from here on the
/// normal one with the same mean and variance differs by less than 1e-4.
const EXACT_LIMIT: usize = 2_000;

/// The test of Durbin and Watson on the residuals of least squares, in run
/// order. `columns` are those of the design, with the constant if the model has
/// one; they determine the distribution of the statistic.
///
/// # Errors
///
/// If lengths differ, if a number is not finite, if no residual is left over
/// after the columns, or if all residuals are zero.
pub fn durbin_watson(residuals: &[f64], columns: &[&[f64]]) -> Result<DurbinWatson, SampleError> {
    let n = residuals.len();
    finite(residuals.iter().copied())?;
    let space = ColumnSpace::of(n, columns)?;
    let needed = space.rank() + 2;
    if n < needed {
        return Err(SampleError::TooFew { needed, found: n });
    }
    let total = sum_of_squares(residuals.iter().copied());
    if total <= 0.0 {
        return Err(SampleError::Constant);
    }
    let steps = residuals.windows(2).map(|pair| pair[1] - pair[0]);
    let statistic = sum_of_squares(steps) / total;
    let (p_positive, method) = if n <= EXACT_LIMIT {
        (below(statistic, n, &space), DurbinWatsonMethod::Exact)
    } else {
        (
            roughly_below(statistic, n, &space),
            DurbinWatsonMethod::Normal,
        )
    };
    Ok(DurbinWatson {
        statistic,
        p_positive,
        p_negative: 1.0 - p_positive,
        method,
    })
}

/// The normal approximation of [`below`].
fn roughly_below(x: f64, n: usize, space: &ColumnSpace) -> f64 {
    let (mean, variance) = moments(n, space);
    Normal.cdf((x - mean) / variance.sqrt())
}

/// Mean and variance of the statistic (Durbin and Watson, Biometrika 37, 1950),
/// with `A` the matrix of squared differences and the basis `B` of the design:
/// from the traces of `MA` and `(MA)²`, where `M = I - BBᵀ`.
fn moments(n: usize, space: &ColumnSpace) -> (f64, f64) {
    let basis = space.basis();
    let images: Vec<Vec<f64>> = basis.iter().map(|column| differences(column)).collect();
    let count = n as f64;
    // tr A = 2n - 2 and tr A² = 6n - 8, from the entries of A.
    let mut first = 2.0 * count - 2.0;
    let mut second = 6.0 * count - 8.0;
    for (column, image) in basis.iter().zip(&images) {
        first -= dot(column, image);
        second -= 2.0 * dot(image, image);
        second += images
            .iter()
            .map(|other| dot(column, other).powi(2))
            .sum::<f64>();
    }
    let df = count - space.rank() as f64;
    let mean = first / df;
    (mean, 2.0 * (second - first * mean) / (df * (df + 2.0)))
}

/// The product of A with a column: A is tridiagonal with 1, 2, …, 2, 1 on its
/// diagonal and -1 beside it.
fn differences(column: &[f64]) -> Vec<f64> {
    let last = column.len() - 1;
    (0..column.len())
        .map(|i| {
            let before = if i == 0 {
                0.0
            } else {
                column[i] - column[i - 1]
            };
            let after = if i == last {
                0.0
            } else {
                column[i + 1] - column[i]
            };
            before - after
        })
        .collect()
}

/// The probability that the statistic of independent normal errors is below `x`.
///
/// The statistic is below `x` exactly if the quadratic form `eᵀ(A - x)e` of the
/// residuals is negative. Its characteristic function is inverted by the
/// trapezoidal rule of Davies (Biometrika 60, 1973), whose error is the
/// probability that the form leaves an interval, made negligible by `period`.
fn below(x: f64, n: usize, space: &ColumnSpace) -> f64 {
    let count = n as f64;
    let mean = count * (2.0 - x).abs() + 4.0 * space.rank() as f64;
    // Eigenvalues lie within [-x, 4 - x]. Laurent and Massart (Annals of
    // Statistics 28, 2000, lemma 1): beyond this the form has probability e^-32.
    let largest = x.max(4.0 - x);
    let period = mean + 2.0 * largest * (32.0 * count).sqrt() + 64.0 * largest;
    let step = 2.0 * PI / period;
    let mut sum = 0.0;
    for k in 0..MOST_FREQUENCIES {
        let place = f64::from(k) + 0.5;
        let value = characteristic(place * step, x, n, space);
        sum += value.im / (PI * place);
        // The modulus falls with the frequency, so what is left is smaller.
        if value.modulus() < 1e-13 * place {
            break;
        }
    }
    (0.5 - sum).clamp(0.0, 1.0)
}

/// With two degrees of freedom the modulus falls only like the inverse of the
/// frequency, and this many terms leave an error of up to 1e-6.
const MOST_FREQUENCIES: u32 = 100_000;

/// `det(I - 2is(A - x))^(-1/2)` on the complement of the design, which is
/// `[det T · det(Bᵀ T⁻¹ B)]^(-1/2)` with the tridiagonal `T = I - 2is(A - x)`.
///
/// The real part of `T` is the identity, so the pivots of both factorisations
/// have positive real parts: no pivoting is needed, and the principal
/// logarithms of the pivots add up to the continuous branch.
fn characteristic(s: f64, x: f64, n: usize, space: &ColumnSpace) -> Complex {
    let beside = Complex {
        re: 0.0,
        im: 2.0 * s,
    };
    let square = beside * beside;
    let mut pivots = Vec::with_capacity(n);
    let mut ln_modulus = 0.0;
    let mut angle = 0.0;
    let mut count = |pivot: Complex| {
        ln_modulus += pivot.modulus().ln();
        angle += pivot.im.atan2(pivot.re);
    };
    for i in 0..n {
        let diagonal = if i == 0 || i == n - 1 { 1.0 } else { 2.0 };
        let mut pivot = Complex {
            re: 1.0,
            im: -2.0 * s * (diagonal - x),
        };
        if let Some(&previous) = pivots.last() {
            pivot = pivot - square / previous;
        }
        count(pivot);
        pivots.push(pivot);
    }
    let solved: Vec<Vec<Complex>> = space
        .basis()
        .iter()
        .map(|column| solve_tridiagonal(&pivots, beside, column))
        .collect();
    let mut gram: Vec<Vec<Complex>> = space
        .basis()
        .iter()
        .map(|left| solved.iter().map(|right| mixed_dot(left, right)).collect())
        .collect();
    while let Some(row) = gram.pop() {
        // Eliminating from the last row upwards keeps the rest square.
        let pivot = row[row.len() - 1];
        count(pivot);
        for other in &mut gram {
            let factor = other[row.len() - 1] / pivot;
            other.truncate(row.len() - 1);
            for (value, &above) in other.iter_mut().zip(&row) {
                *value = *value - factor * above;
            }
        }
    }
    let modulus = (-0.5 * ln_modulus).exp();
    Complex {
        re: modulus * (-0.5 * angle).cos(),
        im: modulus * (-0.5 * angle).sin(),
    }
}

/// Solves `T y = column` with the pivots of T's elimination.
fn solve_tridiagonal(pivots: &[Complex], beside: Complex, column: &[f64]) -> Vec<Complex> {
    let mut solution: Vec<Complex> = Vec::with_capacity(column.len());
    for (i, &value) in column.iter().enumerate() {
        let mut reduced = Complex { re: value, im: 0.0 };
        if i > 0 {
            reduced = reduced - beside / pivots[i - 1] * solution[i - 1];
        }
        solution.push(reduced);
    }
    let last = column.len() - 1;
    solution[last] = solution[last] / pivots[last];
    for i in (0..last).rev() {
        solution[i] = (solution[i] - beside * solution[i + 1]) / pivots[i];
    }
    solution
}

fn mixed_dot(real: &[f64], complex: &[Complex]) -> Complex {
    real.iter()
        .zip(complex)
        .fold(Complex { re: 0.0, im: 0.0 }, |sum, (&r, &c)| {
            sum + Complex {
                re: r * c.re,
                im: r * c.im,
            }
        })
}

#[derive(Debug, Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    fn modulus(self) -> f64 {
        self.re.hypot(self.im)
    }
}

impl Add for Complex {
    type Output = Complex;

    fn add(self, other: Complex) -> Complex {
        Complex {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Sub for Complex {
    type Output = Complex;

    fn sub(self, other: Complex) -> Complex {
        Complex {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl Mul for Complex {
    type Output = Complex;

    fn mul(self, other: Complex) -> Complex {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl Div for Complex {
    type Output = Complex;

    fn div(self, other: Complex) -> Complex {
        let square = other.re * other.re + other.im * other.im;
        let conjugate = Complex {
            re: other.re / square,
            im: -other.im / square,
        };
        self * conjugate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_degrees_of_freedom_follow_the_arc_tangent() {
        // Three residuals about their mean: A has the eigenvalues 1 and 3 there,
        // and a ratio of two squared normal values is the square of a Cauchy one.
        let space = ColumnSpace::of(3, &[&[1.0; 3]]).unwrap();
        for x in [1.1, 1.5, 2.0, 2.7, 2.95] {
            let exact = 2.0 / PI * ((x - 1.0_f64) / (3.0 - x)).sqrt().atan();
            let error = (below(x, 3, &space) - exact).abs();
            assert!(error < 1e-6, "at {x} the error is {error:e}");
        }
    }

    #[test]
    fn beyond_the_limit_the_normal_approximation_is_as_good() {
        let n = EXACT_LIMIT;
        let ones = vec![1.0; n];
        let trend: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let blocks: Vec<f64> = (0..n).map(|i| (i % 7) as f64).collect();
        let space = ColumnSpace::of(n, &[&ones, &trend, &blocks]).unwrap();
        for x in [1.88, 1.93, 1.97, 2.0, 2.02, 2.1] {
            let (exact, normal) = (below(x, n, &space), roughly_below(x, n, &space));
            assert!(
                (exact - normal).abs() < 1e-4,
                "at {x}: {exact} and {normal}"
            );
        }
    }
}
