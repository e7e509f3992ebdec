//! What share of the machine a run gets.

use crate::engine::EngineKind;
use crate::job::Job;
use crate::study::Study;
use paceline_model::{Level, quantity};

/// What a run may use, and how many copies of its command there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Identical copies of the command that run at the same time: the level of
    /// `concurrency`, else 1.
    pub copies: u32,
    /// CPUs that all copies together are bound to: the level of `cpus`, else
    /// the policy's.
    pub cpus: Option<u32>,
    /// Memory for all copies together, in bytes: the level of `memory`, else
    /// the policy's.
    pub memory_bytes: Option<u64>,
    /// Nodes of the run: the level of `nodes` where the engine acts on it, else
    /// the engine's.
    pub nodes: u32,
    /// Cores of each node, where the engine gives parts of machines: the level of
    /// `executor_cores`, else the engine's.
    pub executor_cores: Option<u32>,
    /// Whether every node has to be another machine: not if `executors` are asked
    /// for, wherever they are.
    pub is_spread: bool,
    /// Commands of each copy on each node, with ranks among them: the level of
    /// `tasks_per_node`, else the engine's.
    pub tasks_per_node: u32,
}

impl Study {
    /// The share of a run whose factors have these levels, in the order of
    /// [`Study::factors`]. Constants under `[fixed]` count as well.
    #[must_use]
    pub fn share_of(&self, levels: &[Level]) -> Share {
        let varied = self.factors.iter().map(|factor| &factor.name).zip(levels);
        let fixed = self.fixed.iter().map(|(name, level)| (name, level));
        let assigned: Vec<_> = varied.chain(fixed).collect();
        let level = |name: &str| {
            assigned
                .iter()
                .find(|(own, _)| *own == name)
                .map(|(_, l)| *l)
        };
        let whole = |name: &str| match level(name)? {
            Level::Integer(i) => u32::try_from(*i).ok(),
            _ => None,
        };
        Share {
            copies: whole("concurrency").unwrap_or(1).max(1),
            cpus: whole("cpus").or(self.policy.cpus),
            memory_bytes: match level("memory") {
                Some(Level::Integer(i)) => u64::try_from(*i).ok(),
                Some(Level::Word(word)) => quantity::bytes(word).ok(),
                _ => self.policy.memory_bytes,
            },
            // A training is one program, which starts its members itself.
            nodes: match (self.engine.kind, &self.job) {
                (EngineKind::Local, _) | (_, Job::Train(_)) => 1,
                (EngineKind::Spark, _) => whole("executors")
                    .or_else(|| whole("nodes"))
                    .unwrap_or(self.engine.usual_nodes())
                    .max(1),
                _ => whole("nodes").unwrap_or(self.engine.usual_nodes()).max(1),
            },
            executor_cores: match self.engine.kind {
                EngineKind::Spark => whole("executor_cores").or(self.engine.spark.executor_cores),
                _ => None,
            },
            is_spread: self.engine.kind != EngineKind::Spark || level("executors").is_none(),
            tasks_per_node: match &self.job {
                Job::Train(_) => 1,
                Job::Command(_) | Job::SparkSubmit(_) => whole("tasks_per_node")
                    .unwrap_or(self.engine.tasks_per_node)
                    .max(1),
            },
        }
    }
}
