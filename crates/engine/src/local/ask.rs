//! Small dealings with other programs and the kernel.

use paceline_probe::cgroup::CpuSet;
use std::io::{self, Read};
use std::process::Stdio;

/// More output than this is cut off: nobody asks for so much.
const MOST_BYTES: u64 = 64 << 20;

/// What a program prints, if it is there and succeeds.
#[must_use]
pub fn output_of(program: &str, args: &[&str]) -> Option<Vec<u8>> {
    answer_of(program, args)
        .filter(|(code, _)| *code == 0)
        .map(|(_, output)| output)
}

/// As [`output_of`], with the exit code whatever it is; nothing if the program
/// cannot be started or was ended by a signal.
pub fn answer_of(program: &str, args: &[&str]) -> Option<(i32, Vec<u8>)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the engine is where processes start"
    )]
    let mut command = std::process::Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut output = Vec::new();
    let read = child
        .stdout
        .take()?
        .take(MOST_BYTES)
        .read_to_end(&mut output);
    let status = child.wait().ok()?;
    read.ok()?;
    Some((status.code()?, output))
}

/// The CPUs that this process, and so its children, may use.
///
/// # Errors
/// If the kernel does not tell.
pub fn usable_cpus() -> io::Result<CpuSet> {
    let mask = rustix::thread::sched_getaffinity(None)?;
    let cores = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&core| mask.is_set(core));
    let list: Vec<String> = cores.map(|core| core.to_string()).collect();
    CpuSet::parse(&list.join(","))
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Ends a process at once. Returns whether there was one.
#[must_use]
pub fn end_process(number: u32) -> bool {
    let pid = i32::try_from(number)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok())
}
