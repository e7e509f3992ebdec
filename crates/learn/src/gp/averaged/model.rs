//! Fitting the averaged process and predicting from it.

use super::cells::Cells;
use super::chain::{Effort, draw};
use super::density::{Covariance, Problem, add_squares};
use super::draw::{Draw, Said};
use super::left_out::{ChainLeftOut, LeftOut, pooled};
use crate::learner::{check_columns, require_moderate, require_rows};
use crate::parameter::require;
use crate::{Dataset, Features, FitError, ParameterError, PredictError, Threads};
use paceline_numeric::{Chance, dot};

/// Hyper-parameters of [`AveragedProcess`] as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AveragedProcessParams {
    /// The factor that each column describes, numbered from zero without gaps:
    /// columns of one factor share a length scale.
    pub factors: Vec<usize>,
}

impl AveragedProcessParams {
    /// Accepts at least one column, and factors without gaps.
    pub fn check(self) -> Result<AveragedProcess, ParameterError> {
        let factors = self.factors.iter().max().map_or(0, |most| most + 1);
        let used = (0..factors).filter(|factor| self.factors.contains(factor));
        require(
            "factors",
            used.count() as f64,
            factors > 0 && (0..factors).all(|factor| self.factors.contains(&factor)),
            "numbered from zero without gaps",
        )?;
        Ok(AveragedProcess {
            groups: self.factors,
            lengths: factors,
        })
    }
}

/// A Gaussian process with a linear part, averaged over its hyper-parameters,
/// with equal and with unequal spread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AveragedProcess {
    groups: Vec<usize>,
    lengths: usize,
}

/// The averaged process given the data.
#[derive(Debug, Clone, PartialEq)]
pub struct AveragedProcessModel {
    cells: Cells,
    groups: Vec<usize>,
    lengths: usize,
    draws: Vec<Draw>,
    /// Of each draw; they add up to one.
    weights: Vec<f64>,
    unequal_share: f64,
    calibration: f64,
    left_out: Vec<LeftOut>,
}

/// What is believed of a run, as a mixture of Student's t distributions with
/// [`AveragedProcessModel::freedom`] degrees of freedom.
#[derive(Debug, Clone, PartialEq)]
pub struct AveragedPrediction {
    /// Mean and scale of each draw, in the order of
    /// [`AveragedProcessModel::weights`].
    pub draws: Vec<(f64, f64)>,
    /// The mean of all draws.
    pub mean: f64,
    /// The variance of the draws' means, plus the mean of their squared scales.
    pub variance: f64,
}

/// More cells than this, and chains run on this many of them.
const MOST_CELLS_DRAWN: usize = 96;
/// Chains on so few cells may run long.
const FEW_CELLS: usize = 64;
/// The share of unequal spread lies between these: neither is ever excluded by so
/// few runs.
const SHARES: (f64, f64) = (0.2, 0.9);
/// How many runs the belief that the process is as sure as it should be counts for.
const BELIEVED: f64 = 8.0;

impl AveragedProcess {
    /// Draws hyper-parameters given the data. What is returned does not depend on
    /// the order of rows, nor on the number of threads.
    pub fn fit(
        &self,
        data: &Dataset,
        seed: u64,
        threads: Threads,
    ) -> Result<AveragedProcessModel, FitError> {
        require_rows(data.rows(), 2)?;
        require_moderate(data.target())?;
        require_moderate(data.features().as_flat())?;
        if self.groups.len() != data.columns() {
            return Err(FitError::WrongLength {
                parameter: "factors",
                columns: data.columns(),
                found: self.groups.len(),
            });
        }
        let cells = Cells::of(data);
        let drawn_from = cells.thinned(MOST_CELLS_DRAWN);
        let effort = effort(cells.len());
        let singular = FitError::SingularKernel { rows: cells.len() };
        let chains = threads.map(2, |chain| {
            let covariance = Covariance {
                groups: self.groups.clone(),
                lengths: self.lengths,
                unequal: chain == 1,
            };
            let problem = Problem::new(&drawn_from, &covariance);
            let points = draw(&problem, effort, &mut Chance::new(seed, chain as u64));
            let all = Problem::new(&cells, &covariance);
            let solved = points.into_iter().filter_map(|point| {
                let solved = all.solve(&point)?;
                Some(Draw::new(point, solved, &cells))
            });
            let draws: Vec<Draw> = solved.collect();
            let left_out = (!draws.is_empty()).then(|| ChainLeftOut::of(&draws, &cells));
            (draws, left_out)
        });
        let mut chains = chains.into_iter();
        let (Some((equal, Some(of_equal))), Some((unequal, Some(of_unequal)))) =
            (chains.next(), chains.next())
        else {
            return Err(singular);
        };
        let share = unequal_share(&of_equal, &of_unequal);
        let weights = [(&equal, 1.0 - share), (&unequal, share)]
            .iter()
            .flat_map(|(draws, share)| std::iter::repeat_n(share / draws.len() as f64, draws.len()))
            .collect();
        let left_out = left_out(&cells, &of_equal, &of_unequal, share);
        Ok(AveragedProcessModel {
            calibration: calibration(&cells, &of_equal, &of_unequal, share),
            groups: self.groups.clone(),
            lengths: self.lengths,
            draws: equal.into_iter().chain(unequal).collect(),
            weights,
            unequal_share: share,
            left_out,
            cells,
        })
    }
}

fn effort(cells: usize) -> Effort {
    let (burn_in, draws, every) = if cells <= FEW_CELLS {
        (60, 40, 3)
    } else if cells <= MOST_CELLS_DRAWN {
        (40, 24, 3)
    } else if cells <= 2 * MOST_CELLS_DRAWN {
        // Each draw is solved for all cells, and each candidate against each draw.
        (40, 12, 6)
    } else {
        (40, 6, 12)
    };
    Effort {
        burn_in,
        draws,
        every,
    }
}

/// How much unequal spread is believed, by the log scores of runs left out and
/// their standard error (after Yao, Vehtari, Simpson and Gelman 2018; the logistic
/// of a normal, MacKay 1992).
fn unequal_share(equal: &ChainLeftOut, unequal: &ChainLeftOut) -> f64 {
    let pairs = equal.runs.iter().zip(&unequal.runs);
    let mut gains: Vec<f64> = pairs.map(|(equal, unequal)| unequal.2 - equal.2).collect();
    // The sum must not depend on the order of rows.
    gains.sort_by(f64::total_cmp);
    let count = gains.len() as f64;
    let sum: f64 = gains.iter().sum();
    let mean = sum / count;
    let squares: f64 = gains.iter().map(|d| (d - mean) * (d - mean)).sum();
    let error = (count * squares / (count - 1.0).max(1.0)).sqrt();
    let logit = sum / (1.0 + std::f64::consts::PI * error * error / 32.0).sqrt();
    (1.0 / (1.0 + (-logit).exp())).clamp(SHARES.0, SHARES.1)
}

/// By how much the process is surer than the runs that are left out allow; at
/// least one, at most three, times what a new run adds.
fn calibration(cells: &Cells, equal: &ChainLeftOut, unequal: &ChainLeftOut, share: f64) -> f64 {
    let rows = cells.rows.iter().zip(equal.runs.iter().zip(&unequal.runs));
    let mut squares: Vec<f64> = rows
        .map(|(&(_, y), (equal, unequal))| {
            let (mean, variance) = pooled((equal.0, equal.1), (unequal.0, unequal.1), share);
            (y - mean) * (y - mean) / variance
        })
        .collect();
    squares.sort_by(f64::total_cmp);
    let count = squares.len() as f64;
    let ratio = (BELIEVED + squares.iter().sum::<f64>()) / (BELIEVED + count);
    ratio.sqrt().clamp(1.0, 3.0) * (1.0 + 1.0 / count).sqrt()
}

fn left_out(
    cells: &Cells,
    equal: &ChainLeftOut,
    unequal: &ChainLeftOut,
    share: f64,
) -> Vec<LeftOut> {
    let back = |mean: f64| cells.mean + cells.unit * mean;
    let squared = cells.unit * cells.unit;
    let rows = cells.rows.iter().zip(equal.runs.iter().zip(&unequal.runs));
    rows.map(|(&(cell, _), (of_equal, of_unequal))| {
        let own = pooled(
            (of_equal.0, of_equal.1),
            (of_unequal.0, of_unequal.1),
            share,
        );
        let unseen = pooled(equal.cells[cell], unequal.cells[cell], share);
        LeftOut {
            mean: back(own.0),
            variance: squared * own.1,
            unseen_mean: back(unseen.0),
            unseen_variance: squared * unseen.1,
        }
    })
    .collect()
}

impl AveragedProcessModel {
    /// The weight of each draw; they add up to one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The degrees of freedom of each draw's distribution.
    pub fn freedom(&self) -> f64 {
        self.cells.rows.len() as f64 + 2.0
    }

    /// How many distinct rows the data have.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// How much of the weight has the spread that changes along the features.
    pub fn unequal_share(&self) -> f64 {
        self.unequal_share
    }

    /// By how much runs that are left out scatter more than the process says,
    /// with what the estimate itself adds.
    pub fn calibration(&self) -> f64 {
        self.calibration
    }

    /// What the process says of each row of the data without it.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// What is believed of a run at each row.
    pub fn predict(
        &self,
        features: &Features,
        threads: Threads,
    ) -> Result<Vec<AveragedPrediction>, PredictError> {
        check_columns(features.columns(), self.groups.len())?;
        // Blocks rather than rows, so that threads do not meet at every row.
        const BLOCK: usize = 16;
        let blocks = threads.map(features.rows().div_ceil(BLOCK), |block| {
            let rows = block * BLOCK..features.rows().min((block + 1) * BLOCK);
            let mut scratch = Vec::with_capacity(self.cells.len());
            rows.map(|row| self.at(features.row(row), &mut scratch))
                .collect::<Vec<_>>()
        });
        Ok(blocks.into_iter().flatten().collect())
    }

    fn at(&self, row: &[f64], scratch: &mut Vec<f64>) -> AveragedPrediction {
        let cells = &self.cells;
        let centred: Vec<f64> = cells.shifted(row).collect();
        let mut products = Vec::with_capacity(cells.len());
        let mut squares = vec![0.0; cells.len() * self.lengths];
        for (other, sums) in cells
            .centred
            .iter()
            .zip(squares.chunks_exact_mut(self.lengths))
        {
            products.push(dot(&centred, other));
            add_squares(&centred, other, &self.groups, sums);
        }
        let seen = cells.find(&centred);
        let said: Vec<Said> = self
            .draws
            .iter()
            .map(|draw| draw.at(&centred, &products, &squares, seen, scratch))
            .collect();
        let pairs = || said.iter().zip(&self.weights);
        let mean: f64 = pairs().map(|(said, weight)| weight * said.mean).sum();
        let variance: f64 = pairs()
            .map(|(said, weight)| {
                weight * (said.squared_scale + (said.mean - mean) * (said.mean - mean))
            })
            .sum();
        let back = |mean: f64| cells.mean + cells.unit * mean;
        AveragedPrediction {
            draws: said
                .iter()
                .map(|said| (back(said.mean), cells.unit * said.squared_scale.sqrt()))
                .collect(),
            mean: back(mean),
            variance: cells.unit * cells.unit * variance,
        }
    }
}
