//! Whose an event file is: the run of the process that has it open.
//!
//! Runs of a study may go on side by side in one working directory. A process is
//! known by its environment, as [`paceline_engine::leftovers`] knows it.

use paceline_engine::leftovers::{environment, is_in};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who has a file open for writing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// A process of the run; with the rank that it was given.
    Ours { rank: Option<u32> },
    /// A process of something else.
    Another,
    /// No process that can be looked into.
    Nobody,
}

/// Looks through the processes for one that has `path` open.
pub(super) fn of(path: &Path, run_dir: &Path) -> Writer {
    let (Ok(file), Ok(processes)) = (path.metadata(), std::fs::read_dir("/proc")) else {
        return Writer::Nobody;
    };
    let own = std::process::id();
    let mut another = false;
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if number == own || !has_open(number, &file) {
            continue;
        }
        let Some(environment) = environment(number) else {
            continue;
        };
        if is_in(&environment, run_dir.as_os_str()) {
            return Writer::Ours {
                rank: rank(&environment),
            };
        }
        another = true;
    }
    match another {
        true => Writer::Another,
        false => Writer::Nobody,
    }
}

fn has_open(number: u32, file: &std::fs::Metadata) -> bool {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{number}/fd")) else {
        return false;
    };
    descriptors.flatten().any(|descriptor| {
        // Whoever only reads, such as TensorBoard, is not its writer.
        let is_it = |open: std::fs::Metadata| (open.dev(), open.ino()) == (file.dev(), file.ino());
        descriptor.path().metadata().is_ok_and(is_it) && writes(number, &descriptor.file_name())
    })
}

fn writes(number: u32, descriptor: &std::ffi::OsStr) -> bool {
    let path = format!("/proc/{number}/fdinfo/{}", descriptor.to_string_lossy());
    let Ok(text) = std::fs::read_to_string(path) else {
        return false;
    };
    let mut flags = text.lines().filter_map(|line| line.strip_prefix("flags:"));
    let flags = flags.next().map(str::trim);
    // The last two bits of the octal flags say how it is open: 0 is for reading.
    flags
        .and_then(|flags| flags.chars().last()?.to_digit(8))
        .is_some_and(|last| last & 3 != 0)
}

/// The rank that a launcher has given the process: torchrun's and Paceline's.
fn rank(environment: &[u8]) -> Option<u32> {
    let mut variables = environment.split(|&byte| byte == 0);
    let rank = variables.find_map(|variable| variable.strip_prefix(b"RANK="))?;
    std::str::from_utf8(rank).ok()?.parse().ok()
}
