//! Processes of a run that are still there.
//!
//! A process is known by its environment, which every descendant of a command
//! inherits; its number proves nothing, because numbers are used again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The variable that every command gets: where its run is recorded.
pub(crate) const MARK: &str = "PACELINE_RUN_DIR";

/// Rounds of looking for processes that are to be ended: what is ended in one may
/// have started others meanwhile.
const ROUNDS: usize = 20;

/// A process of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(crate) number: u32,
    pub(crate) name: String,
}

/// The processes of the run recorded in `dir`, or in a directory below it.
pub(crate) fn of(dir: &OsStr) -> Vec<Leftover> {
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
pub(crate) fn end(dir: &Path) -> usize {
    let mut ended = 0;
    for _ in 0..ROUNDS {
        let found = of(dir.as_os_str());
        let count = found
            .iter()
            .filter(|it| paceline_engine::host::end_process(it.number))
            .count();
        ended += count;
        if count == 0 {
            break;
        }
    }
    ended
}

fn belongs(number: u32, dir: &OsStr) -> bool {
    // Of another user's process we may read nothing, and it is not ours; one that
    // has exited and was not waited for has no environment.
    let Ok(environment) = std::fs::read(format!("/proc/{number}/environ")) else {
        return false;
    };
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
    match paceline_engine::warden::was_killed() {
        true => end(dir),
        false => 0,
    }
}
