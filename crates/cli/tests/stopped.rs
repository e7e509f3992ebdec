//! Runs during which Paceline, or the command, was stopped.

mod support;

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use support::{paceline, run, signal};

/// A study of four short runs, which say when they have begun.
fn write(dir: &Path) {
    let text = "[job]\ncommand = [\"sh\", \"-c\", \"echo $$ > begun; sleep 0.5\", \"sh\", \"{x}\"]\n\
                [factors]\nx = [1, 2]\n[design]\nreplicates = 2\n[responses]\ntime = \"duration_s\"\n";
    std::fs::write(dir.join("s.toml"), text).expect("a temporary directory");
}

/// The number of the command's process, once it has begun.
fn await_begun(dir: &Path, child: &mut Child) -> String {
    let begun = dir.join("begun");
    for _ in 0..6_000 {
        match std::fs::read_to_string(&begun) {
            Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
        let ended = child.try_wait().expect("a child can be asked");
        assert_eq!(ended, None, "the study ended before its command began");
    }
    panic!("the command has not begun within a minute");
}

/// What the study's table says disturbed the run that began first.
fn noise(dir: &Path) -> String {
    let mut table =
        csv::Reader::from_path(dir.join("s.study/table.csv")).expect("the table is there");
    let rows = table.deserialize::<std::collections::BTreeMap<String, String>>();
    let first = rows
        .map(|row| row.expect("a row"))
        .next()
        .expect("the study has rows");
    first["noise"].clone()
}

#[test]
fn a_run_during_which_the_runner_was_stopped_is_marked() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let mut child = paceline(dir.path(), ["study", "run", "s.toml", "--quiet"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    await_begun(dir.path(), &mut child);
    signal(child.id(), "STOP");
    // The command ends meanwhile, and nobody sees it.
    std::thread::sleep(Duration::from_secs(4));
    signal(child.id(), "CONT");
    assert!(child.wait().unwrap().success());
    let noise = noise(dir.path());
    assert!(noise.contains("Paceline stood still for"), "{noise}");
    let told = run(dir.path(), ["analyze", "s.study", "--response=time"]);
    // On a busy machine the others may be disturbed too, by something else.
    assert!(
        told.err.contains("disturbed (") && told.err.contains("Paceline stood still for"),
        "{}",
        told.err
    );
}

#[test]
fn a_run_whose_command_was_stopped_is_marked() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let mut child = paceline(dir.path(), ["study", "run", "s.toml", "--quiet"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid: u32 = await_begun(dir.path(), &mut child).parse().unwrap();
    signal(pid, "STOP");
    std::thread::sleep(Duration::from_millis(300));
    signal(pid, "CONT");
    assert!(child.wait().unwrap().success());
    let noise = noise(dir.path());
    assert!(noise.contains("the command was stopped once"), "{noise}");
}
