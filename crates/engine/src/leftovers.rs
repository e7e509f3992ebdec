//! Processes of a run that are still there.
//!
//! A cgroup would hold them all, but not every machine gives one. A process is known by its environment, which every descendant of a command
//! inherits; its number proves nothing, because numbers are used again.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// The variable that every command gets: where its run is recorded.
pub const MARK: &str = "PACELINE_RUN_DIR";

/// Rounds of looking for processes that are to be ended: what is ended in one may
/// have started others meanwhile.
const ROUNDS: usize = 40;
/// Rounds in a row that must find nothing. One is not enough: a process has no
/// environment while it becomes another program.
const QUIET_ROUNDS: usize = 3;
const PAUSE: Duration = Duration::from_millis(3);

/// A process of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its number.
    pub number: u32,
    /// Its program's name, as the kernel keeps it.
    pub name: String,
}

/// The processes of the run recorded in `dir`, or in a directory below it.
#[must_use]
pub fn of(dir: &OsStr) -> Vec<Leftover> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let own = std::process::id();
    let numbers = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|&number: &u32| number != own && belongs(number, dir))
        .map(|number| Leftover {
            number,
            name: std::fs::read_to_string(format!("/proc/{number}/comm"))
                .map_or_else(|_| String::new(), |name| name.trim_end().to_owned()),
        })
        .collect()
}

/// Ends every process of the run recorded in `dir`, or in a directory below it,
/// and says how many there were.
pub fn end(dir: &Path) -> usize {
    // A process is seen until it has gone, which may take several rounds.
    let mut ended = BTreeSet::new();
    let mut quiet = 0;
    for _ in 0..ROUNDS {
        let found = of(dir.as_os_str()).into_iter().map(|it| it.number);
        let found: Vec<u32> = found.filter(|&it| crate::host::end_process(it)).collect();
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        ended.extend(found);
        if quiet == QUIET_ROUNDS {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    ended.len()
}

fn belongs(number: u32, dir: &OsStr) -> bool {
    environment(number).is_some_and(|environment| is_in(&environment, dir))
}

/// The variables of a process, each ended by a zero. Of another user's process we may
/// read nothing, and it is not ours; one that has exited and was not waited for has
/// no environment.
#[must_use]
pub fn environment(number: u32) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{number}/environ")).ok()
}

/// Whether these are the variables of a process of the run recorded in `dir`, or in a
/// directory below it.
#[must_use]
pub fn is_in(environment: &[u8], dir: &OsStr) -> bool {
    environment.split(|&byte| byte == 0).any(|variable| {
        let rest = variable
            .strip_prefix(MARK.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .and_then(|rest| rest.strip_prefix(dir.as_bytes()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}

/// Waits at the side of a run or a study; if its runner is killed, ends the
/// processes that it leaves behind. Returns how many there were.
pub fn guard(dir: &Path) -> usize {
    match crate::warden::was_killed() {
        true => end(dir),
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sleeper(dir: &Path) -> std::process::Child {
        #[expect(clippy::disallowed_methods, reason = "tests start what they look for")]
        let mut command = Command::new("sleep");
        let command = command.arg("1000").env(MARK, dir);
        command.stdin(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn every_process_below_the_directory_is_ended_and_counted_once() {
        let dir = std::env::temp_dir().join(format!("left-{}", std::process::id()));
        let mut inside = [sleeper(&dir), sleeper(&dir.join("run-1"))];
        let mut beside = sleeper(&dir.with_extension("other"));
        assert_eq!(end(&dir), 2);
        for child in &mut inside {
            assert_eq!(child.wait().unwrap().code(), None);
        }
        assert!(of(dir.as_os_str()).is_empty());
        assert!(beside.try_wait().unwrap().is_none());
        beside.kill().unwrap();
        beside.wait().unwrap();
    }
}
