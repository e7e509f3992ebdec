//! `paceline run` at a terminal, which `script` of util-linux provides.

mod support;

use std::path::Path;
use support::Ran;

/// How a terminal is told to show, and to leave, its other screen.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// Runs shell commands at a terminal of their own; `$paceline` is the binary.
/// The time limit only ends a test that would otherwise wait for ever.
fn at_a_terminal(dir: &Path, commands: &str) -> Ran {
    #[expect(clippy::disallowed_methods, reason = "tests start their own terminal")]
    let output = std::process::Command::new("timeout")
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
        .stdin(std::process::Stdio::null())
        .output()
        .expect("timeout and script can be started");
    Ran::from(output)
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
    assert!(ran.out.contains("done in"), "{ran:?}");
}
