//! Predictors judged by trials that are set aside once.

use super::compare::{Score, score};
use super::fitted::Kind;
use super::predictor::{Choice, LEAST_TRIALS, PredictOptions, Predictor, PredictorError, Table};
use super::support::Interval;
use crate::runs::Runs;
use paceline_learn::grouped_k_fold;

/// How predictors do on trials that were set aside.
#[derive(Debug, Clone, PartialEq)]
pub struct Holdout {
    /// Trials that were learned from.
    pub learned_from: usize,
    /// Trials that were set aside.
    pub set_aside: usize,
    /// Every predictor that was tried, simplest first.
    pub lines: Vec<HeldOut>,
}

/// One predictor on the trials that were set aside.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// The predictor.
    pub kind: Kind,
    /// How well it predicts them, or why it cannot be fitted.
    pub outcome: Result<Score, PredictorError>,
    /// The hyper-parameters that its grid search settled on.
    pub settled: Option<String>,
}

/// Sets a share of the trials aside, whole, drawn by the seed, and judges
/// predictors that were fitted to the others: all of them, or the one that is
/// asked for.
pub fn hold_out(
    runs: &Runs,
    response: &str,
    options: &PredictOptions,
    share: f64,
) -> Result<Holdout, PredictorError> {
    let table = Table::read(runs, response, options)?;
    let refused = || PredictorError::Holdout(share);
    if !(share > 0.0 && share < 1.0) {
        return Err(refused());
    }
    let aside = ((share * table.trials as f64).round() as usize).max(1);
    if table.trials < aside + LEAST_TRIALS {
        return Err(refused());
    }
    // One fold per trial, in an order that follows from the seed.
    let trials = table.canonical_trials(runs);
    let parts = grouped_k_fold(&trials, table.trials, options.seed).map_err(|_| refused())?;
    let mut test: Vec<usize> = parts[..aside]
        .iter()
        .flat_map(|fold| fold.test().iter().copied())
        .collect();
    test.sort_unstable();
    let train: Vec<usize> = (0..runs.rows())
        .filter(|row| test.binary_search(row).is_err())
        .collect();
    let own = |rows: &[usize]| {
        let demands = options.demands.as_ref();
        demands.map(|demands| rows.iter().map(|&row| demands[row]).collect())
    };
    let (known, asked) = (runs.select(&train), runs.select(&test));
    let kinds: Vec<Kind> = match options.choice {
        Choice::Auto => Kind::ALL.to_vec(),
        Choice::Only(kind) => vec![kind],
    };
    let lines = kinds.into_iter().map(|kind| {
        let options = PredictOptions {
            choice: Choice::Only(kind),
            compare: false,
            demands: own(&train),
            ..options.clone()
        };
        let fitted = Predictor::fit(&known, response, &options);
        HeldOut {
            kind,
            settled: fitted.as_ref().ok().and_then(Predictor::settled),
            outcome: fitted.map(|fitted| judged(&fitted, &asked, options.coverage)),
        }
    });
    Ok(Holdout {
        learned_from: table.trials - aside,
        set_aside: aside,
        lines: lines.collect(),
    })
}

fn judged(predictor: &Predictor, runs: &Runs, coverage: f64) -> Score {
    let truth = runs.response(predictor.response()).unwrap_or_default();
    let beliefs = predictor.beliefs(runs.settings());
    let predicted: Vec<f64> = beliefs.iter().map(|belief| belief.value()).collect();
    let pairs = truth.iter().zip(&beliefs);
    let inside = pairs.filter(|(y, belief)| {
        match predictor.interval(belief, coverage).interval {
            Interval::Known { low, high } => (low..=high).contains(*y),
            // What is not promised is not broken.
            Interval::NotKnown(_) => true,
        }
    });
    let covered = inside.count() as f64 / truth.len() as f64;
    score(truth, &predicted, covered)
}
