//! Latin hypercube designs with points kept far apart.

use crate::design::Points;
use crate::factor::{Factor, Factors, Setting};
use crate::seed::Chance;

/// How many coordinate differences a search may evaluate. It bounds the time
/// of a plan whatever its size; large designs are searched less.
const WORK: usize = 24_000_000;
/// The most exchanges tried, whatever the size.
const MAX_EXCHANGES: usize = 60_000;
/// The power of the distances in the criterion; a high power weighs the
/// smallest distance most.
const POWER: i32 = 10;

/// A maximin Latin hypercube of so many runs.
///
/// Each column is a permutation of the strata. Two entries of a column are
/// exchanged when that lowers φ, the sum over all pairs of points of d^(−20),
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

fn spread(columns: &mut [Vec<u32>], runs: usize, chance: &mut Chance) {
    let exchanges = (WORK / (2 * runs * columns.len())).min(MAX_EXCHANGES);
    for _ in 0..exchanges {
        let column = chance.below(columns.len());
        let a = chance.below(runs);
        let b = chance.below(runs);
        if a != b && exchange_gain(columns, column, a, b) > 0.0 {
            columns[column].swap(a, b);
        }
    }
}

/// By how much the criterion falls when rows `a` and `b` exchange their strata.
fn exchange_gain(columns: &[Vec<u32>], column: usize, a: usize, b: usize) -> f64 {
    let moved = &columns[column];
    let square = |x: u32, y: u32| (f64::from(x) - f64::from(y)).powi(2);
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
