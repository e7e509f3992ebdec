//! What runs so far say of configurations that were not run.

use super::space::{Dimension, Space};
use crate::runs::Configuration;
use paceline_dist::Normal;
use paceline_numeric::{Chance, Cholesky, SymmetricMatrix};

/// A Gaussian process over a search space, averaged over what its
/// hyper-parameters may be (Snoek, Larochelle and Adams 2012).
///
/// A handful of runs does not determine length scales and noise; a process with
/// the likeliest ones is sure of itself where it has not looked, and a search
/// that trusts it stops too soon. The kernel is Matérn 5/2 with one length per
/// factor; two categories are one apart, whichever they are. The draws are by
/// elliptical slice sampling (Murray, Adams and MacKay 2010).
pub(super) struct Surrogate {
    places: Vec<Vec<f64>>,
    target: Vec<f64>,
    draws: Vec<Draw>,
    warp: Warp,
    kinds: Vec<bool>,
}

/// What is believed of one configuration, averaged over the draws.
#[derive(Debug, Clone, Copy)]
pub(super) struct Belief {
    /// The expected value, warped.
    pub(super) mean: f64,
    /// How far below the best of the runs it is expected to be, warped.
    pub(super) improvement: f64,
    /// The probability that it is below the best of the runs by the asked share.
    pub(super) better: f64,
}

struct Draw {
    kernel: Kernel,
    factor: Cholesky,
    weights: Vec<f64>,
    /// The least mean of the runs that count.
    best: f64,
}

/// Logarithms of the hyper-parameters: deviation of the function, deviation of
/// the noise, then a length for each factor.
#[derive(Clone)]
struct Kernel(Vec<f64>);

const BURN_IN: usize = 40;
const DRAWS: usize = 12;
const THIN: usize = 4;

/// Prior deviations of the logarithms.
const AMPLITUDE: (f64, f64) = (0.0, 0.5);
const NOISE: (f64, f64) = (-3.5, 1.5);
const LENGTH_DEVIATION: f64 = 0.8;
/// Half of a factor's scale is a priori the distance at which a response has
/// changed.
const LENGTH: f64 = 0.5;
const CATEGORY_LENGTH: f64 = 1.0;

impl Surrogate {
    /// Fits the values of runs. `counts` says which runs the best is among; if
    /// none is, all are. `None` if there is too little to fit.
    pub(super) fn fit(
        space: &Space,
        runs: &[&Configuration],
        values: &[f64],
        counts: &[bool],
        seed: u64,
    ) -> Option<Self> {
        let warp = Warp::of(values)?;
        let kinds: Vec<bool> = space
            .dimensions()
            .iter()
            .map(|dimension| matches!(dimension, Dimension::Categories(_)))
            .collect();
        let places: Vec<Vec<f64>> = runs.iter().map(|run| place(space, run)).collect();
        let target: Vec<f64> = values.iter().map(|&value| warp.to(value)).collect();
        let centres: Vec<(f64, f64)> = [AMPLITUDE, NOISE]
            .into_iter()
            .chain(kinds.iter().map(|&category| {
                let length = if category { CATEGORY_LENGTH } else { LENGTH };
                (f64::ln(length), LENGTH_DEVIATION)
            }))
            .collect();
        debug_assert_eq!(centres.len(), 2 + space.feature_groups());
        let mut sampler = Sampler {
            places: &places,
            kinds: &kinds,
            target: &target,
            centres: &centres,
            chance: Chance::new(seed, runs.len() as u64),
        };
        let kernels = sampler.draw()?;
        let any = counts.iter().any(|&count| count);
        let draws = kernels
            .into_iter()
            .filter_map(|kernel| {
                let factor = kernel.factor(&places, &kinds)?;
                let mut weights = target.clone();
                factor.solve(&mut weights);
                let mut draw = Draw {
                    kernel,
                    factor,
                    weights,
                    best: 0.0,
                };
                let means = places.iter().zip(counts);
                let means = means.filter(|&(_, &count)| count || !any);
                draw.best = means
                    .map(|(at, _)| draw.at(at, &places, &kinds).0)
                    .fold(f64::INFINITY, f64::min);
                Some(draw)
            })
            .collect::<Vec<Draw>>();
        (!draws.is_empty()).then_some(Self {
            places,
            target,
            draws,
            warp,
            kinds,
        })
    }

    pub(super) fn believe(&self, space: &Space, configuration: &[f64]) -> Belief {
        self.believe_by(space, configuration, 0.0)
    }

    /// As [`Surrogate::believe`]; better is what improves by at least this share.
    pub(super) fn believe_by(&self, space: &Space, configuration: &[f64], share: f64) -> Belief {
        let margin = share / self.warp.share.max(f64::MIN_POSITIVE);
        let at = place(space, configuration);
        let mut sum = Belief {
            mean: 0.0,
            improvement: 0.0,
            better: 0.0,
        };
        for draw in &self.draws {
            let (mean, deviation) = draw.at(&at, &self.places, &self.kinds);
            let (improvement, _) = below(draw.best - mean, deviation);
            let (_, better) = below(draw.best - margin - mean, deviation);
            sum.mean += mean;
            sum.improvement += improvement;
            sum.better += better;
        }
        let count = self.draws.len() as f64;
        Belief {
            mean: sum.mean / count,
            improvement: sum.improvement / count,
            better: sum.better / count,
        }
    }

    /// The probability that a run has at most this value.
    pub(super) fn at_most(&self, space: &Space, configuration: &[f64], limit: f64) -> f64 {
        let at = place(space, configuration);
        let limit = self.warp.to(limit);
        let chances = self.draws.iter().map(|draw| {
            let (mean, deviation) = draw.at(&at, &self.places, &self.kinds);
            let deviation = deviation.hypot(draw.kernel.0[1].exp());
            Normal.cdf((limit - mean) / deviation.max(f64::MIN_POSITIVE))
        });
        chances.sum::<f64>() / self.draws.len() as f64
    }

    /// The expected value of a configuration, in the unit of the runs' values.
    pub(super) fn expected(&self, space: &Space, configuration: &[f64]) -> f64 {
        self.warp.back(self.believe(space, configuration).mean)
    }

    /// What each run would have been expected to be without itself, in the unit of
    /// the runs' values (Rasmussen and Williams 2006, equation 5.12).
    pub(super) fn left_out(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.places.len()];
        for draw in &self.draws {
            let inverse = draw.factor.inverse();
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum += self.target[at] - draw.weights[at] / inverse.at(at, at);
            }
        }
        let count = self.draws.len() as f64;
        sums.into_iter()
            .map(|sum| self.warp.back(sum / count))
            .collect()
    }

    /// An improvement as a share: of the value if values are above zero and span
    /// a factor of two, else of the best value or, where values have both signs,
    /// of their span.
    pub(super) fn share(&self, improvement: f64) -> f64 {
        improvement * self.warp.share
    }
}

/// The expected amount and the probability by which a normal value with this
/// gap to the best lies below it (Jones, Schonlau and Welch 1998, equation 15).
fn below(gap: f64, deviation: f64) -> (f64, f64) {
    if deviation <= 0.0 {
        return (gap.max(0.0), f64::from(u8::from(gap > 0.0)));
    }
    let z = gap / deviation;
    let chance = Normal.cdf(z);
    ((gap * chance + deviation * Normal.pdf(z)).max(0.0), chance)
}

fn place(space: &Space, configuration: &[f64]) -> Vec<f64> {
    let values = configuration.iter().enumerate();
    values.map(|(at, &value)| space.unit(at, value)).collect()
}

impl Kernel {
    fn covariance(&self, a: &[f64], b: &[f64], kinds: &[bool]) -> f64 {
        let mut square = 0.0;
        for (at, (x, y)) in a.iter().zip(b).enumerate() {
            let apart = if kinds[at] {
                f64::from(u8::from(x != y))
            } else {
                x - y
            };
            square += apart * apart * (-2.0 * self.0[2 + at]).exp();
        }
        let distance = (5.0 * square).sqrt();
        let matern = (1.0 + distance + distance * distance / 3.0) * (-distance).exp();
        (2.0 * self.0[0]).exp() * matern
    }

    fn factor(&self, places: &[Vec<f64>], kinds: &[bool]) -> Option<Cholesky> {
        let noise = (2.0 * self.0[1]).exp().max(1e-8);
        Cholesky::of(SymmetricMatrix::from_lower(places.len(), |i, j| {
            let shared = self.covariance(&places[i], &places[j], kinds);
            if i == j { shared + noise } else { shared }
        }))
    }
}

impl Draw {
    /// Mean and deviation of the function, without the noise of a run.
    fn at(&self, at: &[f64], places: &[Vec<f64>], kinds: &[bool]) -> (f64, f64) {
        let mut shared: Vec<f64> = places
            .iter()
            .map(|place| self.kernel.covariance(at, place, kinds))
            .collect();
        let mean = shared.iter().zip(&self.weights).map(|(k, w)| k * w).sum();
        self.factor.solve_lower(&mut shared);
        let explained: f64 = shared.iter().map(|v| v * v).sum();
        let variance = (2.0 * self.kernel.0[0]).exp() - explained;
        (mean, variance.max(0.0).sqrt())
    }
}

/// Draws hyper-parameters given the runs.
struct Sampler<'a> {
    places: &'a [Vec<f64>],
    kinds: &'a [bool],
    target: &'a [f64],
    /// Mean and deviation of each logarithm a priori.
    centres: &'a [(f64, f64)],
    chance: Chance,
}

impl Sampler<'_> {
    fn draw(&mut self) -> Option<Vec<Kernel>> {
        let mut here = vec![0.0; self.centres.len()];
        let mut height = self.likelihood(&here)?;
        let mut kernels = Vec::with_capacity(DRAWS);
        for step in 1..=BURN_IN + DRAWS * THIN {
            (here, height) = self.step(here, height);
            if step > BURN_IN && (step - BURN_IN).is_multiple_of(THIN) {
                kernels.push(self.kernel(&here));
            }
        }
        Some(kernels)
    }

    fn kernel(&self, standard: &[f64]) -> Kernel {
        let pairs = standard.iter().zip(self.centres);
        Kernel(pairs.map(|(z, (mean, sd))| mean + sd * z).collect())
    }

    fn likelihood(&self, standard: &[f64]) -> Option<f64> {
        let factor = self.kernel(standard).factor(self.places, self.kinds)?;
        let mut solved = self.target.to_vec();
        factor.solve_lower(&mut solved);
        let squares: f64 = solved.iter().map(|v| v * v).sum();
        Some(-0.5 * (squares + factor.log_determinant()))
    }

    /// One step: on an ellipse through here and a draw from the prior.
    fn step(&mut self, here: Vec<f64>, height: f64) -> (Vec<f64>, f64) {
        let other: Vec<f64> = here.iter().map(|_| self.chance.normal()).collect();
        let threshold = height + self.chance.unit().max(f64::MIN_POSITIVE).ln();
        let whole = std::f64::consts::TAU;
        let mut angle = whole * self.chance.unit();
        let (mut low, mut high) = (angle - whole, angle);
        // The bracket shrinks to where we are, which is above the threshold.
        for _ in 0..50 {
            let there: Vec<f64> = here
                .iter()
                .zip(&other)
                .map(|(a, b)| a * angle.cos() + b * angle.sin())
                .collect();
            if let Some(found) = self.likelihood(&there).filter(|&l| l > threshold) {
                return (there, found);
            }
            if angle < 0.0 {
                low = angle;
            } else {
                high = angle;
            }
            angle = low + (high - low) * self.chance.unit();
        }
        (here, height)
    }
}

/// How far beyond the median a value counts, in the distance from the least value
/// to the median: how bad a bad run is decides nothing.
const MOST_DRAWN: f64 = 1.0;

/// Values as a process likes them: logarithms where they are ratios, the worse
/// half drawn in, standardised. A diverged run is then bad, not the only thing
/// that matters.
struct Warp {
    log: bool,
    median: f64,
    /// Beyond the median, so much is as much as everything below it.
    reach: Option<f64>,
    centre: f64,
    scale: f64,
    share: f64,
}

impl Warp {
    fn of(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite() && high > low) {
            return None;
        }
        let log = low > 0.0 && high >= 2.0 * low;
        let logged = |value: f64| if log { value.ln() } else { value };
        let mut sorted: Vec<f64> = values.iter().map(|&value| logged(value)).collect();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[(sorted.len() - 1) / 2];
        // Two good runs that happen to be close must not make all others alike.
        let upper = sorted[(sorted.len() - 1) * 3 / 4];
        let reach = (median - sorted[0]).max(0.25 * (upper - sorted[0]));
        let reach = Some(reach).filter(|reach| *reach > 0.0);
        let mut warp = Self {
            log,
            median,
            reach,
            centre: 0.0,
            scale: 1.0,
            share: 1.0,
        };
        let drawn: Vec<f64> = values.iter().map(|&value| warp.to(value)).collect();
        let count = drawn.len() as f64;
        warp.centre = drawn.iter().sum::<f64>() / count;
        let squares: f64 = drawn.iter().map(|y| (y - warp.centre).powi(2)).sum();
        warp.scale = (squares / count).sqrt();
        warp.share = if log {
            warp.scale
        } else if low > 0.0 || high < 0.0 {
            warp.scale / low.abs()
        } else {
            warp.scale / (high - low)
        };
        (warp.scale > 0.0 && warp.scale.is_finite()).then_some(warp)
    }

    fn to(&self, value: f64) -> f64 {
        let value = match self.log {
            true => value.max(f64::MIN_POSITIVE).ln(),
            false => value,
        };
        let drawn = match self.reach {
            Some(reach) if value > self.median => {
                self.median + reach * ((value - self.median) / reach).ln_1p().min(MOST_DRAWN)
            }
            _ => value,
        };
        (drawn - self.centre) / self.scale
    }

    fn back(&self, warped: f64) -> f64 {
        let drawn = self.centre + warped * self.scale;
        let value = match self.reach {
            Some(reach) if drawn > self.median => {
                self.median + reach * ((drawn - self.median) / reach).exp_m1()
            }
            _ => drawn,
        };
        if self.log { value.exp() } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_warped_and_come_back() {
        for values in [
            vec![1.0, 2.0, 3.0, 400.0],
            vec![-3.0, -2.5, 0.0, 1e9],
            vec![-0.97, -0.96, -0.95, -0.1],
        ] {
            let warp = Warp::of(&values).unwrap();
            // How bad the worst are decides nothing: those come back no worse.
            for &value in &values {
                let back = warp.back(warp.to(value));
                let exact = (back - value).abs() <= 1e-9 * value.abs().max(1.0);
                assert!(
                    exact || (back < value && value > values[1]),
                    "{back}, {value}"
                );
            }
            let warped: Vec<f64> = values.iter().map(|&value| warp.to(value)).collect();
            assert!(
                warped.windows(2).all(|pair| pair[0] <= pair[1]),
                "{warped:?}"
            );
            assert!(warped.iter().all(|value| value.abs() < 3.0), "{warped:?}");
        }
        assert!(Warp::of(&[2.0, 2.0]).is_none(), "nothing differs");
    }

    /// Five runs of a wave: the process knows them, and knows that it does not
    /// know what lies between.
    #[test]
    fn a_few_runs_leave_the_rest_uncertain() {
        let space = Space::new(vec![Dimension::Range {
            low: 0.0,
            high: 10.0,
            log: false,
            whole: false,
        }]);
        let runs: Vec<Configuration> = [0.5, 2.0, 4.5, 7.0, 9.5].map(|x| vec![x]).to_vec();
        let values: Vec<f64> = runs.iter().map(|run| run[0].sin()).collect();
        let rows: Vec<&Configuration> = runs.iter().collect();
        let fitted = Surrogate::fit(&space, &rows, &values, &[true; 5], 1).unwrap();
        for (run, value) in runs.iter().zip(&values) {
            let found = fitted.expected(&space, run);
            assert!((found - value).abs() < 0.3, "{found} for {value}");
        }
        // Where a run was bad nothing is to be gained; between two runs there may be.
        let bad = fitted.believe(&space, &[2.0]).improvement;
        let unseen = fitted.believe(&space, &[5.7]).improvement;
        assert!(unseen > 3.0 * bad, "{unseen} and {bad}");
    }
}
