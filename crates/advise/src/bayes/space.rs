//! Where a search may look.

use crate::runs::{Configuration, key};
use paceline_numeric::Chance;
use std::collections::BTreeSet;

/// What one factor of a search may be. A value of a category is its number,
/// counted from zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Dimension {
    /// Names without an order, so many.
    Categories(usize),
    /// These numbers, ascending.
    Levels(Vec<f64>),
    /// Everything between two numbers.
    Range {
        /// The least value.
        low: f64,
        /// The greatest value.
        high: f64,
        /// Whether values lie evenly by their logarithm.
        log: bool,
        /// Whether values are whole.
        whole: bool,
    },
}

/// All configurations of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    dimensions: Vec<Dimension>,
}

/// At most so many configurations are listed; of larger spaces, and of ranges,
/// some are drawn.
const MOST_LISTED: usize = 2000;
/// How many are drawn from all over the space.
const DRAWN: usize = 500;
/// How many are drawn around each of the best so far, and how far away: the
/// deviation as a share of a factor's scale.
const NEAR: usize = 60;
const NEAR_DEVIATIONS: [f64; 3] = [0.12, 0.03, 0.008];

impl Space {
    /// A space of these dimensions.
    pub fn new(dimensions: Vec<Dimension>) -> Self {
        Self { dimensions }
    }

    /// The dimensions.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// How many configurations there are; `None` if a range has them without
    /// number.
    pub fn size(&self) -> Option<usize> {
        let sizes = self.dimensions.iter().map(|dimension| match dimension {
            Dimension::Categories(count) => Some(*count),
            Dimension::Levels(levels) => Some(levels.len()),
            Dimension::Range { low, high, .. } if low == high => Some(1),
            Dimension::Range {
                low,
                high,
                whole: true,
                ..
            } => Some((high - low) as usize + 1),
            Dimension::Range { .. } => None,
        });
        sizes
            .collect::<Option<Vec<usize>>>()
            .map(|sizes| sizes.into_iter().fold(1, usize::saturating_mul))
    }

    /// How many numbers describe a configuration to a model.
    pub(super) fn feature_groups(&self) -> usize {
        self.dimensions.len()
    }

    /// Where a value lies on its factor's scale, from 0 to 1.
    pub(super) fn unit(&self, at: usize, value: f64) -> f64 {
        let Some((low, high)) = self.ends(at) else {
            return value;
        };
        let part = if self.is_log(at) {
            (value.max(low) / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        if part.is_finite() { part } else { 0.0 }
    }

    /// How far apart two configurations are: squared, every factor's scale as 1.
    pub(super) fn apart(&self, a: &[f64], b: &[f64]) -> f64 {
        let factors = self.dimensions.iter().enumerate();
        let parts = factors.map(|(at, dimension)| match dimension {
            Dimension::Categories(_) => f64::from(u8::from(a[at] != b[at])),
            _ => (self.unit(at, a[at]) - self.unit(at, b[at])).powi(2),
        });
        parts.sum()
    }

    fn ends(&self, at: usize) -> Option<(f64, f64)> {
        match &self.dimensions[at] {
            Dimension::Categories(_) => None,
            Dimension::Levels(levels) => Some((levels[0], levels[levels.len() - 1])),
            Dimension::Range { low, high, .. } => Some((*low, *high)),
        }
    }

    /// Whether differences are judged by ratios: where the user says so, and
    /// where values above zero span a factor of ten.
    fn is_log(&self, at: usize) -> bool {
        let said = matches!(self.dimensions[at], Dimension::Range { log: true, .. });
        let (low, high) = self.ends(at).unwrap_or((0.0, 0.0));
        said || low > 0.0 && high >= 10.0 * low
    }

    /// The value at a place of the factor's scale; of a list, the nearest level.
    fn value(&self, at: usize, unit: f64, by_ratio: bool) -> f64 {
        let unit = unit.clamp(0.0, 1.0);
        match &self.dimensions[at] {
            Dimension::Categories(count) => ((unit * *count as f64) as usize).min(count - 1) as f64,
            Dimension::Levels(levels) => {
                let index = (unit * levels.len() as f64) as usize;
                levels[index.min(levels.len() - 1)]
            }
            Dimension::Range {
                low, high, whole, ..
            } => {
                let value = if by_ratio {
                    low * (high / low).powf(unit)
                } else {
                    low + unit * (high - low)
                };
                // Four digits make a level that a person can type.
                let short: f64 = format!("{value:.3e}").parse().unwrap_or(value);
                let typed = if *whole { value.round() } else { short };
                typed.clamp(*low, *high)
            }
        }
    }

    /// The point of that number in a sequence that fills the space evenly: the
    /// centre first, then multiples of powers of the generalised golden ratio
    /// (Roberts 2018). Every run of `count` points has every category of a factor
    /// with `count` of them.
    pub(super) fn spread(&self, number: usize, turn: u64) -> Configuration {
        let numeric = self
            .dimensions
            .iter()
            .filter(|dimension| !matches!(dimension, Dimension::Categories(_)));
        let ratio = golden(numeric.count().max(1));
        let mut power = 1.0;
        // Of the factors so far; none yet.
        let mut round = 0;
        (0..self.dimensions.len())
            .map(|at| match &self.dimensions[at] {
                Dimension::Categories(count) => {
                    // After as many points as it takes all factors so far to come
                    // round together, this one is a step ahead: every pair meets.
                    let ahead = match round {
                        0 => 0,
                        round => number / common_multiple(round, *count),
                    };
                    round = common_multiple(round.max(1), *count);
                    ((number + ahead + turn as usize % count) % count) as f64
                }
                _ => {
                    power *= ratio;
                    let unit = (0.5 + number as f64 * power).fract();
                    self.value(at, unit, self.is_log(at))
                }
            })
            .collect()
    }

    /// Configurations to choose from that are not `taken`: all of a small space;
    /// else some from everywhere, some around each of `best`.
    pub(super) fn candidates(
        &self,
        taken: &BTreeSet<Vec<u64>>,
        best: &[&Configuration],
        chance: &mut Chance,
    ) -> Vec<Configuration> {
        let mut seen = taken.clone();
        let mut fresh = Vec::new();
        let mut add = |configuration: Configuration| {
            if seen.insert(key(&configuration)) {
                fresh.push(configuration);
            }
        };
        if self.size().is_some_and(|size| size <= MOST_LISTED) {
            self.all().into_iter().for_each(&mut add);
            return fresh;
        }
        for number in 0..DRAWN {
            add((0..self.dimensions.len())
                .map(|at| {
                    // A wide range that is said to be linear is looked at both ways.
                    let both = self.is_log(at)
                        && matches!(self.dimensions[at], Dimension::Range { log: false, .. });
                    let by_ratio = self.is_log(at) && !(both && number % 2 == 0);
                    self.value(at, chance.unit(), by_ratio)
                })
                .collect());
        }
        for &centre in best {
            for deviation in NEAR_DEVIATIONS {
                for _ in 0..NEAR {
                    add(self.near(centre, deviation, chance));
                }
            }
            self.other_categories(centre).into_iter().for_each(&mut add);
        }
        fresh
    }

    fn all(&self) -> Vec<Configuration> {
        let mut rows: Vec<Configuration> = vec![Vec::new()];
        for dimension in &self.dimensions {
            let values: Vec<f64> = match dimension {
                Dimension::Categories(count) => (0..*count).map(|at| at as f64).collect(),
                Dimension::Levels(levels) => levels.clone(),
                Dimension::Range { low, high, .. } => {
                    let count = (high - low) as usize + 1;
                    (0..count).map(|step| low + step as f64).collect()
                }
            };
            rows = rows
                .iter()
                .flat_map(|row| {
                    values.iter().map(|&value| {
                        let mut longer = row.clone();
                        longer.push(value);
                        longer
                    })
                })
                .collect();
        }
        rows
    }

    fn near(&self, centre: &[f64], deviation: f64, chance: &mut Chance) -> Configuration {
        let chosen = chance.below(self.dimensions.len());
        (0..self.dimensions.len())
            .map(|at| {
                if at != chosen && chance.unit() < 0.5 {
                    return centre[at];
                }
                match &self.dimensions[at] {
                    Dimension::Categories(_) if chance.unit() < 0.7 => centre[at],
                    Dimension::Categories(count) => chance.below(*count) as f64,
                    Dimension::Levels(levels) => {
                        let here = levels.partition_point(|level| *level < centre[at]);
                        let steps = (deviation * levels.len() as f64).max(1.0);
                        let moved = here as f64 + steps * chance.normal();
                        levels[(moved.round().max(0.0) as usize).min(levels.len() - 1)]
                    }
                    Dimension::Range { .. } => {
                        let unit = self.unit(at, centre[at]) + deviation * chance.normal();
                        self.value(at, unit, self.is_log(at))
                    }
                }
            })
            .collect()
    }

    /// The same configuration with every other category of one factor.
    fn other_categories(&self, centre: &[f64]) -> Vec<Configuration> {
        let mut others = Vec::new();
        for (at, dimension) in self.dimensions.iter().enumerate() {
            let Dimension::Categories(count) = dimension else {
                continue;
            };
            others.extend((0..*count).map(|category| {
                let mut other = centre.to_vec();
                other[at] = category as f64;
                other
            }));
        }
        others
    }
}

fn common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

/// The root above one of `x^(n + 1) = x + 1`, inverted.
fn golden(numbers: usize) -> f64 {
    let mut root = 2.0_f64;
    for _ in 0..60 {
        root = (1.0 + root).powf(1.0 / (numbers as f64 + 1.0));
    }
    1.0 / root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        Space::new(vec![
            Dimension::Categories(3),
            Dimension::Range {
                low: 1e-4,
                high: 1.0,
                log: true,
                whole: false,
            },
            Dimension::Categories(2),
            Dimension::Range {
                low: 1.0,
                high: 64.0,
                log: false,
                whole: true,
            },
        ])
    }

    #[test]
    fn the_spread_begins_in_the_middle_and_has_every_pair_of_categories() {
        let space = space();
        assert_eq!(space.spread(0, 0), [0.0, 0.01, 0.0, 8.0]);
        for turn in 0..4 {
            let pairs: BTreeSet<(u64, u64)> = (0..6)
                .map(|number| space.spread(number, turn))
                .map(|at| (at[0] as u64, at[2] as u64))
                .collect();
            assert_eq!(pairs.len(), 6);
        }
    }

    #[test]
    fn candidates_are_fresh_lie_inside_and_surround_the_best() {
        let space = space();
        let best = vec![1.0, 0.02, 1.0, 16.0];
        let taken: BTreeSet<Vec<u64>> = [key(&best)].into();
        let found = space.candidates(&taken, &[&best], &mut Chance::new(1, 0));
        let keys: BTreeSet<Vec<u64>> = found.iter().map(|at| key(at)).collect();
        assert_eq!(keys.len(), found.len(), "none twice");
        assert!(!keys.contains(&key(&best)));
        for at in &found {
            assert!((0.0..3.0).contains(&at[0]) && (0.0..2.0).contains(&at[2]));
            assert!((1e-4..=1.0).contains(&at[1]) && (1.0..=64.0).contains(&at[3]));
            assert_eq!(at[3].fract(), 0.0);
        }
        let close = found
            .iter()
            .filter(|at| (at[1] / 0.02).ln().abs() < 0.1 && at[0] == 1.0);
        assert!(close.count() > 30);
    }

    #[test]
    fn a_small_space_is_listed_whole() {
        let space = Space::new(vec![
            Dimension::Categories(3),
            Dimension::Levels(vec![1.0, 2.0, 8.0]),
        ]);
        let found = space.candidates(&BTreeSet::new(), &[], &mut Chance::new(1, 0));
        assert_eq!((found.len(), space.size()), (9, Some(9)));
    }
}
