//! Where and on what a run takes place: the machine, the environment, the
//! repository.

use crate::failure::Failure;
use crate::quantity::Cpus;
use anyhow::Context;
use paceline_data::Cache;
use paceline_engine::host::output_of;
use paceline_model::RunId;
use paceline_probe::Roots;
use paceline_probe::cgroup::CpuSet;
use paceline_records::GitState;
use paceline_runner::{Host, RecordedEnv};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::path::PathBuf;

/// The CPUs that a wish for CPUs means here.
pub(crate) fn choose(cpus: &Cpus) -> Result<CpuSet, Failure> {
    let own = paceline_engine::host::usable_cpus()
        .context("cannot read this process's cpus")
        .map_err(Failure::world)?;
    match cpus {
        Cpus::Exactly(set) => match set.cores().iter().find(|core| !own.cores().contains(core)) {
            None => Ok(set.clone()),
            Some(core) => Err(
                Failure::user(anyhow::anyhow!("cpu {core} cannot be used here"))
                    .hint(format!("the cpus that can: {own}")),
            ),
        },
        Cpus::Count(count) if *count > own.cores().len() => {
            Err(Failure::user(anyhow::anyhow!("{count} cpus are asked for"))
                .hint(format!("{} can be used here: {own}", own.cores().len())))
        }
        Cpus::Count(count) => {
            let list: Vec<String> = own.cores()[..*count].iter().map(u32::to_string).collect();
            CpuSet::parse(&list.join(",")).map_err(Failure::user)
        }
    }
}

/// So many CPUs of a node that is not this machine: the node chooses which.
pub(crate) fn count(cpus: &Cpus) -> Result<CpuSet, Failure> {
    let last = match cpus {
        Cpus::Count(count) => count.saturating_sub(1),
        Cpus::Exactly(_) => {
            return Err(Failure::user(anyhow::anyhow!(
                "on other nodes cpus can be counted, not chosen"
            ))
            .hint("--cpus 2 takes two of each node"));
        }
    };
    CpuSet::parse(&format!("0-{last}")).map_err(Failure::user)
}

/// Where Paceline's own program is, for the parts of it that run as processes.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .context("cannot tell where Paceline's own program is")
        .map_err(Failure::world)
}

pub(crate) fn working_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .context("cannot tell the working directory")
        .map_err(Failure::world)
}

/// What of the environment is recorded.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RecordedEnvArgs {
    /// Record this variable although it looks like a secret; may be repeated
    #[arg(long, value_name = "NAME")]
    keep_env: Vec<String>,
    /// Record no variables of such names, as in 'CI_*'; may be repeated
    #[arg(long, value_name = "PATTERN")]
    drop_env: Vec<String>,
}

impl RecordedEnvArgs {
    pub(crate) fn to_rule(&self) -> RecordedEnv {
        RecordedEnv {
            keep: self.keep_env.clone(),
            drop: self.drop_env.clone(),
        }
    }
}

/// Where commands are started from here.
pub(crate) fn host(roots: &Roots) -> Host {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    Host {
        machine: paceline_probe::detect_machine(roots),
        environment: std::env::vars_os()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
        git: git_state(),
        recorded: RecordedEnv::default(),
    }
}

/// Where parsed data sets are kept: `$PACELINE_CACHE`, or `paceline` among the
/// user's caches. An empty `$PACELINE_CACHE` means nowhere.
pub(crate) fn data_cache() -> Option<Cache> {
    let directory = match variable("PACELINE_CACHE") {
        Some(own) => (!own.is_empty()).then(|| PathBuf::from(own)),
        None => {
            let set = |name| variable(name).filter(|value| !value.is_empty());
            let caches = set("XDG_CACHE_HOME").map(PathBuf::from);
            let of_home = || set("HOME").map(|home| PathBuf::from(home).join(".cache"));
            // The XDG base directory specification has relative paths ignored.
            let caches = caches.filter(|path| path.is_absolute()).or_else(of_home);
            caches.map(|caches| caches.join("paceline"))
        }
    }?;
    Some(Cache::new(directory, Cache::DEFAULT_LIMIT_BYTES))
}

#[expect(clippy::disallowed_methods, reason = "the cli reads the environment")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub(crate) fn search_path() -> Option<OsString> {
    variable("PATH")
}

/// Where Spark's settings lie, as the command's environment says.
pub(crate) fn spark_settings(set: &[(String, String)]) -> Option<PathBuf> {
    let get = |name: &str| {
        let own = set.iter().rev().find(|(own, _)| own == name);
        own.map(|(_, value)| OsString::from(value))
            .or_else(|| variable(name))
    };
    get("SPARK_CONF_DIR")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(get("SPARK_HOME")?).join("conf")))
}

/// A run's id, told apart from runs of the same id elsewhere on this host.
pub(crate) fn unique_on_host(id: &RunId) -> RunId {
    let pid = std::process::id();
    let short: String = id.as_str().chars().take(80).collect();
    RunId::new(&format!("{short}.{pid}")).expect("an id with a number at its end is an id")
}

/// The state of the repository around the working directory, if there is one
/// and `git` can tell.
fn git_state() -> Option<GitState> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|dir| dir.join(".git").exists())?;
    let commit = output_of("git", &["rev-parse", "HEAD"])?;
    let diff = output_of("git", &["diff", "--no-ext-diff", "HEAD"]);
    Some(GitState {
        commit: String::from_utf8(commit).ok()?.trim().to_owned(),
        dirty: diff.as_ref().map(|diff| !diff.is_empty()),
        diff_hash: diff.filter(|diff| !diff.is_empty()).map(|diff| {
            Sha256::digest(&diff)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect()
        }),
    })
}
