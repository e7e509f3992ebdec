//! The real binary, as tests start it.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod members;
pub(crate) mod real_cluster;
pub(crate) mod sshd;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `paceline` with its arguments, in `dir`, without a terminal.
pub(crate) fn paceline<S: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests start the real binary")]
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(args).current_dir(dir).stdin(Stdio::null());
    // Tests share what they parse with one another, not with the user.
    command.env(
        "PACELINE_CACHE",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/data"),
    );
    command
}

/// Runs `paceline` to its end.
pub(crate) fn run<S: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> Ran {
    let output = paceline(dir, args)
        .output()
        .expect("the binary can be started");
    Ran::from(output)
}

/// How a command ended and what it printed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Asserts the exit code and that stderr says `what`.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, what: &str) {
        assert_eq!(self.code, Some(code), "stderr: {}", self.err);
        assert!(self.err.contains(what), "`{what}` is not in: {}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}

/// A small generator (splitmix64) whose seed a failing test prints.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Sends a signal to a process that the test started.
pub(crate) fn signal(pid: u32, name: &str) {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests signal their own processes"
    )]
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status();
    assert!(status.expect("kill can be started").success());
}

/// Ends a process that the test started, by the number it wrote down.
pub(crate) fn kill_noted(pid: &str) {
    signal(pid.parse().expect("a process number"), "KILL");
}

/// Waits until a process has printed a line, so that no test sleeps.
pub(crate) fn await_line(from: &mut impl std::io::Read) {
    let mut byte = [0];
    while byte[0] != b'\n' {
        assert_eq!(
            from.read(&mut byte).expect("the pipe is open"),
            1,
            "it ended too early"
        );
    }
}

/// The same command, whose files may not grow beyond 1 MiB. The signal that
/// comes with it is ignored, so that the write fails instead.
pub(crate) fn limited_to_a_mebibyte(command: &Command) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests start the real binary")]
    let mut limited = Command::new("sh");
    // POSIX counts in blocks of 512 bytes.
    let script = r#"trap '' XFSZ; ulimit -f 2048; exec "$0" "$@""#;
    limited.args(["-c", script]);
    limited.arg(command.get_program()).args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        limited.current_dir(dir);
    }
    limited.stdin(Stdio::null());
    limited
}

/// Whether a program runs and succeeds; what it prints is not shown.
pub(crate) fn succeeds(program: &str, args: &[&str]) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests prepare their surroundings"
    )]
    let mut command = Command::new(program);
    command
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
