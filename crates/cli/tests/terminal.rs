//! `paceline run` at a terminal, which `script` of util-linux provides.

mod support;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::Ran;

/// How a terminal is told to show, and to leave, its other screen.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// Shell commands at a terminal of their own; `$paceline` is the binary. The time
/// limit only ends a test that would otherwise wait for ever.
fn terminal(dir: &Path, commands: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests start their own terminal")]
    let mut command = Command::new("timeout");
    command
        .args([
            "120",
            "script",
            "--quiet",
            "--return",
            "--command",
            commands,
        ])
        .arg("/dev/null")
        .current_dir(dir)
        .env("paceline", env!("CARGO_BIN_EXE_paceline"))
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null());
    command
}

/// Runs shell commands at a terminal to their end.
fn at_a_terminal(dir: &Path, commands: &str) -> Ran {
    let output = terminal(dir, commands).output();
    Ran::from(output.expect("timeout and script can be started"))
}

#[test]
fn the_full_screen_is_left_before_the_verdict_and_the_code_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let ran = at_a_terminal(
        dir.path(),
        "stty cols 80 rows 24; $paceline run --tui --out r -- sh -c 'echo hello; exit 7'; \
         code=$?; stty -a | grep -o -- '-*icanon'; exit $code",
    );
    assert_eq!(ran.code, Some(7), "{ran:?}");
    let left = ran.out.find(LEAVE).expect("the screen is left");
    assert!(ran.out.find(ENTER).expect("the screen is entered") < left);
    let after = &ran.out[left..];
    assert!(after.contains("failed with exit code 7"), "{after}");
    assert!(
        after.contains("\nicanon"),
        "lines are edited again: {after}"
    );
    assert!(!after.contains("hello"), "{after}");
    let log = std::fs::read_to_string(dir.path().join("r/log/worker0.out")).unwrap();
    assert_eq!(log, "hello\n");
}

#[test]
fn a_command_under_the_full_screen_reads_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ran = at_a_terminal(dir.path(), "$paceline run --tui --out r -- cat");
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn without_a_terminal_the_full_screen_is_refused_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let ran = support::run(dir.path(), ["run", "--tui", "--out", "r", "--", "true"]);
    ran.fails(2, "--tui needs a terminal, and stderr is none");
    assert!(ran.err.contains("hint: leave --tui out"), "{}", ran.err);
    assert!(!dir.path().join("r").exists());
}

#[test]
fn output_appears_while_the_command_has_a_terminal_that_stops_background_writers() {
    let dir = tempfile::tempdir().unwrap();
    let ran = at_a_terminal(
        dir.path(),
        "stty tostop; $paceline run --out r -- sh -c 'echo one; echo two >&2'",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out.contains("one\r\n") && ran.out.contains("two\r\n"),
        "{ran:?}"
    );
    assert!(plain(&ran.out).contains("done in"), "{ran:?}");
}

/// What is printed, without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let end = part.find(|letter: char| letter.is_ascii_alphabetic());
        plain + end.map_or("", |end| &part[end + 1..])
    })
}

/// A session at a terminal that waits for what the user types.
struct Session {
    child: Child,
}

impl Session {
    fn start(dir: &Path, commands: &str) -> Self {
        let child = terminal(dir, commands)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("timeout and script can be started");
        Self { child }
    }

    /// Reads until the terminal has shown `text`.
    fn await_text(&mut self, text: &str) {
        let out = self.child.stdout.as_mut().expect("stdout is a pipe");
        let (mut seen, mut byte) = (Vec::new(), [0]);
        while !seen.ends_with(text.as_bytes()) {
            let read = out.read(&mut byte).expect("the pipe is open");
            let seen_text = String::from_utf8_lossy(&seen);
            assert_eq!(read, 1, "it ended before `{text}`: {seen_text}");
            seen.push(byte[0]);
        }
    }

    fn types(&mut self, keys: &str) {
        let stdin = self.child.stdin.as_mut().expect("stdin is a pipe");
        stdin.write_all(keys.as_bytes()).expect("script reads");
    }

    fn end(mut self) -> Ran {
        // `script` ends its session when its own input ends, so that stays open.
        let stdin = self.child.stdin.take();
        let ran = Ran::from(self.child.wait_with_output().expect("it can be waited for"));
        drop(stdin);
        ran
    }
}

#[test]
fn q_ends_the_command_under_the_full_screen() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::start(
        dir.path(),
        "stty cols 80 rows 24; $paceline run --tui --out r -- sleep 600",
    );
    session.await_text(ENTER);
    session.types("q");
    let ran = session.end();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(plain(&ran.out).contains("cancelled after"), "{ran:?}");
}

#[test]
fn a_command_that_ignores_the_first_q_is_killed_by_the_second() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' INT; echo ready; while :; do sleep 1; done";
    std::fs::write(dir.path().join("s"), script).unwrap();
    let mut session = Session::start(
        dir.path(),
        "stty cols 80 rows 24; $paceline run --tui --out r -- sh s",
    );
    session.await_text("ready");
    session.types("q");
    session.await_text("kill");
    session.types("q");
    let ran = session.end();
    assert_eq!(ran.code, Some(130), "{ran:?}");
}

#[test]
fn a_command_reads_from_the_terminal_and_ctrl_c_reaches_it() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap 'echo caught; exit 5' INT; read x; echo got $x; while :; do sleep 0.1; done";
    std::fs::write(dir.path().join("s"), script).unwrap();
    let mut session = Session::start(dir.path(), "$paceline run -q --out r -- sh s");
    session.types("fish\n");
    session.await_text("got fish");
    session.types("\x03");
    let ran = session.end();
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.contains("caught"), "{ran:?}");
}

/// Here nobody could ever continue us: there is no shell with job control.
#[test]
fn ctrl_z_without_a_shell_to_return_to_does_not_stop_the_run_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo ready; read x; echo got $x";
    std::fs::write(dir.path().join("s"), script).unwrap();
    let mut session = Session::start(dir.path(), "$paceline run --out r -- sh s");
    session.await_text("ready");
    session.types("\x1a");
    session.types("fish\n");
    session.await_text("got fish");
    let ran = session.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("was stopped"), "{ran:?}");
}
