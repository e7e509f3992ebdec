//! Which factor plays which part in a law of performance.

use crate::runs::{FactorKind, Factors};
use std::fmt;

/// The part a factor plays in a law of performance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Records per step.
    BatchSize,
    /// Processors of one job.
    Cpus,
    /// Jobs that run at the same time.
    Concurrency,
    /// Machines that a job is spread over.
    Machines,
    /// Passes over the data.
    Epochs,
    /// Records in the data.
    Samples,
}

impl Role {
    const ALL: [Self; 6] = [
        Self::BatchSize,
        Self::Cpus,
        Self::Concurrency,
        Self::Machines,
        Self::Epochs,
        Self::Samples,
    ];

    /// Names that the studies and their tools use, without separators.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::BatchSize => &["batchsize", "batch", "minibatch", "minibatchsize"],
            Self::Cpus => &[
                "cpus",
                "cpu",
                "ncpu",
                "ncpus",
                "cores",
                "executorcores",
                "threads",
                "vcpus",
            ],
            Self::Concurrency => &["concurrency", "jobs", "njobs", "concurrentjobs", "numjobs"],
            Self::Machines => &[
                "machines",
                "workers",
                "nodes",
                "executors",
                "instances",
                "nworkers",
                "nnodes",
                "numworkers",
            ],
            Self::Epochs => &["epochs", "epoch", "maxepochs", "nepochs", "numepochs"],
            Self::Samples => &["samples", "records", "examples", "datasetsize", "n"],
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BatchSize => "batch size",
            Self::Cpus => "cpus",
            Self::Concurrency => "concurrent jobs",
            Self::Machines => "machines",
            Self::Epochs => "epochs",
            Self::Samples => "samples",
        })
    }
}

/// Where in a configuration each role stands. Only numeric factors whose levels
/// are all above zero play a role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles(Vec<(Role, usize)>);

impl Roles {
    /// Finds roles by the factors' names; the first factor that fits has it.
    pub fn by_name(factors: &Factors) -> Self {
        let mut roles = Self::default();
        for role in Role::ALL {
            let fits = |name: &str| {
                let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
                role.names().contains(&plain.to_ascii_lowercase().as_str())
            };
            let found = factors
                .iter()
                .position(|factor| fits(factor.name()) && is_positive(factor.kind()));
            if let Some(at) = found {
                roles.0.push((role, at));
            }
        }
        roles
    }

    /// Gives a role to the factor at that place, instead of any other.
    #[must_use]
    pub fn with(mut self, role: Role, at: usize) -> Self {
        self.0
            .retain(|&(known, place)| known != role && place != at);
        self.0.push((role, at));
        self
    }

    /// Where the role's factor stands.
    pub fn position(&self, role: Role) -> Option<usize> {
        let found = self.0.iter().find(|(known, _)| *known == role);
        found.map(|&(_, at)| at)
    }

    /// The role's level in a configuration, or one if nothing plays it: a
    /// constant then ends up in the estimated coefficients.
    pub(crate) fn level(&self, role: Role, configuration: &[f64]) -> f64 {
        self.position(role).map_or(1.0, |at| configuration[at])
    }
}

fn is_positive(kind: &FactorKind) -> bool {
    match kind {
        FactorKind::Numeric { levels, .. } => levels.first().is_some_and(|&least| least > 0.0),
        FactorKind::Categorical { .. } => false,
    }
}
