//! How sure combinations of coefficients are.

use paceline_numeric::{Cholesky, SymmetricMatrix};

use crate::fit::{Fit, upper_f};
use crate::influence::Influence;
use crate::lstsq::Scalar;

/// The covariance of the coefficients.
#[derive(Clone, Debug)]
pub enum Covariance {
    /// One error variance for all rows.
    Common,
    /// Every row with an error of its own, so that unequal spread does no harm:
    /// HC3 of J. G. MacKinnon and H. White, "Some heteroskedasticity-consistent
    /// covariance matrix estimators with improved finite sample properties",
    /// Journal of Econometrics 29, 1985.
    Robust(RobustCovariance),
}

/// The covariance of the coefficients of scaled columns.
#[derive(Clone, Debug)]
pub struct RobustCovariance(Vec<Vec<f64>>);

/// Up to this many rows times squared columns the covariance is computed.
const AFFORDABLE: usize = 2_000_000_000;

impl Covariance {
    /// The covariance that allows for unequal spread; `None` where it would take
    /// too long.
    pub fn robust(fit: &Fit<'_>, influence: &Influence) -> Option<Covariance> {
        let rank = fit.rank();
        let work = fit.distinct_rows().saturating_mul(rank * rank);
        (work <= AFFORDABLE).then(|| Covariance::Robust(RobustCovariance::of(fit, influence)))
    }

    /// The variance of Σ weight · coefficient, weights by column of the matrix.
    pub(super) fn variance(&self, fit: &Fit<'_>, weights: &[f64]) -> f64 {
        let solution = &fit.solution;
        let scaled: Vec<f64> = solution
            .independent
            .iter()
            .zip(&solution.scales)
            .map(|(&column, scale)| weights[column] * scale)
            .collect();
        match self {
            Covariance::Common => {
                let square: f64 = solution
                    .scaled_inverse
                    .iter()
                    .map(|inverse| f64::dot(inverse, &scaled).powi(2))
                    .sum();
                fit.error_variance() * square
            }
            Covariance::Robust(RobustCovariance(matrix)) => matrix
                .iter()
                .zip(&scaled)
                .map(|(row, weight)| weight * f64::dot(row, &scaled))
                .sum(),
        }
    }
}

impl RobustCovariance {
    fn of(fit: &Fit<'_>, influence: &Influence) -> RobustCovariance {
        let spread = |row: usize| {
            let free = 1.0 - influence.leverage[row];
            match free > 1e-10 {
                true => (fit.residuals()[row] / free).powi(2),
                // A row with a parameter of its own has no residual.
                false => 0.0,
            }
        };
        let (rows, squares): (Vec<u32>, Vec<f64>) = match &fit.solution.cells {
            Some(cells) => {
                let mut squares = vec![0.0; cells.len()];
                for (row, &cell) in cells.of_row.iter().enumerate() {
                    squares[cell as usize] += spread(row);
                }
                (cells.first_row.clone(), squares)
            }
            None => {
                let rows = 0..fit.observations();
                (
                    rows.clone().map(|r| r as u32).collect(),
                    rows.map(spread).collect(),
                )
            }
        };
        let middle = weighted_products(fit, &rows, &squares);
        let inverse = &fit.solution.scaled_inverse;
        let rank = fit.rank();
        let normal: Vec<Vec<f64>> = (0..rank)
            .map(|a| {
                (0..rank)
                    .map(|b| inverse.iter().map(|column| column[a] * column[b]).sum())
                    .collect()
            })
            .collect();
        RobustCovariance(times(&times(&normal, &middle), &normal))
    }

    /// Wald's F test that the coefficients at these positions are all zero, and
    /// its p-value.
    pub(crate) fn wald(&self, fit: &Fit<'_>, positions: &[usize]) -> Option<(f64, f64)> {
        let scales = &fit.solution.scales;
        let matrix = SymmetricMatrix::from_lower(positions.len(), |i, j| {
            let (a, b) = (positions[i], positions[j]);
            self.0[a][b] * scales[a] * scales[b]
        });
        let mut solved: Vec<f64> = positions
            .iter()
            .map(|&a| fit.coefficients()[a].estimate)
            .collect();
        Cholesky::of(matrix)?.solve(&mut solved);
        let square: f64 = positions
            .iter()
            .zip(&solved)
            .map(|(&a, x)| fit.coefficients()[a].estimate * x)
            .sum();
        let f = square / positions.len() as f64;
        f.is_finite()
            .then(|| (f, upper_f(f, positions.len(), fit.residual_df())))
    }
}

/// Xᵀ·diag(squares)·X of the scaled independent columns.
fn weighted_products(fit: &Fit<'_>, rows: &[u32], squares: &[f64]) -> Vec<Vec<f64>> {
    const BLOCK: usize = 256;
    let matrix = fit.matrix();
    let independent = &fit.solution.independent;
    let rank = independent.len();
    let mut products = vec![vec![0.0; rank]; rank];
    let mut buffer = vec![0.0; BLOCK * matrix.columns().len()];
    for (rows, squares) in rows.chunks(BLOCK).zip(squares.chunks(BLOCK)) {
        let block = &mut buffer[..rows.len() * matrix.columns().len()];
        matrix.fill::<f64>(rows, block);
        let column = |k: usize| {
            let start = independent[k] * rows.len();
            &block[start..start + rows.len()]
        };
        for (a, products) in products.iter_mut().enumerate() {
            let weighted: Vec<f64> = column(a).iter().zip(squares).map(|(x, s)| x * s).collect();
            for (b, product) in products.iter_mut().enumerate() {
                *product += f64::dot(&weighted, column(b));
            }
        }
    }
    products
}

/// The product of two square matrices, the second symmetric.
fn times(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    a.iter()
        .map(|row| b.iter().map(|column| f64::dot(row, column)).collect())
        .collect()
}
