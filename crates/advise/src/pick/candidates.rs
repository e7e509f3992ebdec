//! The configurations that are considered.

use crate::runs::{Configuration, Factor, FactorKind, Runs, key};
use std::collections::BTreeSet;
use thiserror::Error;

/// Which configurations are considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// The combinations that were run.
    Observed,
    /// A grid between the least and the greatest level of every numeric factor,
    /// as fine as this many configurations allow, the observed levels included.
    Grid {
        /// The most configurations.
        most: usize,
    },
}

/// Why there are no candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CandidatesError {
    /// More configurations were asked for than memory is meant for.
    #[error("a grid of {asked} configurations is too fine; at most {MOST_GRID} are considered")]
    TooFine {
        /// How many were asked for.
        asked: usize,
    },
    /// The observed levels alone make more combinations than allowed.
    #[error("the observed levels make {found} combinations; at most {most} are considered")]
    TooMany {
        /// How many combinations the observed levels make.
        found: usize,
        /// The most that were allowed.
        most: usize,
    },
}

/// The most configurations that a grid may have.
const MOST_GRID: usize = 1_000_000;

/// Points per numeric factor that are tried, finest first.
const RESOLUTIONS: [usize; 13] = [1000, 500, 250, 120, 60, 40, 30, 20, 15, 10, 7, 5, 3];

/// The configurations of a space in which the given factors have their values.
pub fn candidates(
    runs: &Runs,
    given: &[(usize, f64)],
    space: Space,
) -> Result<Vec<Configuration>, CandidatesError> {
    match space {
        Space::Observed => Ok(observed(runs, given)),
        Space::Grid { most } if most > MOST_GRID => Err(CandidatesError::TooFine { asked: most }),
        Space::Grid { most } => grid(runs, given, most),
    }
}

/// The combinations that were run with the given values; if there are none, the
/// combinations of the other factors with the given values put in.
fn observed(runs: &Runs, given: &[(usize, f64)]) -> Vec<Configuration> {
    let all = runs.distinct_settings();
    let matching: Vec<Configuration> = all
        .iter()
        .filter(|setting| given.iter().all(|&(at, value)| setting[at] == value))
        .cloned()
        .collect();
    if !matching.is_empty() {
        return matching;
    }
    let mut seen = BTreeSet::new();
    all.into_iter()
        .map(|mut setting| {
            for &(at, value) in given {
                setting[at] = value;
            }
            setting
        })
        .filter(|setting| seen.insert(key(setting)))
        .collect()
}

fn grid(
    runs: &Runs,
    given: &[(usize, f64)],
    most: usize,
) -> Result<Vec<Configuration>, CandidatesError> {
    let levels = |resolution: usize| -> Vec<Vec<f64>> {
        let factors = runs.factors().iter().enumerate();
        factors
            .map(
                |(at, factor)| match given.iter().find(|(fixed, _)| *fixed == at) {
                    Some(&(_, value)) => vec![value],
                    None => finer(factor, resolution),
                },
            )
            .collect()
    };
    let count = |levels: &[Vec<f64>]| {
        let sizes = levels.iter().map(Vec::len);
        sizes.fold(1_usize, usize::saturating_mul)
    };
    let finest = RESOLUTIONS
        .iter()
        .map(|&resolution| levels(resolution))
        .find(|levels| count(levels) <= most);
    let levels = match finest {
        Some(levels) => levels,
        None => {
            let coarsest = levels(0);
            let found = count(&coarsest);
            if found > most {
                return Err(CandidatesError::TooMany { found, most });
            }
            coarsest
        }
    };
    Ok(combinations(&levels))
}

fn combinations(levels: &[Vec<f64>]) -> Vec<Configuration> {
    let mut all = vec![Vec::with_capacity(levels.len())];
    for factor in levels {
        all = all
            .into_iter()
            .flat_map(|start: Configuration| {
                factor.iter().map(move |&value| {
                    let mut next = start.clone();
                    next.push(value);
                    next
                })
            })
            .collect();
    }
    all
}

/// The observed levels and about so many points between them: evenly spaced by
/// ratio if the levels are positive and span a factor of two, whole if they are.
fn finer(factor: &Factor, points: usize) -> Vec<f64> {
    let FactorKind::Numeric { levels, whole } = factor.kind() else {
        return factor.values();
    };
    let (low, high) = (levels[0], levels[levels.len() - 1]);
    if levels.len() < 2 || points < 2 {
        return levels.clone();
    }
    let by_ratio = low > 0.0 && high >= 2.0 * low;
    let mut values = levels.clone();
    values.extend((1..points - 1).map(|i| {
        let share = i as f64 / (points - 1) as f64;
        let value = if by_ratio {
            (low.ln() + share * (high / low).ln()).exp()
        } else {
            // A difference of the ends could overflow.
            (1.0 - share) * low + share * high
        };
        if *whole { value.round() } else { value }
    }));
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::FactorColumn;

    fn runs() -> Runs {
        let words = ["a", "b", "a"].map(str::to_owned).to_vec();
        Runs::new(
            vec![
                (
                    "batch".to_owned(),
                    FactorColumn::Numeric(vec![64.0, 512.0, 128.0]),
                ),
                ("word".to_owned(), FactorColumn::Words(words)),
            ],
            vec![("y".to_owned(), vec![1.0, 2.0, 3.0])],
            None,
        )
        .unwrap()
    }

    #[test]
    fn a_grid_is_as_fine_as_allowed_and_keeps_observed_levels() {
        let all = candidates(&runs(), &[(1, 1.0)], Space::Grid { most: 100 }).unwrap();
        assert!(all.len() > 50 && all.len() <= 100, "{}", all.len());
        assert!(all.iter().all(|at| at[1] == 1.0 && at[0].fract() == 0.0));
        for level in [64.0, 128.0, 512.0] {
            assert!(all.iter().any(|at| at[0] == level));
        }
        let error = candidates(&runs(), &[], Space::Grid { most: 5 }).unwrap_err();
        assert_eq!(error, CandidatesError::TooMany { found: 6, most: 5 });
    }

    #[test]
    fn observed_combinations_follow_what_is_given() {
        let observed =
            |given: &[(usize, f64)]| candidates(&runs(), given, Space::Observed).unwrap();
        assert_eq!(observed(&[(1, 0.0)]), [[64.0, 0.0], [128.0, 0.0]]);
        assert_eq!(observed(&[(0, 96.0)]), [[96.0, 0.0], [96.0, 1.0]]);
    }
}
