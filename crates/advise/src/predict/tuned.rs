//! Hyper-parameters by grid search.

use super::FitPredictorError;
use paceline_learn::{Dataset, Learner, Metric, Threads, grid_search, grouped_k_fold};

/// Folds of the search, as in paper 003, section 4.3.1; replicates of a trial stay
/// together.
const FOLDS: usize = 5;
/// The search sees at most so many rows, of whole trials: what shape of a learner
/// suits a table shows in part of it.
const MOST_ROWS: usize = 400;

/// Which of the candidates predicts rows of other trials with the least squared
/// error; the first one if there are too few trials to tell.
pub(crate) fn best(
    candidates: &[&dyn Learner],
    table: &Dataset,
    trials: &[usize],
    seed: u64,
    threads: Threads,
) -> Result<usize, FitPredictorError> {
    let rows = thinned(trials, MOST_ROWS);
    let (table, trials) = match rows.len() == trials.len() {
        true => (table.clone(), trials.to_vec()),
        false => {
            let own = rows.iter().map(|&row| trials[row]).collect();
            (table.select(&rows), own)
        }
    };
    let mut distinct = trials.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let Ok(folds) = grouped_k_fold(&trials, distinct.len().min(FOLDS), seed) else {
        return Ok(0);
    };
    let metric = Metric::MeanSquaredError;
    match grid_search(candidates, &table, &folds, metric, seed, threads) {
        Ok(found) => Ok(found.best()),
        // A fold may leave too few rows; the fit to all of them says what is wrong.
        Err(_) => Ok(0),
    }
}

/// Rows of every so-manieth trial, at most about `most` of them.
pub(crate) fn thinned(trials: &[usize], most: usize) -> Vec<usize> {
    let every = trials.len().div_ceil(most).max(1);
    let mut distinct = trials.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    (0..trials.len())
        .filter(|&row| {
            let place = distinct.binary_search(&trials[row]);
            place.is_ok_and(|place| place.is_multiple_of(every))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_trials_are_kept() {
        let trials: Vec<usize> = (0..1000).map(|row| row / 4).collect();
        let rows = thinned(&trials, 400);
        assert!(rows.len() > 300 && rows.len() <= 400, "{}", rows.len());
        assert!(rows.chunks(4).all(|four| four[3] == four[0] + 3));
        assert_eq!(thinned(&trials, 1000).len(), 1000);
    }
}
