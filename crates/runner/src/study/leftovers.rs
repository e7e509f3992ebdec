//! Ending what a killed runner has left behind.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Ends every process that belongs to the run recorded in `dir`, and says how
/// many there were.
///
/// A runner that is killed takes its commands with it, but not what they have
/// started. A process is known by its environment, which every descendant of a
/// command inherits; its number proves nothing, because numbers are used again.
pub(super) fn end(dir: &Path) -> usize {
    let mut mark = b"PACELINE_RUN_DIR=".to_vec();
    mark.extend_from_slice(dir.as_os_str().as_bytes());
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let own = std::process::id();
    let numbers = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut ended = 0;
    for number in numbers.filter(|&number: &u32| number != own) {
        // Of another user's process we may read nothing, and it is not ours.
        let Ok(environment) = std::fs::read(format!("/proc/{number}/environ")) else {
            continue;
        };
        let belongs = environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == mark);
        if belongs && paceline_engine::host::end_process(number) {
            ended += 1;
        }
    }
    ended
}
