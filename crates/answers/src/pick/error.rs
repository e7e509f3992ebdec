//! Why nothing is picked.

use crate::error::{Explained, Fault};
use crate::predictors::{FitError, ProbabilityError};
use crate::results::{EpochsError, LearnError};
use paceline_advise::overlap::{InterferenceError, OverlapError};
use paceline_advise::pick::{CandidatesError, PickError as Unpickable, SuggestError};
use paceline_advise::runs::SettingError;

/// Why nothing is picked.
#[derive(Debug, thiserror::Error)]
pub enum PickError {
    /// A plain table does not tell what is to be large or small.
    #[error("nothing is said to be best")]
    NoObjective,
    /// By their names, the responses could be meant either way.
    #[error("whether more or less of {} is better is not known", .responses.join(" or "))]
    Direction {
        /// The study's responses.
        responses: Vec<String>,
    },
    /// A deadline limits a time, and no response is one.
    #[error("no response is a time, so that the deadline limits nothing")]
    NoTime {
        /// The study's responses.
        responses: Vec<String>,
    },
    /// The confidence is no probability that a table can speak of.
    #[error(transparent)]
    Confidence(#[from] ProbabilityError),
    /// What jobs take from each other is below nothing.
    #[error("--contention {0} is not zero or more")]
    Contention(f64),
    /// More epochs than a curve can be followed to.
    #[error("{wanted} epochs are too far beyond the {run} that were run")]
    TooManyEpochs {
        /// How many were asked for.
        wanted: f64,
        /// The most that were run.
        run: f64,
        /// The most that may be asked for.
        furthest: f64,
    },
    /// The description of a job that runs names what cannot be.
    #[error("--running: {job}: {error}")]
    Job {
        /// The job.
        job: String,
        /// What cannot be.
        error: SettingError,
    },
    /// Nothing can be learned from the results.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The results do not tell how responses go on with the epochs.
    #[error(transparent)]
    Epochs(#[from] EpochsError),
    /// A response has no predictor.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A given level cannot be.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// There are no configurations, or too many.
    #[error(transparent)]
    Candidates(#[from] CandidatesError),
    /// The request cannot be.
    #[error(transparent)]
    Request(#[from] Unpickable),
    /// No further run can be weighed.
    #[error(transparent)]
    Suggest(#[from] SuggestError),
    /// What jobs take from each other is not known.
    #[error(transparent)]
    Interference(#[from] InterferenceError),
    /// When jobs end cannot be told.
    #[error(transparent)]
    Overlap(#[from] OverlapError),
}

impl Explained for PickError {
    fn fault(&self) -> Fault {
        match self {
            Self::Epochs(error) => error.fault(),
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoObjective => {
                "name a response with --maximize or --minimize, or weigh several with --weigh"
            }
            Self::Direction { .. } => "say so with --maximize or --minimize",
            Self::NoTime { responses } => {
                return Some(format!(
                    "name it with --time, one of {}",
                    responses.join(", ")
                ));
            }
            Self::TooManyEpochs { furthest, .. } => {
                return Some(format!(
                    "a curve is followed to {} times as many: --epochs-free={furthest} at most",
                    super::epochs::REACH
                ));
            }
            Self::Job { .. } => "a job that runs names the level of every factor that varies",
            Self::Learn(error) => return error.hint(),
            Self::Epochs(error) => return error.hint(),
            Self::Fit(error) => return error.hint(),
            Self::Candidates(CandidatesError::TooFine { .. }) => "lower --grid",
            Self::Candidates(_) => "fix factors with --given, or raise --grid",
            Self::Interference(_) => {
                "name the factor with --role jobs=FACTOR, or say what jobs take from each other: \
                 --contention 1 is a fair share"
            }
            Self::Confidence(error) => return error.hint(),
            Self::Contention(_)
            | Self::Setting(_)
            | Self::Request(_)
            | Self::Suggest(_)
            | Self::Overlap(_) => return None,
        };
        Some(hint.to_owned())
    }
}
