//! Predictors of a response: laws of performance and learners, compared
//! honestly, with intervals that hold.

mod averaged;
mod compare;
mod conformal;
mod demand;
mod encode;
mod errors;
mod fitted;
mod holdout;
mod importance;
mod linear;
mod mixture;
mod operational;
mod penalised;
mod predictor;
mod process;
mod region;
mod role;
mod scale;
mod scaling;
mod support;
mod training;
mod trees;
mod tuned;

pub use compare::{Compared, Comparison, Score};
pub use conformal::IntervalMethod;
pub(crate) use conformal::Residuals;
pub use demand::{Demand, DemandSource};
pub use fitted::Kind;
pub use holdout::{HeldOut, Holdout, hold_out};
pub use importance::{FactorImportance, importances};
pub use predictor::{Belief, Choice, PredictOptions, Prediction, Predictor, PredictorError};
pub use predictor::{LEAST_CONFIDENCE, MOST_CONFIDENCE, is_confidence};
pub use region::{Outside, OutsideHow};
pub use role::{AssignRoleError, Role, Roles};
pub use scale::Scale;
pub use scaling::ScalingLaw;
pub use support::{Interval, NotKnown, Support};

pub(crate) use encode::places;

pub(crate) use process::{Process, Spread};
pub(crate) use training::Training;

use crate::least_squares::NnlsError;
use paceline_learn::{DatasetError, FeaturesError, FitError, ParameterError};
use thiserror::Error;

/// Why a predictor cannot be fitted to a table.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum FitPredictorError {
    /// There are fewer runs than the predictor needs.
    #[error("{found} runs are too few; it needs at least {needed}")]
    TooFewRuns {
        /// The least number of runs.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// There are fewer distinct settings than the predictor needs.
    #[error("{found} distinct settings are too few; it needs at least {needed}")]
    TooFewSettings {
        /// The least number of distinct settings.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// There are more distinct settings than the predictor can take.
    #[error("{found} distinct settings are too many; it takes at most {most}")]
    TooManySettings {
        /// The greatest number of distinct settings.
        most: usize,
        /// How many there are.
        found: usize,
    },
    /// A law of scaling needs several sizes of cluster.
    #[error("{found} different numbers of machines are too few; it needs at least {needed}")]
    TooFewMachineCounts {
        /// The least number of different counts.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// No factor plays a part that the law needs.
    #[error("no factor is known to be the {0}")]
    NoRole(Role),
    /// The law is of times, which are above zero.
    #[error("some values are not above zero")]
    NotPositive,
    /// No bounded solution was found.
    #[error("its coefficients could not be estimated")]
    NoSolution,
    /// The non-negative least squares failed.
    #[error(transparent)]
    Nnls(#[from] NnlsError),
    /// The learner refused the data.
    #[error(transparent)]
    Learner(#[from] FitError),
    /// The learner refused its own parameters.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The encoded settings overflowed.
    #[error(transparent)]
    Features(#[from] FeaturesError),
    /// The encoded settings and the response do not match.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
}
