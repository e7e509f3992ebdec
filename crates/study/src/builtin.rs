//! The names Paceline itself understands.

use crate::engine::EngineKind;
use crate::job::JobKind;
use crate::spark_engine;
use paceline_model::{Level, quantity};

/// A factor with a meaning beyond a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInFactor {
    /// The name in `[factors]` and `[fixed]`.
    pub name: &'static str,
    /// Who acts on it.
    pub owner: FactorOwner,
    /// What its levels must be.
    pub rule: LevelRule,
    /// One line for a person.
    pub describe: &'static str,
}

/// Who acts on a built-in factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorOwner {
    /// The built-in trainer: the name means nothing to a command.
    Trainer,
    /// The runner, for any job on any engine.
    Runner,
    /// A cluster engine.
    Cluster,
    /// `spark-submit`, in a job of that kind.
    Spark,
}

/// What the levels of a built-in factor must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelRule {
    /// Anything.
    Any,
    /// Whole numbers from 1.
    WholeFromOne,
    /// Numbers above zero.
    Positive,
    /// Amounts of memory: `"4GiB"` or bytes.
    Size,
}

const fn factor(
    name: &'static str,
    owner: FactorOwner,
    rule: LevelRule,
    describe: &'static str,
) -> BuiltInFactor {
    BuiltInFactor {
        name,
        owner,
        rule,
        describe,
    }
}

impl BuiltInFactor {
    /// Every built-in factor.
    pub const ALL: &'static [Self] = &[
        factor(
            "model",
            FactorOwner::Trainer,
            LevelRule::Any,
            "the model that is trained",
        ),
        factor(
            "sync",
            FactorOwner::Trainer,
            LevelRule::Any,
            "the consistency model: bsp, ssp:3, async, backup:1, allreduce, dataflow",
        ),
        factor(
            "workers",
            FactorOwner::Trainer,
            LevelRule::WholeFromOne,
            "workers of one training",
        ),
        factor(
            "servers",
            FactorOwner::Trainer,
            LevelRule::WholeFromOne,
            "parameter servers of one training",
        ),
        factor(
            "batch_size",
            FactorOwner::Trainer,
            LevelRule::WholeFromOne,
            "examples per update",
        ),
        factor(
            "learning_rate",
            FactorOwner::Trainer,
            LevelRule::Positive,
            "step length of an update",
        ),
        factor(
            "epochs",
            FactorOwner::Trainer,
            LevelRule::WholeFromOne,
            "passes over the data",
        ),
        factor(
            "concurrency",
            FactorOwner::Runner,
            LevelRule::WholeFromOne,
            "identical copies of the job at the same time",
        ),
        factor(
            "cpus",
            FactorOwner::Runner,
            LevelRule::WholeFromOne,
            "CPUs a run is bound to",
        ),
        factor(
            "memory",
            FactorOwner::Runner,
            LevelRule::Size,
            "memory a run may use",
        ),
        factor(
            "tasks_per_node",
            FactorOwner::Runner,
            LevelRule::WholeFromOne,
            "commands of one run on each of its nodes, with ranks",
        ),
        factor(
            "nodes",
            FactorOwner::Cluster,
            LevelRule::WholeFromOne,
            "machines of one run",
        ),
        factor(
            "executors",
            FactorOwner::Spark,
            LevelRule::WholeFromOne,
            "executors of one run",
        ),
        factor(
            "executor_cores",
            FactorOwner::Spark,
            LevelRule::WholeFromOne,
            "cores of each executor",
        ),
        factor(
            "executor_memory",
            FactorOwner::Spark,
            LevelRule::Any,
            "memory of each executor in Spark's words, as in `2g`",
        ),
    ];

    /// Finds a built-in factor by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|factor| factor.name == name)
    }

    /// Whether Paceline itself acts on the factor in a job of this kind.
    #[must_use]
    pub fn acts_on(&self, job: JobKind, engine: EngineKind) -> bool {
        match self.owner {
            FactorOwner::Trainer => job == JobKind::Train,
            FactorOwner::Runner => true,
            FactorOwner::Cluster => self.is_realised_by(engine),
            FactorOwner::Spark => {
                job == JobKind::SparkSubmit
                    || (engine == EngineKind::Spark && spark_engine::realises(self, job))
            }
        }
    }

    /// Whether the engine gives a run what the factor's level says.
    pub(crate) fn is_realised_by(&self, engine: EngineKind) -> bool {
        match engine {
            EngineKind::Local => false,
            EngineKind::Ssh | EngineKind::Slurm | EngineKind::Spark | EngineKind::Ray => {
                self.name == "nodes"
            }
        }
    }
}

impl LevelRule {
    /// What is expected instead, if `level` breaks the rule.
    pub(crate) fn broken_by(self, level: &Level) -> Option<&'static str> {
        let (holds, expected) = match self {
            Self::Any => (true, ""),
            Self::WholeFromOne => (
                matches!(level, Level::Integer(i) if *i >= 1),
                "whole numbers from 1",
            ),
            Self::Positive => (
                level.as_number().is_some_and(|x| x > 0.0),
                "numbers above zero",
            ),
            Self::Size => (
                match level {
                    Level::Integer(i) => *i >= 1,
                    Level::Word(word) => quantity::bytes(word).is_ok(),
                    Level::Number(_) | Level::Switch(_) => false,
                },
                "amounts of memory such as \"4GiB\"",
            ),
        };
        (!holds).then_some(expected)
    }
}

/// What the built-in trainer reports of a training, and many a command too: no
/// slip of the pen for one of Paceline's own values.
pub(crate) const USUAL_METRICS: &[&str] = &[
    "loss",
    "accuracy",
    "test_loss",
    "test_accuracy",
    "train_s",
    "epoch",
    "steps",
    "epochs_done",
    "rows_trained",
    "rows_per_s",
    "reached",
    "diverged",
];
