//! Which factor plays which part in a law of performance.

use crate::runs::{FactorKind, Factors};
use std::fmt;
use thiserror::Error;

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
    /// Every role.
    pub const ALL: [Self; 6] = [
        Self::BatchSize,
        Self::Cpus,
        Self::Concurrency,
        Self::Machines,
        Self::Epochs,
        Self::Samples,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::BatchSize => "batch",
            Self::Cpus => "cpus",
            Self::Concurrency => "jobs",
            Self::Machines => "machines",
            Self::Epochs => "epochs",
            Self::Samples => "samples",
        }
    }

    /// The role that a user means: any name by which a factor would be found.
    pub fn parse(name: &str) -> Option<Self> {
        let plain = plain(name);
        Self::ALL
            .into_iter()
            .find(|role| role.names().contains(&plain.as_str()))
    }

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
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Roles {
    places: Vec<(Role, usize)>,
    levelling: Option<f64>,
}

/// Why a factor cannot play a role.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AssignRoleError {
    /// There is no such factor.
    #[error("the {role} cannot be `{name}`: there is no such factor; the factors are {known}")]
    UnknownFactor {
        /// The role.
        role: Role,
        /// What was asked for.
        name: String,
        /// All factors, separated by commas.
        known: String,
    },
    /// The factor holds words, or numbers that are not above zero.
    #[error("the {role} cannot be `{name}`: a law of performance needs numbers above zero")]
    NotPositive {
        /// The role.
        role: Role,
        /// The factor.
        name: String,
    },
    /// Two factors are given one role, or one factor two.
    #[error("`{name}` as the {role} contradicts another assignment")]
    Repeated {
        /// The role.
        role: Role,
        /// The factor.
        name: String,
    },
}

impl Roles {
    /// Finds roles by the factors' names; the first factor that fits has it.
    pub fn by_name(factors: &Factors) -> Self {
        let mut roles = Self::default();
        for role in Role::ALL {
            let fits = |name: &str| role.names().contains(&plain(name).as_str());
            let found = factors
                .iter()
                .position(|factor| fits(factor.name()) && is_positive(factor.kind()));
            if let Some(at) = found {
                roles.places.push((role, at));
            }
        }
        roles
    }

    /// Finds roles by name, except those that are said.
    pub fn assigned(factors: &Factors, said: &[(Role, String)]) -> Result<Self, AssignRoleError> {
        let mut roles = Self::by_name(factors);
        for (number, (role, name)) in said.iter().enumerate() {
            let (role, name) = (*role, name.clone());
            let before = &said[..number];
            if before
                .iter()
                .any(|(known, other)| *known == role || *other == name)
            {
                return Err(AssignRoleError::Repeated { role, name });
            }
            let Some(at) = factors.iter().position(|factor| factor.name() == name) else {
                let names: Vec<&str> = factors.iter().map(|factor| factor.name()).collect();
                return Err(AssignRoleError::UnknownFactor {
                    role,
                    name,
                    known: names.join(", "),
                });
            };
            if !is_positive(factors.at(at).kind()) {
                return Err(AssignRoleError::NotPositive { role, name });
            }
            roles = roles.with(role, at);
        }
        Ok(roles)
    }

    /// Gives a role to the factor at that place, instead of any other.
    #[must_use]
    pub fn with(mut self, role: Role, at: usize) -> Self {
        self.places
            .retain(|&(known, place)| known != role && place != at);
        self.places.push((role, at));
        self
    }

    /// Says that the response approaches its end with the epochs `e` like
    /// `e^(−rate)`, as a metric does, rather than growing with them, as a time
    /// does. Learners then see the epochs as that power, in which the response is
    /// nearly a straight line, beyond the epochs that were run as well.
    #[must_use]
    pub fn levelling_off(mut self, rate: f64) -> Self {
        self.levelling = Some(rate);
        self
    }

    pub(crate) fn is_levelling_off(&self) -> bool {
        self.levelling.is_some()
    }

    /// The rate at which the response levels off with the factor at that place.
    pub(crate) fn levelling_at(&self, at: usize) -> Option<f64> {
        let rate = self.levelling?;
        (self.position(Role::Epochs) == Some(at)).then_some(rate)
    }

    /// Where the role's factor stands.
    pub fn position(&self, role: Role) -> Option<usize> {
        let found = self.places.iter().find(|(known, _)| *known == role);
        found.map(|&(_, at)| at)
    }

    /// The role's level in a configuration, or one if nothing plays it: a
    /// constant then ends up in the estimated coefficients.
    pub(crate) fn level(&self, role: Role, configuration: &[f64]) -> f64 {
        self.position(role).map_or(1.0, |at| configuration[at])
    }
}

fn plain(name: &str) -> String {
    let plain = name.chars().filter(char::is_ascii_alphanumeric);
    plain.collect::<String>().to_ascii_lowercase()
}

fn is_positive(kind: &FactorKind) -> bool {
    match kind {
        FactorKind::Numeric { levels, .. } => levels.first().is_some_and(|&least| least > 0.0),
        FactorKind::Categorical { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{FactorColumn, Runs};

    fn factors() -> Factors {
        let words = ["a", "b"].map(str::to_owned).to_vec();
        let numeric = |name: &str, values: [f64; 2]| {
            (name.to_owned(), FactorColumn::Numeric(values.to_vec()))
        };
        let columns = vec![
            numeric("workers", [1.0, 2.0]),
            numeric("hosts", [2.0, 4.0]),
            numeric("offset", [-1.0, 1.0]),
            ("sync".to_owned(), FactorColumn::Words(words)),
        ];
        let runs = Runs::new(columns, vec![("y".to_owned(), vec![1.0, 2.0])], None);
        runs.expect("the columns fit").factors().clone()
    }

    fn assigned(said: &[(Role, &str)]) -> Result<Roles, AssignRoleError> {
        let said: Vec<(Role, String)> = said
            .iter()
            .map(|(role, name)| (*role, (*name).to_owned()))
            .collect();
        Roles::assigned(&factors(), &said)
    }

    #[test]
    fn what_is_said_goes_before_what_a_name_suggests() {
        let found = |said: &[(Role, &str)]| assigned(said).unwrap().position(Role::Machines);
        assert_eq!(found(&[]), Some(0));
        assert_eq!(found(&[(Role::Machines, "hosts")]), Some(1));
        // A factor that plays another role no longer plays the one of its name.
        assert_eq!(found(&[(Role::Cpus, "workers")]), None);
    }

    #[test]
    fn a_factor_that_cannot_play_a_role_is_refused_with_the_reason() {
        let check = |said: &[(Role, &str)], text: &str| {
            assert_eq!(assigned(said).unwrap_err().to_string(), text);
        };
        check(
            &[(Role::Machines, "nodes")],
            "the machines cannot be `nodes`: there is no such factor; \
             the factors are workers, hosts, offset, sync",
        );
        check(
            &[(Role::Cpus, "sync")],
            "the cpus cannot be `sync`: a law of performance needs numbers above zero",
        );
        assert!(matches!(
            assigned(&[(Role::Cpus, "offset")]),
            Err(AssignRoleError::NotPositive { .. })
        ));
        check(
            &[(Role::Machines, "hosts"), (Role::Machines, "workers")],
            "`workers` as the machines contradicts another assignment",
        );
    }

    #[test]
    fn every_role_is_found_by_the_name_that_users_type() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.name()), Some(role));
        }
        assert_eq!(Role::parse("batch-size"), Some(Role::BatchSize));
        assert_eq!(Role::parse("colour"), None);
    }
}
