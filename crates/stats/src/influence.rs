//! What single runs do to a fit: leverage, Cook's distance, outliers.

use paceline_dist::StudentT;

use crate::fit::Fit;
use crate::lstsq::Scalar;
use crate::parallel::in_chunks;

/// The influence of every row, in the order of the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Influence {
    /// The diagonal of the hat matrix: how far a row's settings are from the rest.
    pub leverage: Vec<f64>,
    /// Residual over its own standard error.
    pub standardized: Vec<f64>,
    /// The same with the error estimated without the row; follows Student's t
    /// with one degree of freedom less than the residual. NaN where a row is
    /// fitted by a parameter of its own, or where one degree is all there is.
    pub studentized: Vec<f64>,
    /// Cook's distance: how far all fitted values move if the row is left out
    /// (R. D. Cook, "Detection of influential observation in linear regression",
    /// Technometrics 19, 1977).
    pub cooks_distance: Vec<f64>,
    residual_df: usize,
    parameters: usize,
}

/// A row whose residual is too large for chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// The row of the frame, counted from zero.
    pub row: usize,
    /// Its studentised residual.
    pub studentized: f64,
    /// The p-value, corrected by Bonferroni for having looked at every row.
    pub p: f64,
}

/// A leverage within rounding of one: the row has a parameter of its own.
const FULL_LEVERAGE: f64 = 1.0 - 1e-10;

impl Influence {
    /// The influence of every row on a fit.
    pub fn of(fit: &Fit<'_>) -> Influence {
        let leverage = leverage(fit);
        let parameters = fit.rank();
        let residual_df = fit.residual_df();
        let sd = fit.error_sd();
        let df = residual_df as f64;
        let mut standardized = Vec::with_capacity(leverage.len());
        let mut studentized = Vec::with_capacity(leverage.len());
        let mut cooks_distance = Vec::with_capacity(leverage.len());
        for (&residual, &h) in fit.residuals().iter().zip(&leverage) {
            if h >= FULL_LEVERAGE {
                standardized.push(f64::NAN);
                studentized.push(f64::NAN);
                cooks_distance.push(f64::NAN);
                continue;
            }
            let r = residual / (sd * (1.0 - h).sqrt());
            standardized.push(r);
            let left = df - r * r;
            studentized.push(match residual_df > 1 && left > 0.0 {
                true => r * ((df - 1.0) / left).sqrt(),
                false => f64::NAN,
            });
            cooks_distance.push(r * r * h / (parameters as f64 * (1.0 - h)));
        }
        Influence {
            leverage,
            standardized,
            studentized,
            cooks_distance,
            residual_df,
            parameters,
        }
    }

    /// Rows whose studentised residual is significant at `level` after
    /// Bonferroni's correction, the most extreme first.
    pub fn outliers(&self, level: f64) -> Vec<Outlier> {
        if self.residual_df < 2 {
            return Vec::new();
        }
        let student = StudentT::new((self.residual_df - 1) as f64)
            .expect("checked to be at least one degree of freedom");
        let tests = self.studentized.len() as f64;
        // Few residuals come near the limit; only theirs need a p-value.
        let limit = student.upper_quantile((level / tests / 2.0).clamp(0.0, 0.5));
        let near = limit * (1.0 - 1e-6);
        let mut outliers: Vec<Outlier> = self
            .studentized
            .iter()
            .enumerate()
            .filter(|(_, studentized)| studentized.abs() >= near)
            .map(|(row, &studentized)| Outlier {
                row,
                studentized,
                p: (tests * student.two_sided(studentized)).min(1.0),
            })
            .filter(|outlier| outlier.p < level)
            .collect();
        outliers.sort_by(|a, b| b.studentized.abs().total_cmp(&a.studentized.abs()));
        outliers
    }

    /// Rows with more than twice the average leverage.
    pub fn high_leverage(&self) -> Vec<usize> {
        let limit = 2.0 * self.parameters as f64 / self.leverage.len() as f64;
        (0..self.leverage.len())
            .filter(|&row| self.leverage[row] > limit)
            .collect()
    }
}

/// The squared length of each row of X·R⁻¹; equal settings have equal leverage.
fn leverage(fit: &Fit<'_>) -> Vec<f64> {
    match &fit.solution.cells {
        Some(cells) => {
            let by_cell = leverage_of(fit, &cells.first_row);
            let rows = cells.of_row.iter();
            rows.map(|&cell| by_cell[cell as usize]).collect()
        }
        None => {
            let rows: Vec<u32> = (0..fit.observations() as u32).collect();
            leverage_of(fit, &rows)
        }
    }
}

fn leverage_of(fit: &Fit<'_>, rows: &[u32]) -> Vec<f64> {
    const BLOCK: usize = 256;
    let matrix = fit.matrix();
    let columns = matrix.columns().len();
    let chunks = in_chunks(rows.len(), |range| {
        let mut leverage = Vec::with_capacity(range.len());
        let mut buffer = vec![0.0; BLOCK * columns];
        for start in range.clone().step_by(BLOCK) {
            let indices = &rows[start..(start + BLOCK).min(range.end)];
            let block = &mut buffer[..indices.len() * columns];
            matrix.fill::<f64>(indices, block);
            leverage.extend(block_leverage(fit, block, indices.len()));
        }
        leverage
    });
    chunks.concat()
}

/// The leverage of the rows of one column-major block.
fn block_leverage(fit: &Fit<'_>, block: &[f64], rows: usize) -> Vec<f64> {
    let mut leverage = vec![0.0; rows];
    let mut product = vec![0.0; rows];
    for inverse in &fit.solution.scaled_inverse {
        product.fill(0.0);
        for (&column, &factor) in fit.solution.independent.iter().zip(inverse) {
            if factor != 0.0 {
                f64::subtract_multiple(
                    &mut product,
                    -factor,
                    &block[column * rows..(column + 1) * rows],
                );
            }
        }
        for (sum, product) in leverage.iter_mut().zip(&product) {
            *sum += product * product;
        }
    }
    for h in &mut leverage {
        *h = h.min(1.0);
    }
    leverage
}
