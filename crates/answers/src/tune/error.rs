//! Why a search cannot be made.

use crate::error::Explained;
use paceline_advise::bayes::BayesError;
use paceline_advise::climb::ClimbError;
use paceline_advise::halving::HalvingError;
use paceline_model::quantity::QuantityError;

/// Why a search cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The study lacks a factor that is named.
    #[error("{option}: the study has no factor `{name}`")]
    NoFactor {
        /// Where it is named.
        option: &'static str,
        /// What was asked for.
        name: String,
        /// The study's factors.
        known: Vec<String>,
    },
    /// A factor is named twice.
    #[error("--factor: `{0}` is named twice")]
    Twice(String),
    /// A factor that varies has no given level.
    #[error("--given: `{0}` is the factor that varies")]
    GivenVaries(String),
    /// A factor has no such level.
    #[error("--given: `{name}` has no level {level}")]
    NoLevel {
        /// The factor.
        name: String,
        /// What was asked for.
        level: String,
        /// The levels it has.
        known: String,
    },
    /// A factor neither varies nor has a given level.
    #[error("nothing says at which `{name}` to tune")]
    Open {
        /// The factor.
        name: String,
        /// The levels it has.
        known: String,
    },
    /// The study lacks a response that is named.
    #[error("{option}: the study has no response `{name}`")]
    NoResponse {
        /// Where it is named.
        option: &'static str,
        /// What was asked for.
        name: String,
        /// The study's responses.
        known: Vec<String>,
    },
    /// A limit is not a response, a comparison and a number.
    #[error("--limit: `{0}` is not a limit")]
    Limit(String),
    /// The number of a limit is none.
    #[error("--limit: `{text}` is not a limit: {error}")]
    LimitAmount {
        /// The limit.
        text: String,
        /// What is wrong with its number.
        error: QuantityError,
    },
    /// A climb varies one factor.
    #[error("a climb varies one factor")]
    ClimbOfSeveral,
    /// Categories have no order to climb.
    #[error("--factor: `{0}` has no order to climb")]
    NoOrder(String),
    /// A climb begins within its range.
    #[error("--start: {start} lies below the range of `{factor}`, which begins at {lowest}")]
    StartBelow {
        /// What was asked for.
        start: f64,
        /// The factor.
        factor: String,
        /// Where its range begins.
        lowest: f64,
    },
    /// Only a climb begins somewhere.
    #[error("--start belongs to a climb")]
    StartWithoutClimb {
        /// What the search does instead.
        instead: &'static str,
    },
    /// Nothing varies.
    #[error("no factor varies")]
    NothingVaries,
    /// A budget is an amount.
    #[error("--budget: `{0}` is not a number above zero")]
    Budget(String),
    /// More combinations than are weighed against each other.
    #[error("{count} combinations of levels are too many")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many are weighed.
        most: usize,
    },
    /// Not even the smallest budget can be run by all.
    #[error(
        "{candidates} candidates of {replicates} runs each are more than --max-runs {most} allows"
    )]
    TooFewRuns {
        /// How many candidates there are.
        candidates: usize,
        /// How often each is run.
        replicates: usize,
        /// The runs that are allowed.
        most: usize,
    },
    /// A climb cannot be made so.
    #[error(transparent)]
    Climb(#[from] ClimbError),
    /// Successive halving cannot be made so.
    #[error(transparent)]
    Halving(#[from] HalvingError),
    /// A Bayesian search cannot go on.
    #[error(transparent)]
    Bayes(#[from] BayesError),
}

impl Explained for TuneError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoFactor { known, .. } => return Some(format!("it has {}", known.join(", "))),
            Self::NoLevel { known, .. } => return Some(format!("it has {known}")),
            Self::Open { name, known } => {
                return Some(format!("give --given {name}=LEVEL, one of {known}"));
            }
            Self::NoResponse { known, .. } => {
                let known = match known.is_empty() {
                    true => "none".to_owned(),
                    false => known.join(", "),
                };
                return Some(format!(
                    "[responses] has {known}; duration_s is always measured"
                ));
            }
            Self::TooMany { most, .. } => {
                return Some(format!("at most {most} are weighed; vary fewer factors"));
            }
            Self::Limit(_) => "write a response, <= or >=, and a number: 'time <= 300s'",
            Self::ClimbOfSeveral => "--strategy bayes varies several",
            Self::NoOrder(_) => "--strategy bayes tries its levels",
            Self::StartWithoutClimb { instead } => instead,
            Self::Budget(_) => "a budget is an amount of training, such as epochs",
            Self::TooFewRuns { .. } => "name fewer levels, or allow more runs",
            Self::Climb(ClimbError::Start(_)) => {
                "a climb doubles its level, so it needs a start above zero: --start 0.002"
            }
            Self::Climb(ClimbError::Replicates(_)) => "give --replicates 5",
            Self::Climb(ClimbError::Highest { .. } | ClimbError::NotWhole(_)) => {
                "give another --start"
            }
            Self::Halving(HalvingError::Budgets(_)) => "give the --budget a larger range",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
