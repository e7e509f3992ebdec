//! What `study.toml` means: text in, a checked study or every problem at once out.
mod builtin;
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
mod nearest;
mod policy;
mod problem;
mod quantity;
mod raw;
mod response;
mod section;
mod study;
mod template;
mod terms;
mod words;

pub use builtin::{BuiltInFactor, FactorOwner, LevelRule, RunValue};
pub use collect::ResponseCollector;
pub use command::{CommandError, CommandLine, RunFacts};
pub use design::{
    Alpha, BlockBy, CompositeCube, CompositeShape, Design, DesignKind, FractionBy, Generator,
    Layout, Order,
};
pub use engine::EngineKind;
pub use expression::{
    Absent, Condition, Expression, ExpressionError, ExpressionErrorKind, Function,
};
pub use factor::{Factor, FactorType, Scale};
pub use job::{CommandJob, Job, JobKind, Program, TrainJob};
pub use policy::{Noise, Policy};
pub use problem::{Excerpt, Place, Problem, Problems};
pub use raw::RawStudy;
pub use response::{LogPattern, Response, ResponseSource, Take};
pub use study::{Capabilities, Study};
pub use template::{Template, TemplateError, TemplateErrorKind};
pub use terms::{Model, ModelTerm, NamedModel};
