//! What the process says of runs that it is not told, without fitting again.

use super::cells::Cells;
use super::draw::Draw;

/// What is said of a run without itself, and without all runs of its cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeftOut {
    /// The mean without this run.
    pub mean: f64,
    /// The variance without this run.
    pub variance: f64,
    /// The mean without any run of the same settings.
    pub unseen_mean: f64,
    /// The variance without any run of the same settings.
    pub unseen_variance: f64,
}

/// Leave-one-out mixtures of one chain, run by run, standardised.
pub(super) struct ChainLeftOut {
    /// Mean, variance and log score of each run without itself.
    pub(super) runs: Vec<(f64, f64, f64)>,
    /// Mean and variance of a run of each cell without the cell.
    pub(super) cells: Vec<(f64, f64)>,
}

/// One draw's prediction of something left out, and how probable the truth was.
struct Told {
    mean: f64,
    squared_scale: f64,
    log_density: f64,
}

impl ChainLeftOut {
    /// Rasmussen and Williams 2006, equation 5.12, with the common variance
    /// integrated out. `K⁻¹` over the runs follows from that over the cells: a
    /// run has `P = (1 − 1/r)/v + M/r²` and `α = (y − ȳ)/v + (Mȳ)/r`.
    pub(super) fn of(draws: &[Draw], cells: &Cells) -> Self {
        let runs = cells.rows.len() as f64;
        let inverses: Vec<Vec<f64>> = draws
            .iter()
            .map(|draw| {
                let inverse = draw.solved.factor.inverse();
                (0..cells.len())
                    .map(|cell| inverse.row(cell)[cell])
                    .collect()
            })
            .collect();
        let by_run = cells.rows.iter().map(|&(cell, y)| {
            let count = cells.counts[cell];
            let told = draws.iter().zip(&inverses).map(|(draw, inverse)| {
                let noise = draw.solved.noise[cell];
                let precision = (1.0 - 1.0 / count) / noise + inverse[cell] / (count * count);
                let weight = (y - cells.means[cell]) / noise + draw.solved.weights[cell] / count;
                let rest = 1.0 + draw.solved.misfit - weight * weight / precision;
                told(y, y - weight / precision, rest, runs + 1.0, 1.0 / precision)
            });
            let (mean, variance) = mixture(told.collect());
            (mean, variance, log_normal(y, mean, variance))
        });
        let by_cell = (0..cells.len()).map(|cell| {
            let count = cells.counts[cell];
            let told = draws.iter().zip(&inverses).map(|(draw, inverse)| {
                let noise = draw.solved.noise[cell];
                let (precision, weight) = (inverse[cell], draw.solved.weights[cell]);
                let scatter = cells.squares[cell] / noise;
                let rest = 1.0 + draw.solved.misfit - scatter - weight * weight / precision;
                let centre = cells.means[cell] - weight / precision;
                let freedom = (runs - count + 2.0).max(2.0);
                let of_mean = 1.0 / precision;
                let mut told = told(cells.means[cell], centre, rest, freedom, of_mean);
                // Of a single run rather than of the mean of the replicates.
                let single = (of_mean - noise / count).max(0.0) + noise;
                told.squared_scale *= single / of_mean;
                told
            });
            mixture(told.collect())
        });
        Self {
            runs: by_run.collect(),
            cells: by_cell.collect(),
        }
    }
}

fn told(truth: f64, mean: f64, rest: f64, freedom: f64, variance: f64) -> Told {
    let squared_scale = (rest.max(1.0) / freedom * variance).max(f64::MIN_POSITIVE);
    let missed = truth - mean;
    // Constants that all draws share are left out.
    let log_density = -0.5 * squared_scale.ln()
        - 0.5 * (freedom + 1.0) * (missed * missed / (freedom * squared_scale)).ln_1p();
    Told {
        mean,
        squared_scale,
        log_density,
    }
}

/// Mean and variance over draws that are weighted as if the truth had been left
/// out: by the inverse of its density, each at most `1/√draws` (Ionides 2008;
/// Vehtari, Gelman and Gabry 2017).
fn mixture(told: Vec<Told>) -> (f64, f64) {
    let least = told
        .iter()
        .map(|t| t.log_density)
        .fold(f64::INFINITY, f64::min);
    let mut weights: Vec<f64> = told.iter().map(|t| (least - t.log_density).exp()).collect();
    let most = 1.0 / (told.len() as f64).sqrt();
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight = (*weight / sum).min(most);
    }
    let sum: f64 = weights.iter().sum();
    let pairs = || {
        told.iter()
            .zip(&weights)
            .map(|(t, weight)| (t, weight / sum))
    };
    let mean: f64 = pairs().map(|(t, weight)| weight * t.mean).sum();
    let variance =
        pairs().map(|(t, weight)| weight * (t.squared_scale + (t.mean - mean) * (t.mean - mean)));
    (mean, variance.sum())
}

fn log_normal(y: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * (std::f64::consts::TAU * variance).ln() - 0.5 * (y - mean) * (y - mean) / variance
}

/// Two chains' opinions as one.
pub(super) fn pooled(equal: (f64, f64), unequal: (f64, f64), share: f64) -> (f64, f64) {
    let mean = (1.0 - share) * equal.0 + share * unequal.0;
    let around = |(centre, variance): (f64, f64)| variance + (centre - mean) * (centre - mean);
    (
        mean,
        (1.0 - share) * around(equal) + share * around(unequal),
    )
}
