//! What `study.toml` means: text in, a checked study or every problem at once out.
//!
//! [`RawStudy`] is what the user typed, in the file and in arguments beside it.
//! [`RawStudy::check`] gives it its meaning, a [`Study`], or says everything
//! that is wrong with it: each [`Problem`] has a place, a message and, where
//! there is advice, a hint.
//!
//! ```
//! use paceline_study::{Capabilities, RawStudy};
//!
//! let text = r#"
//! [job]
//! command = ["python", "train.py", "--batch-size", "{batch_size}"]
//!
//! [factors]
//! batch_size = [64]
//! "#;
//! let problems = RawStudy::parse("study.toml", text)?
//!     .check(&Capabilities::LOCAL_COMMANDS)
//!     .unwrap_err();
//! assert_eq!(
//!     problems.to_string(),
//!     "study.toml:6: factor `batch_size` has one level\n\
//!      hint: a factor needs at least two; put constants under [fixed]"
//! );
//!
//! let study = RawStudy::parse("study.toml", text)?
//!     .with_arguments(["batch_size=64,128"])?
//!     .check(&Capabilities::LOCAL_COMMANDS)?;
//! assert_eq!(study.factors()[0].levels.len(), 2);
//! # Ok::<(), paceline_study::Problems>(())
//! ```
//!
//! A study answers what the runner asks: [`Study::design_request`] for the
//! design crate, [`Study::command_for`] for one run, [`ResponseCollector`] for
//! what a run reported, [`Study::fingerprint`] to tell whether a file changed.
//!
//! One table of keys serves the parser, its messages and the [`schema`] for
//! editors, so that none of them can know a key that the others do not.
//!
//! # Decisions
//!
//! - A command is a list of arguments, which no shell touches, or one text,
//!   which `sh -c` runs. Levels are put into a shell text only if the shell
//!   takes them literally; anything else is a problem, not a guess at quoting.
//! - Every factor and constant is exported as `PACELINE_<NAME>`. A factor that
//!   is neither a placeholder, nor mentioned by that name in the command, nor
//!   understood by Paceline itself is a problem unless `[job] reads_env = true`:
//!   a study whose factor reaches nobody would measure noise.
//! - In its own expression a response's name stands for the reported metric, so
//!   `accuracy = "accuracy"` is not a circle.
//!
//! This crate deliberately reads no files, no clock and no environment. It does
//! not know whether a program or a directory exists, plans no runs and starts
//! none.

mod builtin;
mod canonical;
mod collect;
mod command;
mod design;
mod design_check;
mod document;
mod engine;
mod expression;
mod factor;
mod job;
mod keys;
mod names;
mod policy;
mod problem;
mod raw;
mod ray_engine;
mod reference;
mod request;
mod response;
mod schema;
mod section;
mod share;
mod spark_engine;
mod spark_submit;
mod study;
mod template;
mod usage;
mod words;

pub use builtin::{BuiltInFactor, FactorOwner, LevelRule};
pub use canonical::Fingerprint;
pub use collect::ResponseCollector;
pub use command::{CheckpointUse, CommandError, CommandLine, RunFacts, TRAINER};
pub use design::{DesignKind, DesignSettings};
pub use engine::{EngineKind, EngineSettings, Supply};
pub use expression::{
    Absent, Condition, Expression, ExpressionError, ExpressionErrorKind, Function,
};
pub use factor::{Factor, FactorType};
pub use job::{CommandJob, Job, JobKind, Program, TrainJob};
pub use policy::{Noise, Policy};
pub use problem::{Excerpt, Place, Problem, Problems};
pub use raw::RawStudy;
pub use ray_engine::RaySettings;
pub use reference::reference;
pub use request::RequestError;
pub use response::{LogPattern, Response, ResponseSource, Take};
pub use schema::schema;
pub use share::Share;
pub use spark_engine::SparkSettings;
pub use spark_submit::{SparkJob, event_log};
pub use study::{Capabilities, Study};
pub use template::{Template, TemplateError, TemplateErrorKind};
pub use words::Word;
