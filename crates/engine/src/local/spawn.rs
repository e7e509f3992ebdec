//! Starting one command.

use super::StartError;
use super::kernel::BeforeExec;
use super::orphans::Registry;
use crate::launch::{Command, Leftovers, Stdin};
use paceline_probe::cgroup::{CpuSet, Entry};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal};
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A started command: its process, which also leads its process group, and the
/// reading ends of its streams.
pub(super) struct Spawned {
    pub(super) pid: Pid,
    pub(super) out: OwnedFd,
    pub(super) err: OwnedFd,
}

/// Starts `command`, a member of `cgroup` before its first instruction.
pub(super) fn spawn(
    command: &Command,
    stdin: Stdin,
    foreground: bool,
    leftovers: Leftovers,
    cgroup: Option<Entry>,
) -> Result<Spawned, StartError> {
    let (program, args) = command.argv.split_first().ok_or(StartError::Empty)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the engine is where processes start"
    )]
    let mut prepared = std::process::Command::new(program);
    prepared
        .args(args)
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(match stdin {
            Stdin::Inherit => Stdio::inherit(),
            Stdin::Null => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(cwd) = &command.cwd {
        prepared.current_dir(cwd);
    }
    BeforeExec {
        cgroup,
        cpus: command.cpus.as_ref().map(mask).transpose()?,
        foreground,
        // Without us nobody reads its output or would ever run it again. A run
        // that must not disturb the next one goes at once; any other may close
        // its files first.
        when_orphaned: match leftovers {
            Leftovers::End => Signal::KILL,
            Leftovers::Leave => Signal::TERM,
        },
    }
    .install(&mut prepared);

    let mut registry = Registry::lock();
    let mut child = prepared
        .spawn()
        .map_err(|cause| refused(command, program, cause))?;
    let pid = Pid::from_child(&child);
    registry.add(pid);
    let out = child
        .stdout
        .take()
        .expect("stdout was asked to be a pipe")
        .into();
    let err = child
        .stderr
        .take()
        .expect("stderr was asked to be a pipe")
        .into();
    Ok(Spawned { pid, out, err })
}

fn mask(cpus: &CpuSet) -> Result<rustix::thread::CpuSet, StartError> {
    let mut mask = rustix::thread::CpuSet::new();
    for &core in cpus.cores() {
        let core = core as usize;
        if core >= rustix::thread::CpuSet::MAX_CPU {
            return Err(StartError::NoSuchCpus(cpus.to_string()));
        }
        mask.set(core);
    }
    Ok(mask)
}

/// Says what exactly the system did not find or allow.
fn refused(command: &Command, program: &OsStr, cause: io::Error) -> StartError {
    let name = || program.to_string_lossy().into_owned();
    if let Some(cwd) = command.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        return StartError::NoDirectory(cwd.clone());
    }
    match cause.kind() {
        io::ErrorKind::NotFound => StartError::NotFound(name()),
        io::ErrorKind::PermissionDenied => StartError::NotExecutable(name()),
        // The mask named only CPUs that this machine, or our own mask, lacks.
        io::ErrorKind::InvalidInput if command.cpus.is_some() => {
            let cpus = command
                .cpus
                .as_ref()
                .map(CpuSet::to_string)
                .unwrap_or_default();
            StartError::NoSuchCpus(cpus)
        }
        _ => StartError::Refused {
            program: name(),
            cause,
        },
    }
}

/// Whether `program` could be started, without starting it: the file that the
/// search path leads to.
///
/// # Errors
/// The same as starting would give.
pub fn find_program(
    program: &OsStr,
    cwd: Option<&Path>,
    search_path: Option<&OsStr>,
) -> Result<PathBuf, StartError> {
    use std::os::unix::ffi::OsStrExt;
    let name = || program.to_string_lossy().into_owned();
    let runs = |path: &Path| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if program.as_bytes().contains(&b'/') {
        let path = cwd.unwrap_or(Path::new(".")).join(program);
        return match (path.exists(), runs(&path)) {
            (false, _) => Err(StartError::NotFound(name())),
            (true, false) => Err(StartError::NotExecutable(name())),
            (true, true) => Ok(path),
        };
    }
    search_path
        .map(|path| std::env::split_paths(path).map(|dir| dir.join(program)))
        .into_iter()
        .flatten()
        .find(|path| runs(path))
        .ok_or_else(|| StartError::NotFound(name()))
}
