//! Designed experiments: from factors, a kind of design and a seed to a plan
//! of runs, and to what that plan will be able to tell.
//!
//! ```
//! use paceline_design::{Factor, Factors, FractionBy, Kind, Request};
//! use paceline_model::Level;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let two = |low, high| vec![Level::Integer(low), Level::Integer(high)];
//! let factors = Factors::new(vec![
//!     Factor::new("nodes", two(1, 4))?,
//!     Factor::new("executors", two(1, 4))?,
//!     Factor::new("cores", two(1, 4))?,
//!     Factor::new("epochs", two(1, 3))?,
//!     Factor::new("batch_size", two(64, 256))?,
//! ])?;
//! let kind = Kind::Fractional(FractionBy::Resolution(5));
//! let mut request = Request::new(factors, kind);
//! request.replicates = 3;
//!
//! let design = request.plan(1)?;
//! let properties = design.properties();
//! assert_eq!((properties.trials, properties.runs), (16, 48));
//! assert_eq!(properties.defining_relation.as_deref(), Some("I = ABCDE"));
//!
//! let first = design.runs()[0];
//! let levels: Vec<String> = design.levels(first.trial).map(|level| level.to_string()).collect();
//! assert_eq!(levels.len(), 5);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Request`] describes the wanted design; [`Request::plan`] turns it and a
//! seed into a [`Design`], always the same one. [`Design::properties`] gives
//! resolution, defining relation, balance and orthogonality;
//! [`Design::aliases`] the alias table of regular two-level designs;
//! [`Design::assess`] what the design can estimate of a model and with what
//! power; [`Design::biases`] what omitted terms would do.
//!
//! This crate deliberately reads no files, no clock and no ambient randomness,
//! analyses no responses, and knows nothing of how a run is executed.

mod assessment;
mod blocking;
mod catalogue;
mod design;
mod factor;
mod factorial;
mod fraction;
mod hadamard;
mod hypercube;
mod notation;
mod optimal;
mod plan;
mod properties;
mod refusal;
mod request;
mod seed;
mod surface;
mod terms;
mod word;

pub use assessment::{Assessment, Bias, Effect, EffectError, Partner, TermAssessment};
pub use design::{Design, Run};
pub use factor::{Factor, FactorError, Factors, Scale, Setting};
pub use fraction::{AliasSet, Fraction, FractionBy, FractionError};
pub use notation::{Generator, NotationError};
pub use optimal::OptimalError;
pub use properties::Properties;
pub use refusal::PlanError;
pub use request::{
    Alpha, BlockBy, Blocks, CentralComposite, CompositeCube, CompositeShape, Condition, Cost,
    Forbidden, Kind, Optimal, Order, Request, Test,
};
pub use terms::{ModelTerms, Term, TermError};
pub use word::Word;
