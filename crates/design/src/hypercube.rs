//! Latin hypercube designs with points kept far apart.

use crate::design::Points;
use crate::factor::{Factor, Factors, Setting};
use paceline_numeric::Chance;

/// How many coordinate differences a search may evaluate. It bounds the time
/// of a plan whatever its size; large designs are searched less.
const WORK: usize = 24_000_000;
/// The most exchanges tried, whatever the size.
const MAX_EXCHANGES: usize = 60_000;
/// The power of the distances in the criterion; a high power weighs the
/// smallest distance most.
const POWER: i32 = 10;
/// The first threshold, in shares of an average pair of points.
const START_THRESHOLD: f64 = 15.0;

/// A maximin Latin hypercube of so many runs.
///
/// Each column is a permutation of the strata. Exchanging two entries of a
/// column is tried again and again to lower φ, the sum over all pairs of points of d^(−20),
/// whose minimum approaches the greatest smallest distance (Morris and
/// Mitchell 1995, "Exploratory designs for computational experiments",
/// *Journal of Statistical Planning and Inference* 43).
pub(crate) fn latin_hypercube(factors: &Factors, runs: usize, chance: &mut Chance) -> Points {
    let mut columns: Vec<Vec<u32>> = factors
        .iter()
        .map(|_| {
            let mut strata: Vec<u32> = (0..runs as u32).collect();
            chance.shuffle(&mut strata);
            strata
        })
        .collect();
    // With one factor every permutation is the same set of points.
    if factors.len() > 1 {
        spread(&mut columns, runs, chance);
    }
    let mut points = Points::with_capacity(factors.len(), runs);
    for row in 0..runs {
        let strata = columns.iter().map(|column| column[row]);
        points.push(
            factors
                .iter()
                .zip(strata)
                .map(|(f, stratum)| setting(f, stratum, runs)),
        );
    }
    points
}

/// Exchanges strata by threshold accepting (Dueck and Scheuer 1990): a change
/// for the worse is taken while it stays below a threshold that falls to zero,
/// which leads out of the poor designs where pure descent would stop.
fn spread(columns: &mut [Vec<u32>], runs: usize, chance: &mut Chance) {
    let exchanges = (WORK / (2 * runs * columns.len())).min(MAX_EXCHANGES);
    // Where there are too few exchanges to come back from a detour, and the
    // criterion itself would cost too much, only improvements are taken.
    let anneal = exchanges >= 10 * runs;
    let mut current = if anneal {
        criterion(columns, runs)
    } else {
        0.0
    };
    let pairs = (runs * (runs - 1) / 2) as f64;
    let mut best = (current, columns.to_vec());
    for step in 0..exchanges {
        let column = chance.below(columns.len());
        let a = chance.below(runs);
        let b = chance.below(runs);
        if a == b {
            continue;
        }
        let left = 1.0 - step as f64 / exchanges as f64;
        let threshold = START_THRESHOLD * left * left * current / pairs;
        let gain = exchange_gain(columns, column, a, b);
        if gain > -threshold {
            columns[column].swap(a, b);
            if anneal {
                current -= gain;
            }
            if current < best.0 {
                best.0 = current;
                best.1.clone_from_slice(columns);
            }
        }
    }
    if anneal {
        columns.clone_from_slice(&best.1);
    }
}

/// The sum over all pairs of points of their squared distance to −[`POWER`].
fn criterion(columns: &[Vec<u32>], runs: usize) -> f64 {
    let mut sum = 0.0;
    for a in 0..runs {
        for b in 0..a {
            let square: f64 = columns.iter().map(|c| square(c[a], c[b])).sum();
            sum += square.powi(-POWER);
        }
    }
    sum
}

fn square(x: u32, y: u32) -> f64 {
    (f64::from(x) - f64::from(y)).powi(2)
}

/// By how much the criterion falls when rows `a` and `b` exchange their strata.
fn exchange_gain(columns: &[Vec<u32>], column: usize, a: usize, b: usize) -> f64 {
    let moved = &columns[column];
    let mut gain = 0.0;
    for other in 0..moved.len() {
        if other == a || other == b {
            continue;
        }
        let (mut from_a, mut from_b) = (0.0, 0.0);
        for strata in columns {
            from_a += square(strata[a], strata[other]);
            from_b += square(strata[b], strata[other]);
        }
        let shift = square(moved[b], moved[other]) - square(moved[a], moved[other]);
        gain += from_a.powi(-POWER) + from_b.powi(-POWER);
        gain -= (from_a + shift).powi(-POWER) + (from_b - shift).powi(-POWER);
    }
    gain
}

/// The middle of a stratum of a numeric factor given by its two ends; where
/// levels are listed or have no order, the strata are shared evenly among them.
fn setting(factor: &Factor, stratum: u32, runs: usize) -> Setting {
    if factor.is_categorical() || factor.levels().len() > 2 {
        let level = stratum as usize * factor.levels().len() / runs;
        Setting::Level(level as u32)
    } else {
        factor.at((2.0 * f64::from(stratum) + 1.0) / runs as f64 - 1.0)
    }
}
