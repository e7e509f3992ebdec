//! Signals that are ignored, recorders that are killed, memory that is not there:
//! everything ends, and nothing is run twice.

mod support;

use paceline_model::{Event, EventKind, Micros, WorkerId};
use paceline_records::{Run, RunWriter, State};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use support::{Ran, paceline, run, signal};

/// Waits until `done` gives something; a minute is for ever.
fn until<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1200 {
        if let Some(it) = done() {
            return it;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} did not come within a minute");
}

fn started(dir: &Path, args: &[&str]) -> Child {
    paceline(dir, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be started")
}

fn number_in(path: &Path) -> u32 {
    until("a process number", || {
        fs::read_to_string(path).ok()?.trim().parse().ok()
    })
}

fn is_alive(number: u32) -> bool {
    // A process that nobody has waited for is dead all the same.
    let stat = fs::read_to_string(format!("/proc/{number}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(") ").next().unwrap_or("Z").starts_with('Z'))
}

#[test]
fn a_command_that_ignores_sigterm_is_ended_after_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done";
    let child = started(dir.path(), &["run", "--out", "r", "--", "sh", "-c", script]);
    let command = number_in(&dir.path().join("pid"));
    signal(child.id(), "TERM");
    let ran = Ran::from(child.wait_with_output().expect("it ends by itself"));
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(!is_alive(command));
    let record = Run::open(&dir.path().join("r")).unwrap();
    assert_eq!(record.state(), State::Finished);
}

#[test]
fn a_run_that_is_killed_takes_what_its_command_has_started_with_it() {
    let dir = tempfile::tempdir().unwrap();
    // A grandchild, and one in a session of its own.
    let script = "sh -c 'echo $$ > one; exec sleep 600' & \
                  setsid sh -c 'echo $$ > two; exec sleep 600' & \
                  echo $$ > pid; wait";
    let mut child = started(dir.path(), &["run", "--out", "r", "--", "sh", "-c", script]);
    let numbers = ["pid", "one", "two"].map(|name| number_in(&dir.path().join(name)));
    signal(child.id(), "KILL");
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9));
    until("the end of all its processes", || {
        (!numbers.iter().any(|number| is_alive(*number))).then_some(())
    });
}

#[test]
fn a_daemon_that_is_left_behind_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ > pid; exec sleep 600' > /dev/null 2>&1 & \
                  while ! test -s pid; do sleep 0.1; done";
    let ran = run(dir.path(), ["run", "--out", "r", "--", "sh", "-c", script]);
    let number = number_in(&dir.path().join("pid"));
    let left = is_alive(number);
    signal(number, "KILL");
    assert!(left, "a daemon that the user started stays");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let named = format!("1 processes outlived the command: {number} sleep");
    assert!(ran.err.contains(&named), "{}", ran.err);
}

#[test]
fn output_that_cannot_be_passed_on_is_the_worlds_fault() {
    let dir = tempfile::tempdir().unwrap();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = paceline(dir.path(), ["run", "--out", "r", "--", "echo", "hello"])
        .stdout(full)
        .output()
        .unwrap();
    Ran::from(output).fails(3, "cannot pass on the command's output");
}

#[test]
fn what_cannot_be_started_leaves_no_record() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(
        dir.path(),
        ["run", "--out", "r", "--cpus", "9999", "--", "true"],
    );
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(!dir.path().join("r").exists());
}

const STUDY: &str = r#"
name = "counts its runs"
[job]
kind = "command"
command = ["sh", "-c", "echo {b} >> ../../../../count; echo '{{\"accuracy\": 0.9}}'"]
cwd = "{run_dir}"
[factors]
b = [2, 6]
[design]
kind = "full"
replicates = 1
order = "standard"
[responses]
time = "duration_s"
accuracy = "accuracy"
"#;

/// Between a command's exit and its manifest Paceline may be killed: what the log
/// says has happened.
#[test]
fn a_run_that_had_ended_is_not_run_again() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("s.toml"), STUDY).unwrap();
    let first = run(dir.path(), ["study", "run", "s.toml", "--out", "s"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let count = || {
        let text = fs::read_to_string(dir.path().join("count")).unwrap_or_default();
        text.lines().count()
    };
    assert_eq!(count(), 2, "{}", first.err);
    // The last run as it is when the recorder dies after the command's exit: its
    // events in the log, no manifest, no end in the journal.
    let journal = dir.path().join("s/journal.jsonl");
    let lines = fs::read_to_string(&journal).unwrap();
    let last = lines.lines().last().unwrap();
    assert!(last.contains("\"ended\""), "{last}");
    fs::write(&journal, &lines[..lines.len() - last.len() - 1]).unwrap();
    let runs = fs::read_dir(dir.path().join("s/runs")).unwrap().flatten();
    let record = runs
        .map(|entry| entry.path())
        .find(|path| last.contains(path.file_stem().unwrap().to_str().unwrap()))
        .unwrap();
    let finished = Run::open(&record).unwrap();
    let mut start = finished.manifest().start.clone();
    start.keep_env.clear();
    fs::remove_dir_all(&record).unwrap();
    let mut writer = RunWriter::create(&record, start).unwrap();
    let event = |at, kind, name: &str, value, text: Option<&str>| Event {
        at: Micros(at),
        worker: Some(WorkerId(0)),
        kind,
        step: None,
        name: name.to_owned(),
        value,
        text: text.map(str::to_owned),
    };
    for event in [
        event(1000, EventKind::Lifecycle, "start", None, Some("process 7")),
        event(2000, EventKind::Metric, "accuracy", Some(0.75), None),
        event(
            501_000,
            EventKind::Lifecycle,
            "exit",
            None,
            Some("exit code 0"),
        ),
    ] {
        writer.event(&event).unwrap();
    }
    drop(writer);

    let again = run(dir.path(), ["study", "run", "s.toml", "--out", "s"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(count(), 2, "it was run again: {}", again.err);
    let closed = Run::open(&record).unwrap();
    assert_eq!(closed.state(), State::Finished);
    let end = closed.manifest().end.clone().unwrap();
    assert_eq!(end.responses.get("accuracy"), Some(&0.75));
    assert_eq!(end.duration, Micros(500_000));
    let table = fs::read_to_string(dir.path().join("s/table.csv")).unwrap();
    assert!(table.contains("0.75"), "{table}");
}

/// Where the kernel lets a run have a memory group of its own.
#[test]
fn a_run_without_memory_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let eat = "x = bytearray(1 << 30); print(len(x))";
    let ran = run(
        dir.path(),
        [
            "run", "--out", "r", "--memory", "60MB", "--", "python3", "-c", eat,
        ],
    );
    if ran.code == Some(3) || ran.err.contains("MemoryError") {
        println!("skipped: no memory group here: {}", ran.err);
        return;
    }
    assert_eq!(ran.code, Some(137), "{}", ran.err);
    assert!(
        ran.err.contains("out of memory: limit 60 MB"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("of the time: it kept"), "{}", ran.err);
}

/// Both begin at once: one executes, the other says who does.
#[test]
fn two_first_starts_at_the_same_time_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let study = STUDY.replace("echo {b} >>", "sleep 3; echo {b} >>");
    fs::write(dir.path().join("s.toml"), study).unwrap();
    let start = || started(dir.path(), &["study", "run", "s.toml", "--out", "s"]);
    let children = [start(), start(), start()];
    let mut codes = Vec::new();
    for child in children {
        let ran = Ran::from(child.wait_with_output().unwrap());
        if ran.code != Some(0) {
            ran.fails(2, "another paceline is executing the study");
        }
        codes.push(ran.code);
    }
    assert!(codes.contains(&Some(0)), "{codes:?}");
}
