//! Why a request cannot be planned, and what to do about it.

use thiserror::Error;

use crate::fraction::FractionError;
use crate::hadamard;
use crate::optimal::OptimalError;
use crate::request::Request;
use crate::surface;

/// Why a design cannot be made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanError {
    /// The fraction is impossible.
    #[error(transparent)]
    Fraction(#[from] FractionError),
    /// The optimal design is impossible.
    #[error(transparent)]
    Optimal(#[from] OptimalError),
    /// The design would be larger than any that can be run.
    #[error("the design has more than {limit} runs", limit = Request::MAX_RUNS)]
    TooManyRuns,
    /// The design would have more settings than anybody looks at.
    #[error(
        "{runs} runs of {factors} factors are {} settings; the limit is {limit}",
        runs.saturating_mul(*factors),
        limit = Request::MAX_SETTINGS
    )]
    TooManySettings {
        /// How many runs.
        runs: usize,
        /// How many factors.
        factors: usize,
    },
    /// More factors than the kind of design can hold.
    #[error("{count} factors are more than this kind of design can hold; the limit is {limit}")]
    TooManyFactors {
        /// How many there are.
        count: usize,
        /// The most there may be.
        limit: usize,
    },
    /// A number that must be positive is zero.
    #[error("{what} must be at least {least}")]
    TooFew {
        /// Which number.
        what: &'static str,
        /// Its least value.
        least: u32,
    },
    /// A two-level design got a factor with more levels.
    #[error("factor `{factor}` has {count} levels, but this design takes {wanted}")]
    WrongLevelCount {
        /// The factor.
        factor: String,
        /// How many levels it has.
        count: usize,
        /// What the design takes, in words.
        wanted: &'static str,
    },
    /// A response surface needs numbers.
    #[error("factor `{factor}` is categorical, but this design needs numbers")]
    CategoricalFactor {
        /// The factor.
        factor: String,
    },
    /// Centre points need a factor with a middle.
    #[error("centre points need at least one numeric factor with a value between its ends")]
    NoCentre,
    /// A whole factor has no value between its ends.
    #[error("factor `{factor}` has no whole value between its levels, but this design needs one")]
    NoMiddle {
        /// The factor.
        factor: String,
    },
    /// A Plackett–Burman design does not exist in so many runs.
    #[error("no Plackett–Burman design has {factors} factors in {runs} runs")]
    PlackettBurmanRuns {
        /// The number of factors.
        factors: usize,
        /// The number of runs.
        runs: u32,
    },
    /// There is no Box–Behnken design for so many factors.
    #[error("there is no Box–Behnken design for {factors} factors")]
    BoxBehnkenFactors {
        /// The number of factors.
        factors: usize,
    },
    /// The axial points are not out where they belong.
    #[error("the axial distance {alpha} must be positive, and at least 1 for an inscribed design")]
    BadAlpha {
        /// The distance.
        alpha: f64,
    },
    /// An axial point leaves the positive numbers, to which all levels belong.
    #[error("an axial point would set `{factor}` to {value}, though all its levels are positive")]
    AxialNotPositive {
        /// The factor.
        factor: String,
        /// The value out there.
        value: String,
    },
    /// The control names something that is not there.
    #[error("the control sets `{factor}` to `{level}`, which is not one of its levels")]
    UnknownControl {
        /// The factor.
        factor: String,
        /// The level.
        level: String,
    },
    /// A forbidden combination names an unknown factor.
    #[error("a forbidden combination names `{factor}`, which is not a factor")]
    UnknownForbidden {
        /// The name.
        factor: String,
    },
    /// A design that cannot do without a combination would contain a forbidden one.
    #[error("the design contains {count} forbidden combination(s)")]
    ContainsForbidden {
        /// How many of its trials are forbidden.
        count: usize,
    },
    /// Every run is forbidden.
    #[error("the forbidden combinations leave nothing to run")]
    NothingAllowed,
    /// The runs do not divide into so many blocks.
    #[error(
        "{replicates} replicate(s) cannot be divided into {blocks} blocks without confounding a main effect"
    )]
    Blocks {
        /// The blocks asked for.
        blocks: u32,
        /// The replicates asked for.
        replicates: u32,
        /// The numbers of blocks that would do.
        possible: Vec<u32>,
    },
}

impl PlanError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Fraction(error) => error.hint(),
            Self::Optimal(error) => error.hint(),
            Self::TooManyRuns => {
                "use a fractional, Plackett–Burman, Latin hypercube or optimal design".to_owned()
            }
            Self::TooManySettings { .. } => "ask for fewer runs or vary fewer factors".to_owned(),
            Self::TooManyFactors { .. } => "screen with a Plackett–Burman design first".to_owned(),
            Self::TooFew { what, least } => format!("set {what} to {least} or more"),
            Self::WrongLevelCount { factor, .. } => {
                format!(
                    "list only the lowest and the highest level of `{factor}`, or use a full or an optimal design"
                )
            }
            Self::CategoricalFactor { .. } => {
                "use an optimal design, which takes categories too".to_owned()
            }
            Self::NoMiddle { .. } => {
                "move its levels apart, or use a two-level or an optimal design".to_owned()
            }
            Self::NoCentre => "leave out the centre points, or add replicates".to_owned(),
            Self::PlackettBurmanRuns { factors, .. } => {
                let least = (*factors as u32 + 1).next_multiple_of(4);
                format!(
                    "runs must be a multiple of 4 from {least} to {}",
                    hadamard::MAX_RUNS
                )
            }
            Self::BoxBehnkenFactors { .. } => {
                let known = surface::BOX_BEHNKEN_FACTORS
                    .map(|n| n.to_string())
                    .join(", ");
                format!(
                    "they exist for {known}; use a central composite or an optimal design otherwise"
                )
            }
            Self::BadAlpha { .. } => {
                "use a rotatable distance, or add centre points to an orthogonal one".to_owned()
            }
            Self::AxialNotPositive { .. } => {
                "use an inscribed or a face-centred design, or a log scale".to_owned()
            }
            Self::UnknownControl { .. } => "name a factor and one of its levels".to_owned(),
            Self::UnknownForbidden { .. } => "name one of the factors".to_owned(),
            Self::ContainsForbidden { .. } => {
                "use an optimal design, which avoids them, or a full one, which leaves them out"
                    .to_owned()
            }
            Self::NothingAllowed => "remove a forbidden combination".to_owned(),
            Self::Blocks { possible, .. } => {
                let list: Vec<String> = possible.iter().map(u32::to_string).collect();
                format!(
                    "with these replicates the blocks can be {}",
                    list.join(", ")
                )
            }
        }
    }
}
