//! What a search has not looked at.

use super::space::{Dimension, Space};
use crate::runs::{Configuration, key};
use std::collections::BTreeSet;

/// What a search that stops has not looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Unexplored {
    /// How many configurations there are; `None` if a range has them without
    /// number.
    pub configurations: Option<usize>,
    /// How many of them were run.
    pub run: usize,
    /// Categories that were never run: the factor's position, and the number of
    /// the category.
    pub categories: Vec<(usize, usize)>,
    /// The widest stretch without a run of every numeric factor, where it is a
    /// quarter of the factor's scale or more.
    pub stretches: Vec<Stretch>,
    /// What was not run and is likeliest to be better than the best, where a model
    /// says so.
    pub promising: Option<Promising>,
}

/// Values of a factor that no run had.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// The factor's position.
    pub factor: usize,
    /// From this value, which was run unless it is the factor's least.
    pub from: f64,
    /// To this value, which was run unless it is the factor's greatest.
    pub to: f64,
}

/// A configuration that might have been better.
#[derive(Debug, Clone, PartialEq)]
pub struct Promising {
    /// The configuration.
    pub configuration: Configuration,
    /// The probability that it is better than the best of the runs.
    pub better: f64,
}

/// A stretch narrower than this share of a factor's scale is not told.
const WIDE: f64 = 0.25;

impl Unexplored {
    pub(super) fn of(space: &Space, runs: &[&Configuration], promising: Option<Promising>) -> Self {
        let keys: BTreeSet<Vec<u64>> = runs.iter().map(|run| key(run)).collect();
        let mut categories = Vec::new();
        let mut stretches = Vec::new();
        for (factor, dimension) in space.dimensions().iter().enumerate() {
            let mut values: Vec<f64> = runs.iter().map(|run| run[factor]).collect();
            match dimension {
                Dimension::Categories(count) => {
                    let never = (0..*count).filter(|&at| !values.contains(&(at as f64)));
                    categories.extend(never.map(|at| (factor, at)));
                }
                Dimension::Levels(levels) => {
                    values.extend(levels.first().into_iter().chain(levels.last()));
                    let gap = widest(space, factor, values);
                    // Between two neighbours of a list there is nothing to run.
                    let between = |gap: &Stretch| {
                        let never = |level: &&f64| {
                            let run = runs.iter().any(|run| run[factor] == **level);
                            (gap.from..=gap.to).contains(*level) && !run
                        };
                        levels.iter().any(|level| never(&level))
                    };
                    stretches.extend(gap.filter(between));
                }
                Dimension::Range { low, high, .. } => {
                    values.extend([*low, *high]);
                    stretches.extend(widest(space, factor, values));
                }
            }
        }
        Self {
            configurations: space.size(),
            run: keys.len(),
            categories,
            stretches,
            promising,
        }
    }
}

fn widest(space: &Space, factor: usize, mut values: Vec<f64>) -> Option<Stretch> {
    values.sort_by(f64::total_cmp);
    let share = |pair: &[f64]| space.unit(factor, pair[1]) - space.unit(factor, pair[0]);
    let pair = values
        .windows(2)
        .max_by(|a, b| share(a).total_cmp(&share(b)))?;
    (share(pair) >= WIDE).then(|| Stretch {
        factor,
        from: pair[0],
        to: pair[1],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_and_wide_stretches_without_a_run_are_named() {
        let space = Space::new(vec![
            Dimension::Categories(3),
            Dimension::Range {
                low: 0.001,
                high: 1.0,
                log: true,
                whole: false,
            },
            Dimension::Levels(vec![1.0, 2.0, 4.0]),
        ]);
        let runs = [
            vec![0.0, 0.001, 1.0],
            vec![2.0, 0.004, 2.0],
            vec![0.0, 0.02, 4.0],
        ];
        let rows: Vec<&Configuration> = runs.iter().collect();
        let found = Unexplored::of(&space, &rows, None);
        assert_eq!(found.categories, [(0, 1)]);
        let stretch = Stretch {
            factor: 1,
            from: 0.02,
            to: 1.0,
        };
        assert_eq!(found.stretches, [stretch]);
        assert_eq!((found.configurations, found.run), (None, 3));
    }
}
