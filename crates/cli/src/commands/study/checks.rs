//! Everything that can be checked before the first run.

use crate::commands::train;
use crate::context;
use crate::failure::Failure;
use anyhow::anyhow;
use paceline_engine::host::find_program;
use paceline_model::Level;
use paceline_probe::Roots;
use paceline_probe::cgroup::{CpuSet, Layout, Version};
use paceline_records::study::Plan;
use paceline_study::{CheckpointUse, EngineKind, Job, RunFacts, Study};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

/// Refuses a study of which some run is bound to fail. `constants` are those that
/// its runs have otherwise than the study says.
pub(in crate::commands) fn check(
    study: &Study,
    plan: &Plan,
    base: &Path,
    cpus: &CpuSet,
    parallel: usize,
    constants: &[(String, Level)],
) -> Result<(), Failure> {
    let available = cpus.cores().len() / parallel.clamp(1, cpus.cores().len());
    let mut seen = BTreeSet::new();
    let is_here = study.engine().kind == EngineKind::Local;
    for trial in &plan.trials {
        let share = study.share_of(&trial.levels);
        if let Some(wanted) = share
            .cpus
            .filter(|&wanted| is_here && wanted as usize > available)
        {
            return Err(
                Failure::user(anyhow!("a trial wants {wanted} cpus")).hint(format!(
                    "each run can have {available} here (--parallel {parallel})"
                )),
            );
        }
        if is_here && share.memory_bytes.is_some() && !can_limit_memory() {
            return Err(
                Failure::world(anyhow!("a trial limits memory, and this machine cannot"))
                    .hint("`paceline doctor` says what is missing"),
            );
        }
        let facts = RunFacts {
            checkpoint_dir: String::new(),
            event_log_dir: String::new(),
            checkpoint: CheckpointUse::None,
            constants: constants.to_vec(),
            seed: 0,
            run_id: "check".to_owned(),
            run_dir: base.to_string_lossy().into_owned(),
            replicate: 0,
            program: context::program()?.to_string_lossy().into_owned(),
        };
        let line = study
            .command_for(&trial.levels, &facts)
            .map_err(Failure::user)?;
        if matches!(study.job(), Job::Train(_)) {
            train::check_command(&line.argv)?;
        }
        // What other nodes have is theirs to say.
        if !is_here {
            continue;
        }
        let cwd = base.join(line.cwd.as_deref().unwrap_or("."));
        let program = line.argv.first().cloned().unwrap_or_default();
        if !seen.insert((program.clone(), cwd.clone())) {
            continue;
        }
        if !cwd.is_dir() {
            return Err(Failure::user(anyhow!(
                "the working directory {} does not exist",
                cwd.display()
            ))
            .hint("[job] cwd is relative to the study file"));
        }
        let path = line
            .env
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.into());
        let path = path.or_else(crate::context::search_path);
        find_program(OsStr::new(&program), Some(&cwd), path.as_deref()).map_err(|error| {
            Failure::user(error).hint("[job] command names it; it must be on the PATH or a path")
        })?;
    }
    Ok(())
}

fn can_limit_memory() -> bool {
    let layout = Layout::detect(&Roots::default());
    layout.memory.is_some()
        || (layout.version() != Version::None
            && layout
                .unified_controllers
                .iter()
                .any(|controller| controller == "memory"))
}
