//! A process that outlives us, to end what we started if we are killed.
//!
//! The kernel ends a command when we die (`PR_SET_PDEATHSIG`), but not what the
//! command has started, and nobody is left to empty its cgroup. So a second
//! process, the same program, waits at a pipe whose other end only we hold. If
//! the pipe closes without a word, we were killed.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Stdio};

/// The command of the program that becomes the warden.
pub const WARDEN: &str = "warden";

/// The warden of a run or a study, as long as it is needed.
#[derive(Debug)]
pub struct Warden {
    pipe: ChildStdin,
}

impl Warden {
    /// Starts `program`, which is Paceline itself, as the warden of what is
    /// recorded in `dir`.
    ///
    /// The process that is started here starts the warden and ends, so that the
    /// warden is not among our own processes and in nobody's samples.
    ///
    /// # Errors
    /// If it cannot be started: then what a command has started may outlive us.
    pub fn start(program: &Path, dir: &Path) -> io::Result<Self> {
        let subreaper = rustix::process::child_subreaper()?;
        // An orphan would be ours again.
        rustix::process::set_child_subreaper(None)?;
        let started = Self::spawn(program, dir);
        rustix::process::set_child_subreaper(subreaper)?;
        started
    }

    fn spawn(program: &Path, dir: &Path) -> io::Result<Self> {
        let mut first = command(program, dir)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pipe = first.stdin.take().expect("stdin was asked to be a pipe");
        match first.wait()?.success() {
            true => Ok(Self { pipe }),
            false => Err(io::Error::other("the warden did not start")),
        }
    }

    /// All is well: the warden ends.
    pub fn dismiss(mut self) {
        // A warden that has gone needs no word.
        let _ = self.pipe.write_all(b".");
    }
}

/// Starts the warden itself, with our own stdin.
///
/// # Errors
/// If it cannot be started.
pub fn start_on_duty(program: &Path, dir: &Path) -> io::Result<()> {
    command(program, dir)
        .arg("--on-duty")
        .stdin(Stdio::inherit())
        .process_group(0)
        .spawn()
        .map(drop)
}

/// Waits until whoever started the warden has gone; true if it was killed.
#[must_use]
pub fn was_killed() -> bool {
    let mut word = [0];
    // An error is the end of the pipe as well.
    !matches!(io::stdin().read(&mut word), Ok(1))
}

fn command(program: &Path, dir: &Path) -> std::process::Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the engine is where processes start"
    )]
    let mut command = std::process::Command::new(program);
    command
        .arg(WARDEN)
        .arg(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}
