//! The number of epochs as a factor of the table.

use super::over_epochs::Trace;
use crate::pick::{CandidatesError, Space, candidates};
use crate::predict::{Role, Roles};
use crate::runs::{Configuration, FactorColumn, FactorKind, Runs, RunsError, key};
use std::collections::BTreeMap;

/// What a run reported after each epoch: the responses so far, in the order of
/// the names given to [`epochs_as_factor`].
#[derive(Debug, Clone, PartialEq)]
pub struct EpochRecord {
    /// The run, as a row of the table.
    pub run: usize,
    /// The epoch, counted from one.
    pub epoch: f64,
    /// The responses after this epoch, as accuracy and seconds since the start.
    pub responses: Vec<f64>,
}

/// The name of the factor, unless the table has one that plays this role.
const EPOCHS: &str = "epochs";

/// A table in which the number of epochs is a factor, the last one: one row for
/// each run and epoch. Runs whose other settings are equal are one trial, so that
/// no fold is judged by another epoch of what it has learned from.
pub fn epochs_as_factor(
    runs: &Runs,
    roles: &Roles,
    responses: &[&str],
    records: &[EpochRecord],
) -> Result<Runs, RunsError> {
    let replaced = roles.position(Role::Epochs);
    let kept = || (0..runs.factors().len()).filter(|&at| Some(at) != replaced);
    let mut factors: Vec<(String, FactorColumn)> = kept()
        .map(|at| {
            let factor = runs.factors().at(at);
            let values = records.iter().map(|record| runs.settings()[record.run][at]);
            let column = match factor.kind() {
                FactorKind::Numeric { .. } => FactorColumn::Numeric(values.collect()),
                FactorKind::Categorical { levels } => {
                    FactorColumn::Words(values.map(|code| levels[code as usize].clone()).collect())
                }
            };
            (factor.name().to_owned(), column)
        })
        .collect();
    let name = replaced.map_or(EPOCHS, |at| runs.factors().at(at).name());
    let epochs = records.iter().map(|record| record.epoch).collect();
    factors.push((name.to_owned(), FactorColumn::Numeric(epochs)));
    let columns = responses.iter().enumerate().map(|(at, name)| {
        let values = records.iter();
        // A record without the response is refused as not finite, with its row.
        let values = values.map(|record| record.responses.get(at).copied().unwrap_or(f64::NAN));
        ((*name).to_owned(), values.collect())
    });
    let trials = match replaced {
        None => runs.trials().to_vec(),
        Some(_) => runs.trials_by(&kept().collect::<Vec<_>>()),
    };
    let trials = records.iter().map(|record| trials[record.run]);
    Runs::new(factors, columns.collect(), Some(trials.collect()))
}

/// The records of at most so many epochs, spaced by ratio, the first and the last
/// of every run included: a curve moves most where the epochs are few, and every
/// epoch of a long run would say the same again.
pub fn thin_epochs(records: &[EpochRecord], most: usize) -> Vec<EpochRecord> {
    let mut all: Vec<f64> = records.iter().map(|record| record.epoch).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let most = most.max(2);
    let kept = spaced(&all, most);
    let last = |run: usize| {
        let own = records.iter().filter(|record| record.run == run);
        own.map(|record| record.epoch)
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let mut ends: Vec<Option<f64>> = Vec::new();
    records
        .iter()
        .filter(|record| {
            if ends.len() <= record.run {
                ends.resize(record.run + 1, None);
            }
            let end = *ends[record.run].get_or_insert_with(|| last(record.run));
            record.epoch == end || kept.contains(&record.epoch)
        })
        .cloned()
        .collect()
}

/// At most so many of ascending values above zero, evenly by ratio, both ends
/// included.
fn spaced(all: &[f64], most: usize) -> Vec<f64> {
    if all.len() <= most {
        return all.to_vec();
    }
    let (low, high) = (all[0].ln(), all[all.len() - 1].ln());
    let mut kept: Vec<f64> = (0..most)
        .map(|i| {
            let wanted = low + (high - low) * i as f64 / (most - 1) as f64;
            let nearest = all
                .iter()
                .copied()
                .min_by(|a, b| (a.ln() - wanted).abs().total_cmp(&(b.ln() - wanted).abs()));
            nearest.expect("there are more values than may be kept")
        })
        .collect();
    kept.dedup();
    kept
}

/// The course of a response over the epochs for every combination of the other
/// factors of a table of [`epochs_as_factor`], in order of first appearance;
/// `None` if there is no such response.
pub fn traces(long: &Runs, response: &str) -> Option<Vec<(Configuration, Trace)>> {
    let values = long.response(response)?;
    let at = long.factors().len() - 1;
    let mut places: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
    let mut traces: Vec<(Configuration, Trace)> = Vec::new();
    for (setting, &value) in long.settings().iter().zip(values) {
        let others = &setting[..at];
        let place = *places.entry(key(others)).or_insert_with(|| {
            traces.push((others.to_vec(), Trace::default()));
            traces.len() - 1
        });
        traces[place].1.epochs.push(setting[at]);
        traces[place].1.values.push(value);
    }
    Some(traces)
}

/// The most numbers of epochs that are considered of a configuration.
const MOST_EPOCHS: usize = 100;

/// The configurations of a table of [`epochs_as_factor`] with every number of
/// epochs up to `most`, or a hundred of them spaced by ratio. If the epochs are
/// given they are not varied.
pub fn candidates_over_epochs(
    long: &Runs,
    given: &[(usize, f64)],
    space: Space,
    most: f64,
) -> Result<Vec<Configuration>, CandidatesError> {
    let at = long.factors().len() - 1;
    if given.iter().any(|&(known, _)| known == at) {
        return candidates(long, given, space);
    }
    let all: Vec<f64> = (1..=most.max(1.0) as usize)
        .map(|epoch| epoch as f64)
        .collect();
    let epochs = spaced(&all, MOST_EPOCHS);
    let space = match space {
        Space::Observed => space,
        Space::Grid { most } => Space::Grid {
            most: (most / epochs.len()).max(1),
        },
    };
    let mut fixed = given.to_vec();
    fixed.push((at, 1.0));
    let bases = candidates(&long.with_level(at, 1.0), &fixed, space)?;
    let each = bases.into_iter().flat_map(|base| {
        epochs.iter().map(move |&epoch| {
            let mut configuration = base.clone();
            configuration[at] = epoch;
            configuration
        })
    });
    Ok(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(epochs: Option<Vec<f64>>) -> Runs {
        let mut factors = vec![(
            "batch".to_owned(),
            FactorColumn::Numeric(vec![64.0, 128.0, 64.0]),
        )];
        if let Some(epochs) = epochs {
            factors.insert(0, ("n_epochs".to_owned(), FactorColumn::Numeric(epochs)));
        }
        let times = vec![("time".to_owned(), vec![30.0, 20.0, 31.0])];
        Runs::new(factors, times, None).unwrap()
    }

    fn records(last: u32) -> Vec<EpochRecord> {
        let each = (0..3).flat_map(|run| (1..=last).map(move |epoch| (run, f64::from(epoch))));
        each.map(|(run, epoch)| EpochRecord {
            run,
            epoch,
            responses: vec![0.5 + 0.1 * epoch, 10.0 * epoch],
        })
        .collect()
    }

    fn long(runs: &Runs, last: u32) -> Runs {
        let roles = Roles::by_name(runs.factors());
        epochs_as_factor(runs, &roles, &["accuracy", "time"], &records(last)).unwrap()
    }

    #[test]
    fn epochs_become_a_factor_and_keep_their_trial() {
        let long = long(&runs(None), 2);
        assert_eq!(long.rows(), 6);
        assert_eq!(long.trials(), [0, 0, 1, 1, 0, 0]);
        assert_eq!(long.settings()[3], [128.0, 2.0]);
    }

    #[test]
    fn runs_that_differ_in_their_epochs_alone_are_one_trial() {
        let short = runs(Some(vec![5.0, 5.0, 10.0]));
        assert_eq!(short.trials(), [0, 1, 2]);
        let long = long(&short, 2);
        assert_eq!(long.trials(), [0, 0, 1, 1, 0, 0]);
        assert_eq!(long.factors().at(1).name(), "n_epochs");
    }

    #[test]
    fn long_runs_are_thinned_by_ratio_and_keep_their_ends() {
        let mut all = records(100);
        // The second run ended early.
        all.retain(|record| record.run != 1 || record.epoch <= 37.0);
        let thin = thin_epochs(&all, 5);
        let of = |run: usize| -> Vec<f64> {
            let own = thin.iter().filter(|record| record.run == run);
            own.map(|record| record.epoch).collect()
        };
        assert_eq!(of(0), [1.0, 3.0, 10.0, 32.0, 100.0]);
        assert_eq!(of(1), [1.0, 3.0, 10.0, 32.0, 37.0]);
        assert_eq!(thin_epochs(&all[..4], 9), all[..4]);
    }

    #[test]
    fn every_number_of_epochs_is_a_candidate_unless_it_is_given() {
        let long = long(&runs(None), 3);
        let found = |given: &[(usize, f64)], most| {
            candidates_over_epochs(&long, given, Space::Observed, most).unwrap()
        };
        let four = found(&[(0, 64.0)], 4.0);
        assert_eq!(four, [[64.0, 1.0], [64.0, 2.0], [64.0, 3.0], [64.0, 4.0]]);
        assert_eq!(found(&[], 4.0).len(), 8);
        assert_eq!(found(&[(1, 3.0)], 4.0), [[64.0, 3.0], [128.0, 3.0]]);
        let many = found(&[(0, 64.0)], 1e4);
        assert!(many.len() <= 100 && many.iter().any(|at| at[1] == 1e4));
        let grid = candidates_over_epochs(&long, &[], Space::Grid { most: 200 }, 10.0).unwrap();
        assert!(grid.len() > 100 && grid.len() <= 200, "{}", grid.len());
    }
}
