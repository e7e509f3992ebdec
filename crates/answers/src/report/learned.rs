//! What the runs teach about configurations that were not run.

use crate::runs_table::threads;
use paceline_advise::predict::{
    Comparison, FactorImportance, PredictOptions, Predictor, Score, importances,
};
use paceline_advise::runs::Runs;

/// The seed of folds and learners.
const SEED: u64 = 1;

/// How well a response is predicted.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// How the predictors compare, and which is used.
    pub comparison: Comparison,
    /// The coverage at which intervals were judged.
    pub coverage: f64,
    /// Each run as `(actual, predicted)`, predicted without its own trial.
    pub points: Vec<(f64, f64)>,
    /// How much the prediction rests on each factor, the greatest first.
    pub importances: Vec<FactorImportance>,
}

impl Forecast {
    /// The score of the procedure that is used.
    #[must_use]
    pub fn score(&self) -> Option<&Score> {
        self.comparison.score()
    }
}

/// A predictor of a response, or why there is none.
pub(super) struct Learned {
    pub(super) response: String,
    pub(super) predictor: Result<Predictor, String>,
}

/// Fits every response.
pub(super) fn fit(runs: &Runs, responses: &[String], coverage: f64) -> Vec<Learned> {
    let options = options(coverage);
    let fitted = responses.iter().map(|response| Learned {
        response: response.clone(),
        predictor: Predictor::fit(runs, response, &options).map_err(|error| error.to_string()),
    });
    fitted.collect()
}

fn options(coverage: f64) -> PredictOptions {
    PredictOptions {
        compare: true,
        coverage,
        seed: SEED,
        threads: threads(),
        ..PredictOptions::default()
    }
}

impl Learned {
    /// How well the response is foreseen for configurations that were not
    /// learned from.
    pub(super) fn forecast(&self, runs: &Runs, coverage: f64) -> Result<Forecast, String> {
        let predictor = self.predictor.as_ref().map_err(Clone::clone)?;
        Ok(Forecast {
            comparison: predictor.comparison().clone(),
            coverage,
            points: predictor.comparison().points.clone(),
            importances: importances(
                runs,
                predictor.response(),
                predictor.kind(),
                &options(coverage),
            )
            .unwrap_or_default(),
        })
    }
}
