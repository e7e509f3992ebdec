//! The processes of a job: started, found again, stopped and moved.

use crate::place::JobPlace;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts Paceline's own program beside this process: it stays when this one goes.
///
/// # Errors
/// If it cannot be started.
#[expect(
    clippy::disallowed_methods,
    reason = "a job's runner must outlive the server, which no engine's command does"
)]
pub(crate) fn start(
    program: &Path,
    args: &[String],
    cwd: Option<&Path>,
    log: &Path,
    cpus: &[u32],
) -> io::Result<Child> {
    use std::os::unix::process::CommandExt;
    let out = fs::File::options().create(true).append(true).open(log)?;
    let err = out.try_clone()?;
    let mut command = Command::new(program);
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        // Ctrl-C at the server's terminal is not meant for the jobs.
        .process_group(0);
    // A child has the CPUs of the thread that started it, from its first instruction.
    let own = sched_getaffinity(None)?;
    if !cpus.is_empty() {
        sched_setaffinity(None, &set_of(cpus))?;
    }
    let child = command.spawn();
    sched_setaffinity(None, &own)?;
    child
}

/// The processes below `root`, without it.
fn below(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name of the program stands in brackets and may hold anything.
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| {
            let mut words = rest.split_whitespace();
            words.nth(1)?.parse().ok()
        });
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        for &child in children.get(&pid).into_iter().flatten() {
            found.push(child);
            open.push(child);
        }
    }
    found
}

/// Lets a process, and whatever it starts from now on, use these CPUs alone.
fn pin(pid: u32, cpus: &[u32]) {
    let Some(first) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    if cpus.is_empty() {
        return;
    }
    let set = set_of(cpus);
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    for task in tasks.into_iter().flatten().flatten() {
        let task = task.file_name().to_str().and_then(|task| task.parse().ok());
        // One that has just ended needs no CPUs.
        if let Some(task) = task.and_then(Pid::from_raw) {
            let _ = sched_setaffinity(Some(task), &set);
        }
    }
    let _ = sched_setaffinity(Some(first), &set);
}

fn set_of(cpus: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    set
}

/// Moves a job's runner and everything below it to these CPUs.
pub(crate) fn move_to(runner: u32, cpus: &[u32]) {
    pin(runner, cpus);
    below(runner).into_iter().for_each(|pid| pin(pid, cpus));
}

/// Stops or continues everything below a job's runner; the runner itself goes on, so
/// that the record goes on.
pub(crate) fn hold(runner: u32, stop: bool) {
    let signal = if stop { Signal::STOP } else { Signal::CONT };
    for pid in below(runner) {
        send(pid, signal);
    }
}

/// Asks a job's runner to end the job and close its record.
pub(crate) fn end(runner: u32) {
    hold(runner, false);
    send(runner, Signal::TERM);
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // One that has ended needs no signal.
        let _ = kill_process(pid, signal);
    }
}

/// The process that runs the job in `dir`, by its command line: a server that was
/// started anew did not start it.
pub(crate) fn runner_of(place: &JobPlace) -> Option<u32> {
    let (job, record) = (place.path().to_owned(), place.record());
    let is_it = |word: &[u8]| {
        word == job.as_os_str().as_encoded_bytes() || word == record.as_os_str().as_encoded_bytes()
    };
    let entries = fs::read_dir("/proc").ok()?;
    entries.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).skip(1).take(6).collect();
        let runs = matches!(words.first(), Some(&b"job" | &b"run"));
        (runs && words.iter().any(|word| is_it(word))).then_some(pid)
    })
}
