//! Predictors of responses: the one way in which they are fitted, whoever asks.

use crate::error::Explained;
use crate::promises::Learned;
use crate::results::{Demands, LearnError, Results, following};
use paceline_advise::Threads;
use paceline_advise::curve::OverEpochs;
use paceline_advise::predict::{
    Choice, FactorImportance, Holdout, LEAST_CONFIDENCE, MOST_CONFIDENCE, PredictOptions,
    Predictor, PredictorError, Roles, hold_out, importances, is_confidence,
};
use paceline_advise::runs::Runs;

/// How predictors are fitted and judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitting {
    /// Which predictor to use.
    pub predictor: Choice,
    /// How often an interval is to hold the truth.
    pub coverage: f64,
    /// The seed of folds and learners.
    pub seed: u64,
}

impl Fitting {
    /// The seed unless the user says otherwise.
    pub const SEED: u64 = 1;
}

/// Why a response has no predictor.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Nothing can be learned from the results.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// No predictor can be fitted.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
}

impl Explained for FitError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Learn(error) => error.hint(),
            Self::Predictor(_) => None,
        }
    }
}

/// A coverage or confidence that no table of runs can speak of.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{name} {value} is not between {LEAST_CONFIDENCE} and {MOST_CONFIDENCE}")]
pub struct ProbabilityError {
    name: &'static str,
    value: f64,
}

impl Explained for ProbabilityError {
    fn hint(&self) -> Option<String> {
        Some("a usual value is 0.95; more than 0.9999 no table of runs supports".to_owned())
    }
}

/// Refuses a probability that no table of runs can speak of; `name` is the option.
pub(crate) fn check_probability(name: &'static str, value: f64) -> Result<(), ProbabilityError> {
    match is_confidence(value) {
        true => Ok(()),
        false => Err(ProbabilityError { name, value }),
    }
}

/// What predictors learn from.
pub(crate) struct Predictors<'a> {
    results: &'a Results,
    runs: &'a Runs,
    demands: Demands,
    /// How each response goes on with the epochs, if their number is a factor.
    shapes: &'a [(String, OverEpochs)],
    fitting: Fitting,
    learned: Vec<Learned>,
    compare: bool,
}

impl<'a> Predictors<'a> {
    /// From runs with a row each.
    pub(crate) fn new(
        results: &'a Results,
        runs: &'a Runs,
        fitting: Fitting,
    ) -> Result<Self, LearnError> {
        let roles = results.roles(runs.factors())?;
        Ok(Self {
            demands: results.demands(&roles),
            results,
            runs,
            shapes: &[],
            learned: results.learned(fitting.coverage),
            fitting,
            compare: false,
        })
    }

    /// From runs with a row per epoch.
    pub(crate) fn over_epochs(
        results: &'a Results,
        runs: &'a Runs,
        shapes: &'a [(String, OverEpochs)],
        fitting: Fitting,
    ) -> Self {
        Self {
            results,
            runs,
            // Samples are of whole runs and not of their epochs.
            demands: Demands::Unknown("the number of epochs is a factor".to_owned()),
            shapes,
            learned: results.learned(fitting.coverage),
            fitting,
            compare: false,
        }
    }

    /// With all predictors fitted and compared, for those who want to see how they
    /// do. It takes longer and changes no prediction.
    pub(crate) fn comparing(mut self) -> Self {
        self.compare = true;
        self
    }

    /// Fits a response.
    pub(crate) fn fit(&self, response: &str) -> Result<Predictor, FitError> {
        Ok(Predictor::fit(
            self.runs,
            response,
            &self.options(response)?,
        )?)
    }

    /// How well predictors do on trials that are set aside.
    pub(crate) fn hold_out(&self, response: &str, share: f64) -> Result<Holdout, FitError> {
        let options = self.options(response)?;
        Ok(hold_out(self.runs, response, &options, share)?)
    }

    /// How much a predictor rests on each factor.
    pub(crate) fn importances(
        &self,
        predictor: &Predictor,
    ) -> Result<Vec<FactorImportance>, FitError> {
        let response = predictor.response();
        let options = self.options(response)?;
        Ok(importances(
            self.runs,
            response,
            predictor.kind(),
            &options,
        )?)
    }

    fn options(&self, response: &str) -> Result<PredictOptions, LearnError> {
        Ok(PredictOptions {
            choice: self.fitting.predictor,
            compare: self.compare,
            coverage: self.fitting.coverage,
            roles: Some(self.roles(response)?),
            demands: self.results.demands_of(&self.demands, response),
            seed: self.fitting.seed,
            widen: self.widening(response),
            threads: threads(),
            ..PredictOptions::default()
        })
    }

    /// How much wider beliefs are for what earlier promises came to.
    fn widening(&self, response: &str) -> f64 {
        let of = |learned: &&Learned| learned.response == response;
        self.learned.iter().find(of).map_or(1.0, |one| one.factor)
    }

    /// Which factor plays which part for a response: a metric levels off with the
    /// epochs, a time grows.
    fn roles(&self, response: &str) -> Result<Roles, LearnError> {
        let roles = self.results.roles(self.runs.factors())?;
        let shape = self.shapes.iter().find(|(name, _)| name == response);
        Ok(match shape {
            Some((_, shape)) => following(roles, *shape),
            None => roles,
        })
    }

    /// Why the law of queues takes nothing from samples, where it does not.
    pub(crate) fn no_samples(&self) -> String {
        match &self.demands {
            Demands::Recorded(_) => "it is not the duration of the runs".to_owned(),
            Demands::Unknown(why) => why.clone(),
        }
    }
}

/// As many threads as the machine offers.
pub(crate) fn threads() -> Threads {
    Threads::available()
}
