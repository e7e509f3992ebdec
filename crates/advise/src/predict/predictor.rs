//! A fitted predictor with its intervals.

use super::FitPredictorError;
use super::compare::{Comparison, Judging, OutOfFold, choose, judge};
use super::conformal::{IntervalMethod, Residuals};
use super::demand::{Demand, DemandSource};
use super::encode::{Encoding, Style};
use super::fitted::{Fitted, Kind};
use super::region::{Outside, Region, widening};
use super::role::Roles;
use super::scale::Scale;
use super::training::Training;
use crate::runs::Runs;
use paceline_learn::Threads;
use thiserror::Error;

/// The fewest trials from which errors on unseen trials can be judged.
pub(crate) const LEAST_TRIALS: usize = 5;

/// Which predictor to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The one that predicts unseen trials best.
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
    /// The coverage at which the comparison judges intervals; between 0 and 1.
    pub coverage: f64,
    /// Which factor plays which part; found by name if `None`.
    pub roles: Option<Roles>,
    /// What each run of the table used, for a response that is its duration;
    /// ignored unless all of it is usable.
    pub demands: Option<Vec<Demand>>,
    /// The seed of folds, forests and restarts.
    pub seed: u64,
    /// How many threads may be used; results do not depend on it.
    pub threads: Threads,
}

impl Default for PredictOptions {
    fn default() -> Self {
        Self {
            choice: Choice::Auto,
            coverage: 0.95,
            roles: None,
            demands: None,
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
    /// A coverage or confidence is not a probability.
    #[error("the coverage {0} is not between 0 and 1")]
    Coverage(f64),
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

/// A predictor of one response, with its errors on trials it has not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictor {
    response: String,
    fitted: Fitted,
    residuals: Residuals,
    local: Local,
    region: Region,
    comparison: Comparison,
    source: DemandSource,
    threads: Threads,
}

/// What is believed of a response before a run: a centre and how wide its errors
/// are there, on the response's scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Belief {
    centre: f64,
    width: f64,
    scale: Scale,
    /// How the configuration lies outside what was observed; empty inside.
    pub outside: Vec<Outside>,
}

/// A predicted value with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The predicted value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// How the configuration lies outside what was observed; empty inside.
    pub outside: Vec<Outside>,
}

impl Predictor {
    /// Fits a response of a table.
    pub fn fit(
        runs: &Runs,
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
        check_probability(options.coverage)?;
        let mut trials = runs.trials().to_vec();
        trials.sort_unstable();
        trials.dedup();
        if trials.len() < LEAST_TRIALS {
            return Err(PredictorError::TooFewTrials {
                found: trials.len(),
            });
        }
        let roles = options.roles.clone();
        let roles = roles.unwrap_or_else(|| Roles::by_name(runs.factors()));
        let data = Training::new(
            runs.factors(),
            &roles,
            runs.settings(),
            values,
            runs.trials(),
        );
        let demands = options.demands.clone().filter(|demands| {
            demands.len() == runs.rows() && demands.iter().all(Demand::is_usable)
        });
        let source = match demands {
            Some(_) => DemandSource::Samples,
            None => DemandSource::Table,
        };
        let data = data.with_demands(demands);
        let judging = Judging {
            coverage: options.coverage,
            seed: options.seed,
            threads: options.threads,
        };
        let (comparison, found) = match options.choice {
            Choice::Auto => choose(&data, judging).map_err(PredictorError::None)?,
            Choice::Only(kind) => {
                judge(kind, &data, judging).map_err(|error| PredictorError::Fit { kind, error })?
            }
        };
        let kind = comparison.chosen;
        let fitted = Fitted::fit(kind, &data, options.seed, options.threads)
            .map_err(|error| PredictorError::Fit { kind, error })?;
        let (residuals, local) = errors(&data, &found, &fitted, trials.len(), options.coverage);
        Ok(Self {
            response: response.to_owned(),
            fitted,
            residuals,
            local,
            region: Region::of(runs.factors(), runs.settings()),
            comparison,
            source,
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

    /// Whether intervals rest on ranks or on Student's t.
    pub fn method(&self, coverage: f64) -> IntervalMethod {
        self.residuals.method(coverage)
    }

    /// Whether intervals are wider where the model is less sure, or where
    /// neighbouring trials were missed by more.
    pub fn is_locally_scaled(&self) -> bool {
        self.local != Local::Even
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
        let values = self.fitted.predict_all(&at, self.threads);
        at.iter()
            .zip(values)
            .map(|(configuration, value)| {
                let outside = self.region.outside(configuration);
                let local = self.local.width(&self.fitted, configuration);
                Belief {
                    centre: scale.to(value),
                    width: local * widening(&outside),
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

    /// A belief as a value and an interval of that coverage.
    pub fn interval(&self, belief: &Belief, coverage: f64) -> Prediction {
        let half = self.residuals.half_width(coverage) * belief.width;
        Prediction {
            value: belief.scale.back(belief.centre),
            low: belief.scale.back(belief.centre - half),
            high: belief.scale.back(belief.centre + half),
            outside: belief.outside.clone(),
        }
    }

    /// The probability that a run's response is at most `limit`.
    pub fn at_most(&self, belief: &Belief, limit: f64) -> f64 {
        let bound = (belief.scale.to(limit) - belief.centre) / belief.width;
        self.residuals.at_most(bound)
    }

    /// The probability that a run's response is at least `limit`.
    pub fn at_least(&self, belief: &Belief, limit: f64) -> f64 {
        let bound = (belief.scale.to(limit) - belief.centre) / belief.width;
        self.residuals.at_least(bound)
    }
}

impl Belief {
    /// The predicted value.
    pub fn value(&self) -> f64 {
        self.scale.back(self.centre)
    }
}

pub(crate) fn check_probability(value: f64) -> Result<(), PredictorError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(PredictorError::Coverage(value))
    }
}

/// How far neighbouring trials were missed, relative to all.
#[derive(Debug, Clone, PartialEq)]
struct Difficulty {
    encoding: Encoding,
    /// Features of each trial and how far it was missed, relative to all.
    trials: Vec<(Vec<f64>, f64)>,
}

/// How many trials around a configuration say how hard it is.
const NEIGHBOURS: usize = 8;

impl Difficulty {
    fn new(data: &Training<'_>, residuals: &[f64]) -> Option<Self> {
        let absolute = Training {
            response: residuals.iter().map(|r| r.abs()).collect(),
            ..data.clone()
        };
        let (rows, missed) = absolute.means(|r| r);
        let typical = missed.iter().sum::<f64>() / missed.len() as f64;
        if rows.len() < 3 * NEIGHBOURS || typical <= 0.0 || !typical.is_finite() {
            return None;
        }
        let encoding = Encoding::new(data.factors, data.roles, &rows, Style::Logarithmic, false);
        let trials = rows
            .iter()
            .zip(missed)
            .map(|(row, missed)| (encoding.features(row), missed / typical))
            .collect();
        Some(Self { encoding, trials })
    }

    /// Half from the neighbours other than the configuration itself, half from
    /// all trials: eight residuals alone would scatter too much.
    fn at(&self, configuration: &[f64]) -> f64 {
        let here = self.encoding.features(configuration);
        let mut near: Vec<(f64, f64)> = self
            .trials
            .iter()
            .map(|(features, missed)| {
                let squares = features.iter().zip(&here).map(|(a, b)| (a - b) * (a - b));
                (squares.sum::<f64>(), *missed)
            })
            .filter(|(distance, _)| *distance > 1e-18)
            .collect();
        let count = NEIGHBOURS.min(near.len());
        near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
        let local = near[..count].iter().map(|(_, missed)| missed).sum::<f64>() / count as f64;
        0.5 + 0.5 * local
    }
}

/// What errors are measured in.
#[derive(Debug, Clone, PartialEq)]
enum Local {
    /// The same everywhere.
    Even,
    /// How far neighbouring trials were missed.
    Neighbours(Difficulty),
    /// How wide the model itself takes its error to be.
    Model,
}

impl Local {
    fn width(&self, fitted: &Fitted, configuration: &[f64]) -> f64 {
        match self {
            Self::Even => 1.0,
            Self::Neighbours(difficulty) => difficulty.at(configuration),
            Self::Model => fitted.deviation(configuration).unwrap_or(1.0),
        }
    }
}

/// Residuals in the measure that makes intervals narrowest on average. The
/// neighbours must make them narrower by a twentieth at least, since eight of them
/// say little.
///
/// A residual is measured by the model that predicted it, a new run by the final
/// model, which has seen more: where it has seen the very setting, it is surer,
/// and so is the interval (normalised conformal prediction, Papadopoulos and
/// others 2011).
fn errors(
    data: &Training<'_>,
    found: &OutOfFold,
    fitted: &Fitted,
    trials: usize,
    coverage: f64,
) -> (Residuals, Local) {
    let freedom = trials as f64 - 1.0;
    let mut best = (
        Residuals::new(found.residuals.clone(), freedom),
        Local::Even,
    );
    let mut narrowest = best.0.half_width(coverage);
    let difficulty = Difficulty::new(data, &found.residuals);
    let by_neighbours = difficulty.map(|difficulty| {
        let widths = data.rows.iter().map(|row| difficulty.at(row)).collect();
        (widths, Local::Neighbours(difficulty), 0.95)
    });
    let by_model: Option<Vec<f64>> = found.deviations.iter().copied().collect();
    let by_model = by_model.map(|widths| (widths, Local::Model, 1.0));
    for (widths, local, enough) in by_neighbours.into_iter().chain(by_model) {
        if widths
            .iter()
            .any(|&width: &f64| width <= 0.0 || !width.is_finite())
        {
            continue;
        }
        let pairs = found.residuals.iter().zip(&widths);
        let scaled = Residuals::new(pairs.map(|(r, width)| r / width).collect(), freedom);
        let final_widths = data.rows.iter().map(|row| local.width(fitted, row));
        let mean = final_widths.sum::<f64>() / data.rows.len() as f64;
        let width = scaled.half_width(coverage) * mean;
        if width < enough * narrowest {
            narrowest = width;
            best = (scaled, local);
        }
    }
    best
}
