//! What a command is started with, and how its record begins: the same for one
//! command and for the runs of a study.

use indexmap::IndexMap;
use paceline_engine::RunClock;
use paceline_model::{Level, RunId};
use paceline_probe::Interval;
use paceline_probe::cgroup::CpuSet;
use paceline_records::{
    Cluster, GitState, Limits, LogLimit, Machine, Start, WallTime, redact, reports_file,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables from which numerical libraries take their number of threads. Without
/// them they start a thread per core of the machine, not per core that they may
/// use.
const THREADS: [&str; 5] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
];

/// Behind a pipe Python holds its output back until a buffer is full; metrics
/// would then come late and all at once.
const UNBUFFERED: &str = "PYTHONUNBUFFERED";

/// Where commands are started: what does not change from one to the next.
#[derive(Debug, Clone)]
pub struct Host {
    /// The machine.
    pub machine: Machine,
    /// The environment that a command inherits.
    pub environment: IndexMap<String, String>,
    /// The repository around the working directory.
    pub git: Option<GitState>,
    /// What of the environment is recorded.
    pub recorded: RecordedEnv,
}

/// What of a command's environment goes into its record, beyond the rule that
/// what looks like a secret does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedEnv {
    /// Variables that are recorded although they look like secrets.
    pub keep: Vec<String>,
    /// Patterns of names that are not recorded; `*` stands for anything.
    pub drop: Vec<String>,
}

/// A command about to be started.
#[derive(Debug, Clone)]
pub struct Opening<'a> {
    /// The run's id.
    pub id: RunId,
    /// What the user calls it.
    pub name: Option<String>,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it is started.
    pub cwd: PathBuf,
    /// Its record.
    pub dir: &'a Path,
    /// Variables that the user sets for it.
    pub set: &'a [(String, String)],
    /// The CPUs it may use, if they are limited.
    pub cpus: Option<&'a CpuSet>,
    /// The memory it may use.
    pub memory_bytes: Option<u64>,
    /// The time it may take.
    pub timeout: Option<Duration>,
    /// The time between two samples.
    pub interval: Interval,
    /// The levels of a study's factors.
    pub factors: IndexMap<String, Level>,
    /// The machines of a cluster that take part; none for this one.
    pub machines: Vec<Machine>,
    /// Where a cluster has placed the run.
    pub cluster: Option<Cluster>,
}

impl Host {
    /// How the command's record begins.
    #[must_use]
    pub fn start(&self, opening: &Opening<'_>, clock: &RunClock) -> Start {
        let mut env = self.environment.clone();
        for (name, value) in self.variables(opening) {
            let text = |text: &OsString| text.to_string_lossy().into_owned();
            env.insert(text(&name), text(&value));
        }
        env.sort_unstable_keys();
        let dropped = |name: &str| self.recorded.drop.iter().any(|it| redact::fits(it, name));
        env.retain(|name, _| !dropped(name));
        Start {
            id: opening.id.clone(),
            name: opening.name.clone(),
            argv: opening.argv.clone(),
            cwd: opening.cwd.clone(),
            env,
            keep_env: self.recorded.keep.clone(),
            git: self.git.clone(),
            machines: match opening.machines.as_slice() {
                [] => vec![self.machine.clone()],
                machines => machines.to_vec(),
            },
            started: WallTime::from(clock.started_at()),
            sample_interval: opening.interval.length().into(),
            limits: Limits {
                cpus: opening.cpus.map(|cpus| cpus.cores().len() as f64),
                memory_bytes: opening.memory_bytes,
                timeout: opening.timeout.map(Into::into),
            },
            factors: opening.factors.clone(),
            log_limit: LogLimit::default(),
            cluster: opening.cluster.clone(),
        }
    }

    /// What is set in the command's environment beyond what it inherits. What the
    /// user sets, here or in the environment, holds: Paceline's own advice to
    /// libraries is given only where there is none.
    #[must_use]
    pub fn variables(&self, opening: &Opening<'_>) -> Vec<(OsString, OsString)> {
        let reports = reports_file(opening.dir);
        let mut variables: Vec<(OsString, OsString)> =
            vec![("PACELINE_EVENTS".into(), reports.into())];
        let is_set = |name: &str| {
            self.environment.contains_key(name) || opening.set.iter().any(|(own, _)| own == name)
        };
        let mut advise = |name: &str, value: &str| {
            if !is_set(name) {
                variables.push((name.into(), value.into()));
            }
        };
        advise(UNBUFFERED, "1");
        if let Some(cpus) = opening.cpus {
            let count = cpus.cores().len().to_string();
            THREADS.iter().for_each(|name| advise(name, &count));
        }
        let set = opening.set.iter();
        variables.extend(set.map(|(name, value)| (name.into(), value.into())));
        // By this, what a killed runner leaves behind is found again: nobody may
        // set it to something else.
        variables.push(("PACELINE_RUN_DIR".into(), opening.dir.into()));
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::NodeName;

    /// What a command finds under these names, given what it inherits and what is
    /// set for it.
    fn check(inherited: &[(&str, &str)], set: &[(&str, &str)], expected: &[(&str, Option<&str>)]) {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let host = Host {
            machine: Machine {
                node: NodeName::from_host("here"),
                os: "Linux".to_owned(),
                kernel: String::new(),
                architecture: String::new(),
                cpu_model: None,
                cpus_count: 4,
                memory_bytes: None,
            },
            environment: inherited.iter().map(owned).collect(),
            git: None,
            recorded: RecordedEnv {
                keep: Vec::new(),
                drop: vec!["SECRET_*".to_owned()],
            },
        };
        let set: Vec<(String, String)> = set.iter().map(owned).collect();
        let cpus = CpuSet::parse("0-1").expect("two cpus");
        let opening = Opening {
            id: RunId::new("r1").expect("an id"),
            name: None,
            argv: vec!["true".to_owned()],
            cwd: PathBuf::from("/"),
            dir: Path::new("/runs/r1"),
            set: &set,
            cpus: Some(&cpus),
            memory_bytes: None,
            timeout: None,
            interval: Interval::new(Duration::from_secs(1)).expect("a second"),
            factors: IndexMap::new(),
            machines: Vec::new(),
            cluster: None,
        };
        let start = host.start(&opening, &RunClock::start());
        for (name, value) in expected {
            let found = start.env.get(*name).map(String::as_str);
            assert_eq!(found, *value, "{name}");
        }
    }

    #[test]
    fn libraries_are_told_how_many_cpus_there_are() {
        check(
            &[],
            &[],
            &[
                ("OMP_NUM_THREADS", Some("2")),
                ("RAYON_NUM_THREADS", Some("2")),
                ("PYTHONUNBUFFERED", Some("1")),
                ("PACELINE_RUN_DIR", Some("/runs/r1")),
                ("PACELINE_EVENTS", Some("/runs/r1/live/reports.jsonl")),
            ],
        );
    }

    #[test]
    fn what_the_user_set_holds_wherever_it_was_set() {
        check(
            &[
                ("OMP_NUM_THREADS", "1"),
                ("PYTHONUNBUFFERED", ""),
                ("SECRET_PLACE", "here"),
            ],
            &[("MKL_NUM_THREADS", "7")],
            &[
                ("OMP_NUM_THREADS", Some("1")),
                ("PYTHONUNBUFFERED", Some("")),
                ("MKL_NUM_THREADS", Some("7")),
                ("OPENBLAS_NUM_THREADS", Some("2")),
                ("SECRET_PLACE", None),
            ],
        );
    }

    #[test]
    fn a_variable_for_one_command_overrides_the_environment() {
        check(
            &[("OMP_NUM_THREADS", "1")],
            &[("OMP_NUM_THREADS", "3"), ("PACELINE_RUN_DIR", "/elsewhere")],
            &[
                ("OMP_NUM_THREADS", Some("3")),
                ("PACELINE_RUN_DIR", Some("/runs/r1")),
            ],
        );
    }
}
