//! A fitted predictor with its intervals.

use super::FitPredictorError;
use super::compare::{self, Comparison, Judging};
use super::conformal::IntervalMethod;
use super::demand::{Demand, DemandSource};
use super::errors::Errors;
use super::fitted::{Fitted, Kind};
use super::mixture::Mixture;
use super::region::{Outside, Region, widening};
use super::role::Roles;
use super::scale::Scale;
use super::support::{Interval, Reach, Support, reason};
use super::training::Training;
use crate::runs::Runs;
use paceline_learn::Threads;
use thiserror::Error;

/// The fewest trials from which errors on unseen trials can be judged.
pub(crate) const LEAST_TRIALS: usize = 5;

/// Which predictor to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The averaged Gaussian process where it suits the table, otherwise the one
    /// that predicts unseen trials best.
    #[default]
    Auto,
    /// This one.
    Only(Kind),
}

/// How predictors are fitted and judged.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictOptions {
    /// Which predictor to use.
    pub choice: Choice,
    /// Whether all predictors are fitted and compared, which takes much longer
    /// than fitting the one that is used. It changes no prediction.
    pub compare: bool,
    /// The coverage at which the comparison judges intervals.
    pub coverage: f64,
    /// Which factor plays which part; found by name if `None`.
    pub roles: Option<Roles>,
    /// What each run of the table used, for a response that is its duration;
    /// ignored unless all of it is usable.
    pub demands: Option<Vec<Demand>>,
    /// What the response can be at all; told by its name if `None`.
    pub support: Option<Support>,
    /// How many times as wide beliefs are as the table alone would have them, for
    /// one whose earlier promises turned out too confident; at least one.
    pub widen: f64,
    /// The seed of chains, folds, forests and restarts.
    pub seed: u64,
    /// How many threads may be used; results do not depend on it.
    pub threads: Threads,
}

impl Default for PredictOptions {
    fn default() -> Self {
        Self {
            choice: Choice::Auto,
            compare: false,
            coverage: 0.95,
            roles: None,
            demands: None,
            support: None,
            widen: 1.0,
            seed: 1,
            threads: Threads::ONE,
        }
    }
}

/// Why there is no predictor.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PredictorError {
    /// The table has no such response.
    #[error("there is no response `{name}`; the responses are {known}")]
    UnknownResponse {
        /// What was asked for.
        name: String,
        /// All responses, separated by commas.
        known: String,
    },
    /// Errors on unseen trials cannot be judged.
    #[error("{found} trials are too few to judge a prediction; it needs at least {LEAST_TRIALS}")]
    TooFewTrials {
        /// How many trials there are.
        found: usize,
    },
    /// A coverage is not one that a table of runs can speak of.
    #[error("the coverage {0} is not between {LEAST_CONFIDENCE} and {MOST_CONFIDENCE}")]
    Coverage(f64),
    /// A share of the trials cannot be held out.
    #[error(
        "a share of {0} cannot be held out; it must be above 0 and below 1, and leave at \
             least {LEAST_TRIALS} trials to learn from"
    )]
    Holdout(f64),
    /// The named predictor cannot be fitted.
    #[error("{kind}: {error}")]
    Fit {
        /// The predictor.
        kind: Kind,
        /// Why not.
        #[source]
        error: FitPredictorError,
    },
    /// No predictor can be fitted.
    #[error("no predictor fits this table: {0}")]
    None(#[source] FitPredictorError),
}

/// The least and the greatest probability that may be asked for. Below, an
/// interval says nothing; above, no table of runs supports it.
pub const LEAST_CONFIDENCE: f64 = 0.01;
/// See [`LEAST_CONFIDENCE`].
pub const MOST_CONFIDENCE: f64 = 0.9999;

/// Whether a coverage or confidence may be asked for.
pub fn is_confidence(value: f64) -> bool {
    (LEAST_CONFIDENCE..=MOST_CONFIDENCE).contains(&value)
}

/// A predictor of one response, with its errors on trials it has not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictor {
    response: String,
    fitted: Fitted,
    errors: Errors,
    region: Region,
    reach: Reach,
    support: Support,
    comparison: Comparison,
    source: DemandSource,
    widen: f64,
    runs: usize,
    threads: Threads,
}

/// What is believed of a response before a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Belief {
    /// On the model's scale.
    centre: f64,
    spread: Spread,
    /// What the response is predicted to be.
    value: f64,
    scale: Scale,
    /// How the configuration lies outside what was observed; empty inside.
    pub outside: Vec<Outside>,
}

#[derive(Debug, Clone, PartialEq)]
enum Spread {
    /// Errors as those of other runs, so many times as wide.
    Residuals {
        width: f64,
    },
    Mixture(Mixture),
}

/// A predicted value with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The predicted value; `None` where the runs say nothing about it.
    pub value: Option<f64>,
    /// Where a run's response lies with the asked probability.
    pub interval: Interval,
    /// How the configuration lies outside what was observed; empty inside.
    pub outside: Vec<Outside>,
}

impl Predictor {
    /// Fits a response of a table. The order of its runs does not matter.
    pub fn fit(
        runs: &Runs,
        response: &str,
        options: &PredictOptions,
    ) -> Result<Self, PredictorError> {
        let table = Table::read(runs, response, options)?;
        let data = table.training(runs);
        let judging = Judging {
            coverage: options.coverage,
            seed: options.seed,
            threads: options.threads,
        };
        let fit = |kind: Kind| {
            Fitted::fit(kind, &data, options.seed, options.threads)
                .map_err(|error| PredictorError::Fit { kind, error })
        };
        let unsuited = compare::unsuited(&data);
        let asked = options.choice == Choice::Only(Kind::Gp);
        let averaged = match options.choice {
            Choice::Only(Kind::Gp) => Some(fit(Kind::Gp)?),
            Choice::Auto if unsuited.is_none() => fit(Kind::Gp).ok(),
            _ => None,
        };
        let (comparison, fitted, errors) = match (averaged, options.choice) {
            (Some(fitted), _) => {
                let comparison = match &fitted {
                    Fitted::Gp(_) if options.compare && !asked => {
                        compare::all(&data, judging, None).map_err(PredictorError::None)?
                    }
                    Fitted::Gp(model) => compare::averaged(model, &data, options.coverage, asked),
                    _ => unreachable!("a predictor is fitted as the kind that was asked for"),
                };
                (comparison, fitted, Errors::Posterior)
            }
            (None, Choice::Only(kind)) => {
                let (comparison, found) = compare::judge(kind, &data, judging)
                    .map_err(|error| PredictorError::Fit { kind, error })?;
                let fitted = fit(kind)?;
                let errors = Errors::of(&data, &found, &fitted, table.trials, options.coverage);
                (comparison, fitted, errors)
            }
            (None, Choice::Auto) => {
                let why = unsuited.unwrap_or("gp cannot be fitted");
                let comparison =
                    compare::all(&data, judging, Some(why)).map_err(PredictorError::None)?;
                let kind = comparison.chosen;
                let (_, found) = compare::judge(kind, &data, judging)
                    .map_err(|error| PredictorError::Fit { kind, error })?;
                let fitted = fit(kind)?;
                let errors = Errors::of(&data, &found, &fitted, table.trials, options.coverage);
                (comparison, fitted, errors)
            }
        };
        Ok(Self {
            response: response.to_owned(),
            reach: Reach::of(&data.response, fitted.scale()),
            support: options
                .support
                .unwrap_or_else(|| Support::of(response, &data.response)),
            runs: data.rows.len(),
            fitted,
            errors,
            region: Region::of(runs.factors(), runs.settings()),
            comparison,
            source: table.source,
            widen: options.widen.max(1.0),
            threads: options.threads,
        })
    }

    /// The response that is predicted.
    pub fn response(&self) -> &str {
        &self.response
    }

    /// The predictor that is used.
    pub fn kind(&self) -> Kind {
        self.comparison.chosen
    }

    /// How the predictors compare and why this one is used.
    pub fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// What intervals rest on.
    pub fn method(&self, coverage: f64) -> IntervalMethod {
        match &self.errors {
            Errors::OutOfFold { residuals, .. } => residuals.method(coverage),
            Errors::Posterior => IntervalMethod::Posterior,
        }
    }

    /// The hyper-parameters that a grid search settled on, in words; `None` for
    /// predictors without one.
    pub fn settled(&self) -> Option<String> {
        self.fitted.settled()
    }

    /// How many times as wide beliefs are as the table alone would have them.
    pub fn widened(&self) -> f64 {
        self.widen
    }

    /// How much of the belief is that the spread of runs changes along the
    /// factors; `None` for predictors that do not consider it.
    pub fn unequal_spread(&self) -> Option<f64> {
        match &self.fitted {
            Fitted::Gp(model) => Some(model.unequal_share()),
            _ => None,
        }
    }

    /// How busy the queue model says the disk is; `None` for other predictors.
    pub fn disk_utilisation(&self, configuration: &[f64]) -> Option<f64> {
        match &self.fitted {
            Fitted::Queue(model) => Some(model.disk_utilisation(configuration)),
            _ => None,
        }
    }

    /// Where the queue model has its demands from; `None` if it could not be
    /// fitted or was not tried.
    pub fn demand_source(&self) -> Option<DemandSource> {
        let mut lines = self.comparison.compared.iter();
        let fitted = lines.any(|line| line.kind == Kind::Queue && line.outcome.is_ok());
        fitted.then_some(self.source)
    }

    /// The law that a scaling predictor settled on.
    pub fn scaling_law(&self) -> Option<super::ScalingLaw> {
        match &self.fitted {
            Fitted::Scaling(model) => Some(model.law()),
            _ => None,
        }
    }

    /// What is believed of each configuration.
    pub fn beliefs<C: AsRef<[f64]>>(&self, configurations: &[C]) -> Vec<Belief> {
        let at: Vec<&[f64]> = configurations.iter().map(AsRef::as_ref).collect();
        let scale = self.fitted.scale();
        let spreads: Vec<(f64, Spread)> = match (&self.fitted, &self.errors) {
            (Fitted::Gp(model), Errors::Posterior) => {
                let beliefs = model.beliefs(&at, self.threads).into_iter();
                beliefs
                    .map(|(centre, mixture)| (centre, Spread::Mixture(mixture)))
                    .collect()
            }
            (fitted, errors) => {
                let values = fitted.predict_all(&at, self.threads);
                let pairs = at.iter().zip(values);
                pairs
                    .map(|(configuration, value)| {
                        let width = errors.width(fitted, configuration);
                        (scale.to(value), Spread::Residuals { width })
                    })
                    .collect()
            }
        };
        let pairs = at.iter().zip(spreads);
        pairs
            .map(|(configuration, (centre, spread))| {
                let outside = self.region.outside(configuration);
                let wider = widening(&outside) * self.widen;
                Belief {
                    value: self.support.clamp(scale.back(self.reach.clamp(centre))),
                    spread: spread.widened(centre, wider),
                    centre,
                    scale,
                    outside,
                }
            })
            .collect()
    }

    /// Predicts one configuration with an interval of that coverage.
    pub fn predict(&self, configuration: &[f64], coverage: f64) -> Prediction {
        let belief = &self.beliefs(&[configuration])[0];
        self.interval(belief, coverage)
    }

    /// Where a run lies with that probability, cut off where the runs say nothing
    /// any more: finite even where an interval is not known.
    pub fn bounds(&self, belief: &Belief, coverage: f64) -> (f64, f64) {
        let (low, high) = self.ends(belief, coverage);
        let back = |value: f64| {
            let value = belief.scale.back(self.reach.clamp(value));
            self.support.clamp(value)
        };
        (back(low), back(high))
    }

    /// On the model's scale.
    fn ends(&self, belief: &Belief, coverage: f64) -> (f64, f64) {
        match &belief.spread {
            Spread::Residuals { width } => {
                let half = self.errors.half_width(coverage) * width;
                (belief.centre - half, belief.centre + half)
            }
            Spread::Mixture(mixture) => {
                let tail = 0.5 * (1.0 - coverage);
                (mixture.quantile(tail), mixture.quantile(1.0 - tail))
            }
        }
    }

    /// A belief as a value and an interval of that coverage.
    pub fn interval(&self, belief: &Belief, coverage: f64) -> Prediction {
        let (low, high) = self.ends(belief, coverage);
        let back = |value: f64| self.support.clamp(belief.scale.back(value));
        let interval = if self.reach.supports(low, high) {
            Interval::Known {
                low: back(low),
                high: back(high),
            }
        } else {
            Interval::NotKnown(reason(&belief.outside))
        };
        let known = self.reach.supports(belief.centre, belief.centre);
        Prediction {
            value: known.then_some(belief.value),
            interval,
            outside: belief.outside.clone(),
        }
    }

    /// The probability that a run's response is at most `limit`.
    pub fn at_most(&self, belief: &Belief, limit: f64) -> f64 {
        if let Some(certain) = self.support.at_most(limit) {
            return certain;
        }
        let bound = belief.scale.to(limit);
        match &belief.spread {
            Spread::Residuals { width } => self.errors.at_most((bound - belief.centre) / width),
            Spread::Mixture(mixture) => self.supported(mixture.cdf(bound)),
        }
    }

    /// The probability that a run's response is at least `limit`.
    pub fn at_least(&self, belief: &Belief, limit: f64) -> f64 {
        if let Some(certain) = self.support.at_least(limit) {
            return certain;
        }
        let bound = belief.scale.to(limit);
        match &belief.spread {
            Spread::Residuals { width } => self.errors.at_least((bound - belief.centre) / width),
            Spread::Mixture(mixture) => self.supported(1.0 - mixture.cdf(bound)),
        }
    }

    /// A probability as far as so many runs support it: choosing the best of many
    /// configurations favours those whose probability is overstated (Smith and
    /// Winkler 2006), so that a quarter of a run is taken to say nothing.
    fn supported(&self, probability: f64) -> f64 {
        const SILENT: f64 = 0.25;
        let silent = SILENT / (self.runs as f64 + SILENT);
        probability * (1.0 - silent) + 0.5 * silent
    }
}

impl Belief {
    /// The predicted value; at the edge of what the runs support if it lies beyond.
    pub fn value(&self) -> f64 {
        self.value
    }
}

impl Spread {
    fn widened(self, centre: f64, factor: f64) -> Self {
        match self {
            Self::Residuals { width } => Self::Residuals {
                width: width * factor,
            },
            Self::Mixture(mixture) if factor == 1.0 => Self::Mixture(mixture),
            Self::Mixture(mixture) => Self::Mixture(mixture.stretched(centre, centre, factor)),
        }
    }
}

/// What is fitted, as it was asked for.
pub(super) struct Table<'a> {
    values: &'a [f64],
    roles: Roles,
    demands: Option<Vec<Demand>>,
    source: DemandSource,
    /// How many trials there are.
    pub(super) trials: usize,
}

impl<'a> Table<'a> {
    pub(super) fn read(
        runs: &'a Runs,
        response: &str,
        options: &PredictOptions,
    ) -> Result<Self, PredictorError> {
        let values = runs.response(response).ok_or_else(|| {
            let known: Vec<&str> = runs.response_names().collect();
            PredictorError::UnknownResponse {
                name: response.to_owned(),
                known: known.join(", "),
            }
        })?;
        if !is_confidence(options.coverage) {
            return Err(PredictorError::Coverage(options.coverage));
        }
        let mut trials = runs.trials().to_vec();
        trials.sort_unstable();
        trials.dedup();
        if trials.len() < LEAST_TRIALS {
            return Err(PredictorError::TooFewTrials {
                found: trials.len(),
            });
        }
        let roles = options.roles.clone();
        let demands = options.demands.clone().filter(|demands| {
            demands.len() == runs.rows() && demands.iter().all(Demand::is_usable)
        });
        Ok(Self {
            values,
            roles: roles.unwrap_or_else(|| Roles::by_name(runs.factors())),
            source: match demands {
                Some(_) => DemandSource::Samples,
                None => DemandSource::Table,
            },
            demands,
            trials: trials.len(),
        })
    }

    /// The trial of every run, numbered in an order that follows from the runs
    /// alone.
    pub(super) fn canonical_trials(&self, runs: &Runs) -> Vec<usize> {
        let data = Training::new(
            runs.factors(),
            &self.roles,
            runs.settings(),
            self.values,
            runs.trials(),
        );
        data.canonical_trials()
    }

    pub(super) fn training<'t>(&'t self, runs: &'t Runs) -> Training<'t> {
        let data = Training::new(
            runs.factors(),
            &self.roles,
            runs.settings(),
            self.values,
            runs.trials(),
        );
        data.with_demands(self.demands.clone()).canonical()
    }
}
