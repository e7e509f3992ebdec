//! Daemons of a cluster: started in a node, found again, ended.

use super::ledger::{Ledger, Made, Node};
use crate::shell;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A command that runs inside `node`: its network, its name, its mounts.
pub(crate) fn inside(node: &Node, words: &[&str]) -> Command {
    let folder = std::env::current_dir().unwrap_or_default();
    let mut command = shell::command(
        "nsenter",
        &[
            "--target",
            &node.holder.to_string(),
            "--net",
            "--uts",
            "--mount",
        ],
    );
    // Looked up inside: a folder of this mount namespace has no path in another.
    command.arg(format!("--wdns={}", folder.display()));
    command.arg("--").args(words);
    command
}

/// Starts `command` as a daemon: a session of its own, its output in `log`,
/// written down in the ledger.
pub(crate) fn daemon(
    ledger: &mut Ledger,
    node: &Node,
    what: &str,
    log: &Path,
    words: &[&str],
    environment: &[(&str, &str)],
) -> Result<()> {
    // nsenter and setsid replace themselves, so that the child is the daemon.
    let words: Vec<&str> = std::iter::once("setsid")
        .chain(words.iter().copied())
        .collect();
    let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut command = inside(node, &words);
    command
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {what} on {}", node.name))?;
    let started = started(child.id()).with_context(|| {
        format!(
            "{what} on {} ended at once; see {}",
            node.name,
            log.display()
        )
    })?;
    ledger.record(Made::Process {
        pid: child.id(),
        started,
        what: format!("{what} on {}", node.name),
    })
}

/// When a process started, in ticks since the machine did; nothing if it is
/// gone or only waits to be reaped.
pub(crate) fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything, also parentheses.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start)
}

/// True if the process with this id is the one that started then.
pub(crate) fn lives(pid: u32, start: u64) -> bool {
    started(pid) == Some(start)
}

/// Asks a process to end; ends it by force after five seconds.
pub(crate) fn end(pid: u32, start: u64) -> Result<()> {
    if !lives(pid, start) {
        return Ok(());
    }
    shell::answers("kill", &["-TERM", &pid.to_string()]);
    if until(50, || !lives(pid, start)).is_ok() {
        return Ok(());
    }
    shell::answers("kill", &["-KILL", &pid.to_string()]);
    until(50, || !lives(pid, start)).with_context(|| format!("process {pid} does not end"))
}

/// Ends all of `pids` by force.
pub(crate) fn end_all(pids: &[u32]) -> Result<()> {
    let alive: Vec<(u32, u64)> = pids
        .iter()
        .filter_map(|pid| Some((*pid, started(*pid)?)))
        .collect();
    for (pid, _) in &alive {
        shell::answers("kill", &["-KILL", &pid.to_string()]);
    }
    until(50, || alive.iter().all(|(pid, start)| !lives(*pid, *start)))
        .with_context(|| format!("some of the processes {pids:?} do not end"))
}

/// Every process in a network namespace.
pub(crate) fn in_namespace(name: &str) -> Result<Vec<u32>> {
    shell::output("ip", &["netns", "pids", name])?
        .lines()
        .map(|line| {
            line.trim()
                .parse()
                .context("`ip netns pids` prints numbers")
        })
        .collect()
}

/// Looks `tenths` times, a tenth of a second apart, whether `done`.
pub(crate) fn until(tenths: u32, mut done: impl FnMut() -> bool) -> Result<()> {
    for _ in 0..tenths {
        if done() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    if done() {
        return Ok(());
    }
    bail!("not after {} s", tenths / 10)
}

/// Waits until a cluster is ready; fails early when one of its daemons has died.
pub(crate) fn ready(
    ledger: &Ledger,
    tenths: u32,
    what: &str,
    logs: &Path,
    mut is_ready: impl FnMut() -> bool,
) -> Result<()> {
    let mut dead = Vec::new();
    let waited = until(tenths, || {
        dead = ledger.dead().into_iter().map(str::to_owned).collect();
        !dead.is_empty() || is_ready()
    });
    if let Some(first) = dead.first() {
        bail!("{first} died while {what} were awaited\n{}", tails(logs));
    }
    waited.with_context(|| format!("{what} are not there\n{}", tails(logs)))
}

/// The last lines of every log: the folder goes with the failed cluster.
fn tails(logs: &Path) -> String {
    let mut text = String::new();
    let mut files: Vec<_> = fs::read_dir(logs).into_iter().flatten().flatten().collect();
    files.sort_by_key(fs::DirEntry::path);
    for file in files {
        let Ok(bytes) = fs::read(file.path()) else {
            continue;
        };
        let content = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = content.lines().collect();
        for line in &lines[lines.len().saturating_sub(5)..] {
            text.push_str(&format!(
                "  {}: {line}\n",
                file.file_name().to_string_lossy()
            ));
        }
    }
    text
}
