//! What single runs do to a fit: leverage, Cook's distance, outliers.

use paceline_dist::StudentT;
use paceline_numeric::Chance;

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
    /// Whether leverages are exact for every row. In tables where that would
    /// take too long, only the rows that could matter have exact ones, and the
    /// others an estimate within about a third.
    pub exact: bool,
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

/// Leverages of every row are computed up to this many distinct rows times
/// squared columns; beyond it they are sketched first.
const EVERY_ROW: usize = 2_000_000_000;

/// A leverage within rounding of one: the row has a parameter of its own.
const FULL_LEVERAGE: f64 = 1.0 - 1e-10;

impl Influence {
    /// The influence of every row on a fit.
    pub fn of(fit: &Fit<'_>) -> Influence {
        let work = fit.distinct_rows().saturating_mul(fit.rank().pow(2));
        let exact = work <= EVERY_ROW;
        let leverage = match exact {
            true => leverage(fit),
            false => sketched_leverage(fit),
        };
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
            exact,
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

    /// The share of the residual sum of squares that goes away with each row, at
    /// most one: r² over the degrees of freedom.
    pub(crate) fn share_of_residual(&self, row: usize) -> f64 {
        let share = self.standardized[row].powi(2) / self.residual_df as f64;
        match share.is_nan() {
            true => 0.0,
            false => share.min(1.0),
        }
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

/// Leverages at a cost of rows times columns: the squared length of a row of
/// X·R⁻¹ hardly changes when it is projected on a few random signs (P. Drineas,
/// M. Magdon-Ismail, M. W. Mahoney and D. P. Woodruff, "Fast approximation of
/// matrix coherence and statistical leverage", JMLR 13, 2012). Rows that could
/// matter by this estimate or by their residual then get their exact leverage.
fn sketched_leverage(fit: &Fit<'_>) -> Vec<f64> {
    const SIGNS: usize = 16;
    /// The same signs in every run.
    const SKETCH_SEED: u64 = 1;
    /// So many rows of the largest residuals are looked at exactly.
    const LOOKED_AT: usize = 1_000;
    let solution = &fit.solution;
    let rank = fit.rank();
    let mut projected = vec![vec![0.0; rank]; SIGNS];
    let mut chance = Chance::new(SKETCH_SEED, 0);
    for inverse in &solution.scaled_inverse {
        for direction in &mut projected {
            let sign = if chance.below(2) == 0 { -1.0 } else { 1.0 };
            let factor = sign / (SIGNS as f64).sqrt();
            f64::subtract_multiple(direction, factor, inverse);
        }
    }
    let (rows, of_row): (Vec<u32>, Option<&[u32]>) = match &solution.cells {
        Some(cells) => (cells.first_row.clone(), Some(&cells.of_row)),
        None => ((0..fit.observations() as u32).collect(), None),
    };
    let sketched = squared_lengths(fit, &rows, &projected);
    let place = |row: usize| of_row.map_or(row, |cells| cells[row] as usize);
    let residuals = fit.residuals();
    let mut by_size: Vec<u32> = (0..residuals.len() as u32).collect();
    let looked_at = LOOKED_AT.min(by_size.len());
    if looked_at < by_size.len() {
        by_size.select_nth_unstable_by(looked_at, |&a, &b| {
            residuals[b as usize]
                .abs()
                .total_cmp(&residuals[a as usize].abs())
        });
    }
    let mut wanted: Vec<usize> = by_size[..looked_at]
        .iter()
        .map(|&row| place(row as usize))
        .collect();
    // All leverages add up to the rank, so few rows can have a large one.
    wanted.extend((0..sketched.len()).filter(|&k| sketched[k] > 0.1));
    wanted.sort_unstable();
    wanted.dedup();
    let indices: Vec<u32> = wanted.iter().map(|&k| rows[k]).collect();
    let mut leverage = sketched;
    for (&k, exact) in wanted.iter().zip(leverage_of(fit, &indices)) {
        leverage[k] = exact;
    }
    match of_row {
        Some(cells) => cells.iter().map(|&cell| leverage[cell as usize]).collect(),
        None => leverage,
    }
}

fn leverage_of(fit: &Fit<'_>, rows: &[u32]) -> Vec<f64> {
    squared_lengths(fit, rows, &fit.solution.scaled_inverse)
}

/// The squared length of these rows of X times `directions`, each a weight for
/// every independent column; at most one.
fn squared_lengths(fit: &Fit<'_>, rows: &[u32], directions: &[Vec<f64>]) -> Vec<f64> {
    const BLOCK: usize = 256;
    let matrix = fit.matrix();
    let columns = matrix.columns().len();
    let chunks = in_chunks(rows.len(), |range| {
        let mut lengths = Vec::with_capacity(range.len());
        let mut buffer = vec![0.0; BLOCK * columns];
        for start in range.clone().step_by(BLOCK) {
            let indices = &rows[start..(start + BLOCK).min(range.end)];
            let block = &mut buffer[..indices.len() * columns];
            matrix.fill::<f64>(indices, block);
            lengths.extend(block_lengths(fit, block, indices.len(), directions));
        }
        lengths
    });
    chunks.concat()
}

/// The same for the rows of one column-major block.
fn block_lengths(fit: &Fit<'_>, block: &[f64], rows: usize, directions: &[Vec<f64>]) -> Vec<f64> {
    let mut lengths = vec![0.0; rows];
    let mut product = vec![0.0; rows];
    for direction in directions {
        product.fill(0.0);
        for (&column, &factor) in fit.solution.independent.iter().zip(direction) {
            if factor != 0.0 {
                f64::subtract_multiple(
                    &mut product,
                    -factor,
                    &block[column * rows..(column + 1) * rows],
                );
            }
        }
        for (sum, product) in lengths.iter_mut().zip(&product) {
            *sum += product * product;
        }
    }
    for length in &mut lengths {
        *length = length.min(1.0);
    }
    lengths
}
